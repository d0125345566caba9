"""A result comes from a machine that ran foreign code: what of it is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.errors import UserMistake
from bot.pulls.result import (
    LARGEST,
    LONGEST_SCRIPT,
    MOST_FINDINGS,
    PullFinding,
    Result,
    read_result,
    write_result,
)
from fuzzers.records import Kind

HEAD, BASE = "a" * 40, "b" * 40
FINDING = PullFinding(
    signature="v2-1", title="wrong", kind=Kind.WRONG, path="models/vision.py", line=15, script="assert 0\n"
)
RESULT = Result(head_sha=HEAD, base_sha=BASE, build="torch 2.13.0", findings=(FINDING,), notes=("a note",))


def changed(**fields: Any) -> dict[str, Any]:
    """The result as JSON with other fields."""
    return {**RESULT.model_dump(mode="json"), **fields}


def with_finding(**fields: Any) -> dict[str, Any]:
    """The result with one other finding."""
    return changed(findings=[{**FINDING.model_dump(mode="json"), **fields}])


def refusal(path: Path, text: str | bytes) -> str:
    """Why a file with this text is no result."""
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    with pytest.raises(UserMistake) as caught:
        read_result(path)
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 1_000
    return said


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_result(tmp_path / "result.json", RESULT)
    assert read_result(tmp_path / "result.json") == RESULT


HOSTILE: dict[str, Any] = {
    "a list": [],
    "a number": 1,
    "nothing": None,
    "no fields": {},
    "a field more": changed(approved=True),
    "a finding's field more": with_finding(level="failure"),
    "a branch for a commit": changed(head_sha="main"),
    "a short commit": changed(head_sha="abc1234"),
    "an upper-case commit": changed(base_sha="B" * 40),
    "a commit with a line break": changed(head_sha="a" * 40 + "\n"),
    "too many findings": changed(findings=[FINDING.model_dump(mode="json")] * (MOST_FINDINGS + 1)),
    "too many notes": changed(notes=["x"] * 101),
    "a long note": changed(notes=["x" * 601]),
    "a long script": with_finding(script="x" * (LONGEST_SCRIPT + 1)),
    "a long title": with_finding(title="x" * 601),
    "a long path": with_finding(path="x" * 401),
    "a negative line": with_finding(line=-1),
    "a line beyond all files": with_finding(line=10**9),
    "a line as text": with_finding(line="15"),
    "a line as a fraction": with_finding(line=15.5),
    "a kind that is none": with_finding(kind="catastrophe"),
    "a signature with spaces": with_finding(signature="v2 --> <b>"),
    "a signature with a line break": with_finding(signature="v2-1\n"),
    "a flag as text": with_finding(mutant="no"),
    "another schema": changed(schema_version=2),
    "figures without end": changed(
        figures=[
            {
                "path": "x",
                "engine": "flowmut",
                "base": "compared",
                "checked": 1,
                "suspects": 1,
                "seconds": 1e999,
            }
        ]
    ),
    "an engine with markup": changed(
        figures=[
            {"path": "x", "engine": "<b>", "base": "compared", "checked": 1, "suspects": 1, "seconds": 1.0}
        ]
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_result_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    refusal(tmp_path / "result.json", json.dumps(HOSTILE[name]))


@pytest.mark.parametrize("text", ["", "{", "\0", "[" * 100_000, '"\ud800"', b"\xff\xfe"])
def test_what_is_no_json_is_refused_in_one_line(tmp_path: Path, text: str | bytes) -> None:
    refusal(tmp_path / "result.json", text)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    assert "MiB" in refusal(tmp_path / "result.json", " " * (LARGEST + 1))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    write_result(tmp_path / "real.json", RESULT)
    (tmp_path / "result.json").symlink_to(tmp_path / "real.json")
    with pytest.raises(UserMistake, match="no such file"):
        read_result(tmp_path / "result.json")
