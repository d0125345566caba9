"""What people see: figures that add up, a line now and then in a log, tables that name where to look."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from bot.progress import Screen, counts_table, figures, findings_table
from bot.record import Over, Record
from bot.tally import Tally
from fuzzers.records import Budget
from tests.unit.made import a_finding
from tests.unit.toy_pool import SPEC

TALLY = Tally(
    {"proposed": 30, "executed": 18, "eager_rejects": 2, "dropped:ill-conditioned": 3},
    {"checked": 15, "dropped": 3, "rejected": 2, "crash": 1},
)
RECORD = Record("toy-1", SPEC, Over.RUNNING, "", "", 10.0, TALLY, startup=5.0, suspects=4, peak_mib=812.4)


def shown(item: object) -> str:
    text = io.StringIO()
    Console(file=text, width=200).print(item)
    return text.getvalue()


def test_a_tally_counts_programs_that_were_checked_and_the_share_that_eager_takes() -> None:
    assert (TALLY.checked, TALLY.steps, TALLY.executed) == (15, 21, 18)
    assert TALLY.legal_rate == pytest.approx(18 / 20)
    assert TALLY.dropped == {"ill-conditioned": 3}
    assert Tally().legal_rate == 0.0


def test_one_line_says_how_a_campaign_is_doing() -> None:
    line = figures(RECORD, Budget(60.0))
    assert line == "15 programs checked, 1.50/s, 90% legal, 4 suspects, 45s left"
    assert "step 21 of 50" in figures(RECORD, Budget(60.0, 50))


def test_a_log_gets_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    text, now = io.StringIO(), [100.0]
    monkeypatch.setattr("bot.progress.time.monotonic", lambda: now[0])
    with Screen(Console(file=text, width=40)) as screen:
        for _ in range(250):
            now[0] += 0.1
            screen.campaign(RECORD, Budget(60.0))
    assert text.getvalue().count("\n") == 3
    assert all(line.endswith("left") for line in text.getvalue().splitlines())


def test_a_terminal_gets_a_bar_that_is_gone_at_the_end() -> None:
    text = io.StringIO()
    with Screen(Console(file=text, force_terminal=True, width=120)) as screen:
        screen.campaign(RECORD, Budget(60.0))
        screen.say("over")
    assert "1.50/s" in text.getvalue()
    assert text.getvalue().rstrip().endswith("over")


def test_what_a_target_says_is_no_markup() -> None:
    text = io.StringIO()
    with Screen(Console(file=text, width=40)) as screen:
        screen.triage("0" * 16, "[bold]confirm", "[/nonsense]")
    assert text.getvalue() == "00000000 [bold]confirm: [/nonsense]\n"


def test_the_findings_table_names_kind_title_stage_and_place() -> None:
    table = shown(findings_table([(a_finding(), True, Path("out/issues/x/repro.py"))]))
    for part in (
        "nf1-01234567 (new)",
        "wrong",
        "inductor",
        "[inductor] wrong result",
        "out/issues/x/repro.py",
    ):
        assert part in table


def test_the_counts_table_says_why_programs_were_dropped() -> None:
    table = shown(counts_table(RECORD))
    for part in ("ill-conditioned", "90.0%", "812 MiB", "10s and 5s to start", "crash"):
        assert part in table
