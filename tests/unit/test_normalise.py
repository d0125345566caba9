"""Normalising: every rule against its example, the whole table against a corpus of logs."""

from __future__ import annotations

import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot import normalise
from bot.normal_forms import Rule
from tests.unit.corpus.reading import Log, Name, named, read_corpus

LOGS = read_corpus()


@pytest.mark.parametrize("rule", normalise.RULES, ids=lambda r: r.reason)
def test_each_rule_turns_its_example_into_what_it_says(rule: Rule) -> None:
    assert rule.pattern.sub(rule.becomes, rule.before) == rule.after
    assert rule.before != rule.after
    assert rule.reason


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_each_log_of_the_corpus_has_what_its_header_says(log: Log) -> None:
    got = named(log)
    if os.environ.get("UPDATE_GOLDENS"):
        log.rewrite(message=got.message, frames=got.frames)
    else:
        assert (got.message, got.frames) == (log.expected_message, log.expected_frames)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_what_is_normalised_stays_as_it_is(log: Log) -> None:
    got = named(log)
    assert normalise.message(got.message) == got.message
    assert normalise.frames(got.frames) == got.frames


def test_the_corpus_is_large_enough_to_tell() -> None:
    assert len(LOGS) >= 150
    assert len({log.kind for log in LOGS}) >= 40
    assert {log.build for log in LOGS} >= {"torch 2.13.0", "torch 2.14.1", "mindspore 2.10.0"}


NAMED_ANEW = {"vmap-item": "2.14.1 traces the exception that 2.13.0 wraps, so its class is another"}
"""Kinds that a version renames, and why."""


def test_logs_of_one_kind_have_one_name() -> None:
    names: dict[str, dict[Name, str]] = {}
    for log in LOGS:
        names.setdefault(log.kind, {}).setdefault(named(log), log.name)
    split = {kind: list(found.values()) for kind, found in names.items() if len(found) > 1}
    assert split.keys() == NAMED_ANEW.keys(), split


def test_logs_of_different_kinds_have_different_names() -> None:
    kinds: dict[Name, set[str]] = {}
    for log in LOGS:
        kinds.setdefault(named(log), set()).add(log.kind)
    assert [sorted(found) for found in kinds.values() if len(found) > 1] == []


@given(st.text(alphabet=st.sampled_from("ab_sbuf09 .,'\"()[]/<>:=-\n\t@`xE+"), max_size=120))
@example("0''")
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise.normalise(text)
    assert normalise.normalise(once) == once


@given(
    st.integers(0, 10**9),
    st.integers(1, 10**6),
    st.sampled_from(["/tmp/x", "/home/me/.venv", "/opt/a b"[:6]]),
)
def test_numbers_addresses_and_paths_make_no_difference(address: int, line: int, root: str) -> None:
    def log(a: int, n: int, folder: str) -> str:
        return f'<f at 0x{a:x}> buf{n} "{folder}/torch/x.py", line {n}: size {n} vs ({n}, {n})'

    assert normalise.message(log(address, line, root)) == normalise.message(log(7, 1, "/usr/lib/python3"))


def test_what_the_program_is_called_makes_no_difference() -> None:
    assert normalise.message("name 'foo' is not defined") == normalise.message("name 'x_1' is not defined")


def test_two_bugs_stay_two() -> None:
    assert normalise.message("expected a tensor of 3 dims") != normalise.message(
        "expected a scalar of 3 dims"
    )


def test_frames_lose_counters_and_recursion() -> None:
    deep = (
        "torch._inductor.ir:realize",
        "torch._inductor.ir:visit",
        "torch._inductor.ir:visit",
        "<generated>:cpp_fused_add_0",
    )
    assert normalise.frames(deep) == (
        "torch._inductor.ir:realize",
        "torch._inductor.ir:visit",
        "<generated>:<kernel>",
    )
