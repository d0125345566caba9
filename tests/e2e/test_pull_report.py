"""`nightfuzz report` against a GitHub: what a result from a hostile machine becomes in public."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.cli import exit_code
from bot.commands import reply
from bot.commands.order import Order, write_order
from bot.commands.reply import Stage
from bot.publishing.publisher import sealed
from bot.pulls.checks import LONGEST_SUMMARY
from bot.pulls.result import PullFinding, Result, write_result
from bot.trackers.github_pulls import added_lines
from bot.trackers.pulls import ChangedFile
from fuzzers.records import Kind
from tests.e2e.publishing import settings, tracker
from tests.rig.host import Host

NAME = "models/net.py"
BEFORE = "import torch\n\n\ndef model():\n    return torch.relu\n"
AFTER = BEFORE.replace("torch.relu", "torch.abs") + "\n\ndef inputs():\n    return (torch.ones(3),)\n"


class Commanded:
    """A pull request on which somebody has said `/fuzz`, and the order that came of it."""

    def __init__(self, host: Host, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host, self.folder = host, folder
        for name, value in host.environment(folder / "out").items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)
        base = host.commit({NAME: BEFORE})
        self.pull = host.pull({NAME: AFTER})
        self.tracker = tracker(host)
        self.seal = sealed(settings(host), self.tracker)
        self.comment = str(host.ask("POST", f"/issues/{self.pull}/comments", body="/fuzz")["id"])
        said = reply.text(self.seal, self.comment, Stage.RUNNING, "run: taken")
        self.reply = self.tracker.comment(self.pull, said).ident
        self.head = str(host.ask("GET", f"/pulls/{self.pull}")["head"]["sha"])
        self.order = Order(
            "run", self.pull, self.comment, self.reply, "wanda",
            pull=self.pull, head_sha=self.head, base_sha=base, head_repository=host.repository,
            files=(ChangedFile(NAME, "modified", (5, 6, 7)),), engines=("flowmut",),
        )  # fmt: skip

    def result(self, *findings: PullFinding, **fields: Any) -> Result:
        """A result for the order's commits."""
        given = {
            "head_sha": self.head,
            "base_sha": self.order.base_sha,
            "build": "torch 2.13.0",
            "findings": findings,
            "figures": [
                {
                    "path": NAME,
                    "engine": "flowmut",
                    "base": "compared",
                    "checked": 1,
                    "suspects": len(findings),
                    "seconds": 1.0,
                }
            ],
            **fields,
        }
        return Result.model_validate_json(json.dumps(given, default=lambda one: one.model_dump(mode="json")))

    def report(self, result: Result | None = None, *more: str) -> int:
        """The command's exit code."""
        write_order(self.folder / "order.json", self.order)
        if result is not None:
            write_result(self.folder / "result.json", result)
        paths = ["--order", str(self.folder / "order.json"), "--result", str(self.folder / "result.json")]
        return exit_code(["report", *paths, *more])

    def check(self) -> dict[str, Any]:
        """The one check run on the head."""
        (run,) = self.host.ask("GET", f"/commits/{self.head}/check-runs")["check_runs"]
        return dict(run)

    def annotations(self) -> list[dict[str, Any]]:
        """Its annotations."""
        return self.host.annotations(self.check()["id"])

    def said(self) -> str:
        """What the reply says."""
        return next(str(c["body"]) for c in self.host.comments(self.pull) if str(c["id"]) == self.reply)

    def stage(self) -> str:
        """How far the command is, by its reply."""
        (said,) = reply.replies(self.tracker, self.seal, self.pull)
        return said.stage


@pytest.fixture
def commanded(github_host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commanded:
    """A pull request that waits for its result."""
    return Commanded(github_host, tmp_path, monkeypatch)


def a_finding(**fields: Any) -> PullFinding:
    """A finding on the changed line."""
    given = {
        "signature": "v2-1",
        "title": "[inductor] wrong result: abs(uint8) differs from eager",
        "kind": Kind.WRONG,
        "path": NAME,
        "line": 5,
        "script": "import torch\n\nassert torch.ones(3).abs() is None\n",
        "said": "3 of 3 runs; eager gives 251, compiled 255",
        **fields,
    }
    return PullFinding(**given)


def test_a_new_difference_fails_the_check_with_an_annotation_on_its_line(commanded: Commanded) -> None:
    assert commanded.report(commanded.result(a_finding()), "--sarif", "nightfuzz.sarif") == 0
    check = commanded.check()
    assert (check["conclusion"], check["status"]) == ("failure", "completed")
    (note,) = commanded.annotations()
    assert (note["path"], note["start_line"], note["end_line"]) == (NAME, 5, 5)
    assert note["annotation_level"] == "failure"
    assert "torch.ones(3).abs()" in note["message"]
    assert "models/net.py:5" in commanded.said()
    assert "assert torch.ones(3).abs() is None" in commanded.said()
    assert commanded.stage() == Stage.DONE
    log = json.loads((commanded.folder / "nightfuzz.sarif").read_text())
    assert len(log["runs"][0]["results"]) == 1


def test_nothing_new_is_a_success(commanded: Commanded) -> None:
    commanded.report(commanded.result())
    assert commanded.check()["conclusion"] == "success"
    assert "Nothing new against the base" in commanded.said()


def test_a_mutant_is_a_remark(commanded: Commanded) -> None:
    commanded.report(commanded.result(a_finding(mutant=True)))
    assert commanded.check()["conclusion"] == "neutral"
    assert commanded.annotations()[0]["annotation_level"] == "warning"


def test_nothing_compared_is_neutral_and_the_reason_is_told(commanded: Commanded) -> None:
    commanded.report(commanded.result(figures=[], notes=["kernels/k.cu is for dirigo"]))
    assert commanded.check()["conclusion"] == "neutral"
    assert "kernels/k.cu is for dirigo" in commanded.said()


def test_twice_is_the_same_as_once(commanded: Commanded) -> None:
    commanded.report(commanded.result(a_finding()))
    commanded.report(commanded.result(a_finding()))
    assert commanded.check()["conclusion"] == "failure"
    assert len(commanded.host.comments(commanded.pull)) == 2


def test_a_head_that_has_moved_is_said_and_ends_neutral(commanded: Commanded) -> None:
    commanded.host.commit({NAME: AFTER + "\n"}, "patch")
    commanded.report(commanded.result(a_finding()))
    assert commanded.check()["conclusion"] == "neutral"
    assert "The head has moved" in commanded.said()
    assert commanded.annotations() == []


def test_a_result_for_another_commit_is_none(commanded: Commanded) -> None:
    commanded.report(commanded.result(a_finding(), head_sha="c" * 40))
    assert commanded.check()["conclusion"] == "neutral"
    assert "other commits" in commanded.said()


def test_no_result_is_said(commanded: Commanded) -> None:
    assert commanded.report(None) == 0
    assert commanded.check()["conclusion"] == "neutral"
    assert "No result" in commanded.said()
    assert str(commanded.folder) not in commanded.said()


def test_a_broken_result_is_said(commanded: Commanded) -> None:
    (commanded.folder / "result.json").write_text("{")
    commanded.report(None)
    assert commanded.check()["conclusion"] == "neutral"
    assert "No result" in commanded.said()


def test_a_cancelled_command_is_not_reported(commanded: Commanded) -> None:
    text = reply.text(commanded.seal, commanded.comment, Stage.CANCELLED, "Cancelled by wanda.")
    commanded.tracker.edit_comment(commanded.reply, text)
    assert commanded.report(commanded.result(a_finding())) == 0
    assert "Cancelled by wanda." in commanded.said()
    assert commanded.host.ask("GET", f"/commits/{commanded.head}/check-runs")["check_runs"] == []


def test_a_file_that_the_order_does_not_name_is_not_annotated(commanded: Commanded) -> None:
    outside = [a_finding(path=path) for path in ("../../etc/passwd", "/etc/passwd", "other.py", NAME.upper())]
    commanded.report(commanded.result(*outside))
    assert commanded.annotations() == []
    assert "passwd" not in commanded.said()
    assert commanded.check()["conclusion"] == "success"


def test_a_line_beyond_the_file_is_told_without_a_line(commanded: Commanded) -> None:
    commanded.report(commanded.result(a_finding(line=9_999_999)))
    assert commanded.annotations() == []
    assert commanded.check()["conclusion"] == "failure"
    assert "9999999" not in commanded.said()


HOSTILE = "@everyone see #1 and o/r#2 </details><!-- x --> ``` | ![](https://evil.example/x) ghp_" + "a" * 36


def test_hostile_texts_are_harmless_everywhere(commanded: Commanded) -> None:
    mark = reply.text(commanded.seal, "999", Stage.CANCELLED, "")
    script = f"# {HOSTILE}\n# {mark}\n```\n</details>\nassert False\n"
    finding = a_finding(title=HOSTILE, said=HOSTILE, script=script)
    commanded.report(commanded.result(finding, notes=[HOSTILE], build=HOSTILE))
    shown = [commanded.said(), commanded.check()["output"]["summary"], commanded.check()["output"]["title"]]
    shown += [str(note[key]) for note in commanded.annotations() for key in ("title", "message")]
    for text in shown:
        assert "<!-- x" not in text
        assert "ghp_" not in text
    for text in shown[:2]:
        outside = text.split("````python")[0] + text.rsplit("````", 1)[-1]
        assert "@everyone" not in outside
        assert "o/r#2" not in outside
        assert "https://evil" not in outside
    assert commanded.stage() == Stage.DONE


def test_many_long_scripts_are_cut_from_the_end_until_the_reply_fits(commanded: Commanded) -> None:
    many = [a_finding(signature=f"v2-{k}", script=f"x = {k}\n" * 4_000) for k in range(20)]
    assert commanded.report(commanded.result(*many)) == 0
    assert "x = 0\n" in commanded.said()
    assert len(commanded.check()["output"]["summary"]) <= LONGEST_SUMMARY
    assert len(commanded.annotations()) == 20


def test_the_order_names_the_lines_that_the_host_tells(commanded: Commanded) -> None:
    (file,) = commanded.host.ask("GET", f"/pulls/{commanded.pull}/files")
    assert 5 in set(added_lines(file["patch"]))
