"""What a campaign keeps, whatever happens to its steps, its workers and itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.campaign import Campaign
from bot.chains import Chain
from bot.errors import MachineryFailure, UserMistake
from bot.leftovers import adopt, forget
from bot.record import Over, Record
from bot.store import Store
from bot.wire import text
from fuzzers.records import Budget, Ending, Kind
from tests.unit.made import a_sighting
from tests.unit.toy_pool import SPEC, Deed, KilledError, ToyPool

STEPS = 9
CAMPAIGN = "toy-forward-seed7"


def fine(chain: int, step: int) -> str:
    return "does nothing"


def mixed(chain: int, step: int) -> str:
    return {(0, 1): "differs", (0, 2): "segfaults", (1, 0): "hangs", (1, 3): "differs"}.get(
        (chain, step), "fine"
    )


def only(place: tuple[int, int], deed: str) -> Deed:
    return lambda chain, step: deed if (chain, step) == place else "fine"


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An output folder on a disk that need not be waited for."""
    monkeypatch.setattr("os.fsync", lambda fd: None)
    return tmp_path


def campaign(out: Path, **fields: Any) -> Campaign:
    warnings: list[str] = []
    made = Campaign(SPEC, out / "campaigns" / CAMPAIGN, Store(out / "store", warnings.append), **fields)
    made.progress.warn = warnings.append
    return made


def run(out: Path, deeds: Deed = mixed, candidates: int = STEPS, size: int = 1) -> Record:
    return campaign(out).run(ToyPool(deeds, size), Budget(60.0, candidates))


def suspects(out: Path) -> dict[str, tuple[Kind, bool]]:
    """Script -> (kind, whether nobody saw how it ended)."""
    store = Store(out / "store", lambda line: pytest.fail(line))
    return {s.script: (s.kind, bool(s.detail.get("interrupted"))) for s in store.suspects()}


SUSPECTS = {
    "(0, 1)\n": (Kind.WRONG, False),
    "(0, 2)\n": (Kind.CRASH, False),
    "(1, 0)\n": (Kind.HANG, False),
    "(1, 3)\n": (Kind.WRONG, False),
}


def trace(out: Path) -> str:
    return (out / "campaigns" / CAMPAIGN / "candidates.jsonl").read_text()


def journals(out: Path) -> list[str]:
    return [path.name for path in (out / "campaigns" / CAMPAIGN / "journal").iterdir()]


def test_every_difference_crash_and_hang_becomes_a_suspect(out: Path) -> None:
    record = run(out)
    assert suspects(out) == SUSPECTS
    assert record.suspects == 4
    assert record.over is Over.CANDIDATES
    assert record.tally.fates == {"checked": 7, "crash": 1, "hang": 1}
    assert record.tally.counts == {"proposed": 14, "executed": 7}
    assert journals(out) == []


def test_a_crash_says_by_which_signal_and_where(out: Path) -> None:
    run(out)
    (crash,) = (s for s in campaign(out).store.suspects() if s.kind is Kind.CRASH)
    assert (crash.expect.ending, crash.expect.signal) == (Ending.SIGNAL, "SIGSEGV")
    assert crash.detail["log"] == "boom"
    assert (crash.origin["chain"], crash.origin["step"]) == (0, 2)
    assert crash.program == {"nodes": [1, 2]}


def test_one_worker_takes_the_same_candidates_in_the_same_order(out: Path) -> None:
    pools = [ToyPool(mixed), ToyPool(mixed)]
    for number, pool in enumerate(pools):
        campaign(out / str(number)).run(pool, Budget(60.0, STEPS))
    assert pools[0].began == pools[1].began
    assert trace(out / "0") == trace(out / "1")


def test_more_workers_take_steps_of_the_same_chains(out: Path) -> None:
    run(out / "one", candidates=40)
    run(out / "three", candidates=STEPS, size=3)
    all_there = set(trace(out / "one").splitlines())
    taken = trace(out / "three").splitlines()
    assert len(taken) == STEPS
    assert set(taken) <= all_there


def test_a_campaign_goes_on_where_it_ended(out: Path) -> None:
    for candidates in (2, 5, STEPS):
        run(out, candidates=candidates)
    run(out / "at-once")
    assert trace(out) == trace(out / "at-once")
    assert suspects(out) == SUSPECTS


def test_an_exhausted_chain_is_left(out: Path) -> None:
    pool = ToyPool(only((0, 1), "is exhausted"))
    campaign(out).run(pool, Budget(60.0, 4))
    assert pool.began == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_step_killed_once_is_run_again_and_reports_as_if_nothing_had_been(out: Path) -> None:
    seen: list[tuple[int, int]] = []

    def deeds(chain: int, step: int) -> str:
        seen.append((chain, step))
        return "is killed" if (chain, step) == (0, 1) and seen.count((0, 1)) == 1 else mixed(chain, step)

    run(out, deeds)
    assert suspects(out) == SUSPECTS


def test_a_step_killed_twice_is_a_suspect_that_nobody_saw_end(out: Path) -> None:
    run(out, only((0, 1), "is killed"), candidates=3)
    assert suspects(out) == {"(0, 1)\n": (Kind.CRASH, True)}


@pytest.mark.parametrize("deed", ["raises", "dies unannounced", "babbles"])
def test_a_failure_of_the_machinery_is_no_suspect_and_is_kept(out: Path, deed: str) -> None:
    record = run(out, only((0, 1), deed))
    assert suspects(out) == {}
    assert record.tally.fates["failed"] == 1
    assert (out / "campaigns" / CAMPAIGN / "failures" / "000000-0001.json").exists()


def test_a_machinery_that_keeps_failing_ends_the_campaign(out: Path) -> None:
    with pytest.raises(MachineryFailure, match="failed in the machinery"):
        run(out, lambda chain, step: "raises", candidates=1000)


@contextmanager
def killed_at(write: int, monkeypatch: pytest.MonkeyPatch, *, after: bool) -> Iterator[list[int]]:
    """The controller dies just before or just after its n-th change of a file, and changes nothing more."""
    lock, count = threading.Lock(), [0]

    def deadly(name: str) -> Any:
        change = getattr(Path, name)

        def changing(self: Path, *args: Any, **kwargs: Any) -> Any:
            with lock:
                count[0] += 1
                if count[0] > write or (count[0] == write and not after):
                    raise KilledError
                result = change(self, *args, **kwargs)
                if count[0] == write:
                    raise KilledError
                return result

        return changing

    with monkeypatch.context() as patch:
        for name in ("replace", "unlink"):
            patch.setattr(Path, name, deadly(name))
        yield count


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_write_nothing_is_lost_and_nothing_counted_twice(
    out: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    whole = run(out / "whole")
    for write in range(1, 1000):
        folder = out / str(write)
        with killed_at(write, monkeypatch, after=after) as count:
            try:
                run(folder)
            except KilledError:
                pass
            else:
                break
        record = run(folder)
        assert suspects(folder) == SUSPECTS
        assert record.tally == whole.tally
        assert trace(folder) == trace(out / "whole")
        assert journals(folder) == []
    assert count[0] < write
    assert write > 3 * STEPS


def test_dying_twice_in_one_step_gives_the_candidate_up_as_a_suspect(out: Path) -> None:
    deadly = only((0, 1), "takes the controller along")
    for _ in range(2):
        with pytest.raises(KilledError):
            run(out, deadly)
    record = run(out, deadly, candidates=3)
    assert suspects(out) == {"(0, 1)\n": (Kind.CRASH, True)}
    assert record.tally.fates == {"checked": 2, "interrupted": 1}


def test_triage_adopts_what_was_running_when_all_was_killed(out: Path) -> None:
    run(out, fine, candidates=2)
    progress = campaign(out).progress
    (progress.journals / "000000-0002.json").write_text(text(a_sighting("(0, 2)\n")))
    (progress.journals / "000000-0001.json").write_text(text(a_sighting("(0, 1)\n")))
    store = Store(out / "store", lambda line: None)
    assert adopt(out, store) == 1
    assert suspects(out) == {"(0, 2)\n": (Kind.CRASH, True)}
    assert adopt(out, store) == 0
    assert journals(out) == []


def test_a_running_campaigns_journals_are_left_to_it(out: Path) -> None:
    pool = ToyPool(lambda chain, step: "waits" if step == 1 else "fine")
    running = campaign(out)
    thread = threading.Thread(target=lambda: running.run(pool, Budget(60.0, 3)))
    thread.start()
    try:
        while len(pool.began) < 2 or not journals(out):
            time.sleep(0.01)
        told: list[str] = []
        assert adopt(out, Store(out / "store", told.append)) == 0
        assert "in use" in told[0]
        with pytest.raises(UserMistake, match="in use by another nightfuzz"):
            run(out, fine)
    finally:
        running.stop.set()
        thread.join(20)
    assert not thread.is_alive()


def test_stopping_cuts_a_step_that_takes_long_and_says_nothing_about_it(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.campaign.STOP_SECONDS", 0.1)
    stop = threading.Event()
    pool = ToyPool(lambda chain, step: "waits" if step == 2 else mixed(chain, step))
    threading.Timer(0.3, stop.set).start()
    record = campaign(out, stop=stop).run(pool, Budget(60.0, STEPS))
    assert record.over is Over.STOPPED
    assert suspects(out) == {"(0, 1)\n": (Kind.WRONG, False)}
    assert journals(out) == []
    run(out)
    assert suspects(out) == SUSPECTS


def test_a_used_budget_cuts_a_step_that_takes_long(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.campaign.CUT_SECONDS", 0.2)
    began = time.monotonic()
    record = campaign(out).run(ToyPool(lambda chain, step: "waits"), Budget(0.3))
    assert record.over is Over.BUDGET
    assert time.monotonic() - began < 5
    assert record.tally.steps == 0


def test_starting_the_workers_uses_the_budget_up(out: Path) -> None:
    pool = ToyPool(fine)
    record = campaign(out).run(pool, Budget(30.0), startup=31.0)
    assert pool.began == []
    assert not record.is_finished(Budget(30.0))


def test_a_budget_that_is_used_is_not_used_again(out: Path) -> None:
    record = campaign(out).run(ToyPool(lambda chain, step: (time.sleep(0.01), "fine")[1]), Budget(0.3))
    assert record.over is Over.BUDGET
    assert record.is_finished(Budget(0.3))
    assert not record.is_finished(Budget(600.0))
    pool = ToyPool(fine)
    campaign(out).run(pool, Budget(0.3))
    assert pool.began == []


def test_forgetting_starts_over_and_keeps_the_suspects(out: Path) -> None:
    run(out)
    folder = out / "campaigns" / CAMPAIGN
    forget(folder, campaign(out).store)
    assert campaign(out).progress.load() == []
    assert suspects(out) == SUSPECTS
    assert run(out).suspects == 0


def test_a_chain_file_cut_in_half_is_set_aside_and_its_chain_starts_over(out: Path) -> None:
    run(out)
    path = out / "campaigns" / CAMPAIGN / "chains" / "000000.json"
    path.write_text(path.read_text()[:40])
    told: list[str] = []
    again = campaign(out)
    again.progress.warn = told.append
    record = again.run(ToyPool(mixed), Budget(60.0, STEPS))
    assert len(told) == 1
    assert "000000.json" in told[0]
    assert record.tally.steps == STEPS
    assert suspects(out) == SUSPECTS


def test_a_chain_that_was_killed_in_its_first_step_is_begun_again(out: Path) -> None:
    run(out)
    (out / "campaigns" / CAMPAIGN / "chains" / "000001.json").unlink()
    pool = ToyPool(mixed)
    campaign(out).run(pool, Budget(60.0, STEPS))
    assert pool.began == [(1, 0), (1, 1), (1, 2), (1, 3)]


def test_what_a_killed_controller_had_begun_comes_before_the_budget_is_used(out: Path) -> None:
    run(out, fine, candidates=2)
    progress = campaign(out).progress
    (progress.journals / "000002-0000.json").write_text(text(a_sighting("(2, 0)\n")))
    progress.save(Chain(2))
    pool = ToyPool(fine)
    campaign(out).run(pool, Budget(60.0, 3))
    assert pool.began == [(2, 0)]
    assert journals(out) == []


def test_a_campaign_record_cut_in_half_costs_only_the_times(out: Path) -> None:
    run(out, candidates=5)
    (out / "campaigns" / CAMPAIGN / "campaign.json").write_text('{"id": ')
    assert run(out).tally.steps == STEPS
    assert suspects(out) == SUSPECTS


def test_a_finished_chain_keeps_no_state(out: Path) -> None:
    run(out)
    first, *_ = campaign(out).progress.load()
    assert first.done
    assert first.state is None
    assert isinstance(first, Chain)
