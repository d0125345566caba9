"""Normalising: every rule against its example, the whole table against a corpus of logs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot import normalise

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.txt"))
MARK = "---\n"


@pytest.mark.parametrize("rule", normalise.RULES, ids=lambda r: r.reason)
def test_each_rule_turns_its_example_into_what_it_says(rule: normalise.Rule) -> None:
    assert rule.pattern.sub(rule.becomes, rule.before) == rule.after
    assert rule.before != rule.after
    assert rule.reason


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.stem)
def test_each_log_of_the_corpus_has_the_message_in_its_header(path: Path) -> None:
    header, log = path.read_text(encoding="utf-8").split(MARK, 1)
    got = normalise.message(log)
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(got + "\n" + MARK + log, encoding="utf-8")
    else:
        assert got == header.strip()


def test_the_corpus_tells_its_logs_apart() -> None:
    headers = [p.read_text(encoding="utf-8").split(MARK, 1)[0].strip() for p in CORPUS]
    assert len(headers) >= 10
    assert len(set(headers)) == len(headers)


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
