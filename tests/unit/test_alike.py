"""Nearness: laws of the two measures, and what they say of the corpus's logs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.alike import alike, common_frames
from tests.unit.corpus.reading import named, read_corpus

MESSAGES = st.text(alphabet=st.sampled_from("ab For,'[].<n>:12 \n"), max_size=60)
FRAMES = st.lists(st.sampled_from([f"torch._inductor.{m}:{f}" for m in "ab" for f in "xyz"])).map(tuple)
ENOUGH = 0.8
"""More alike than this is near (the design's figure)."""


@given(MESSAGES, MESSAGES)
def test_likeness_is_symmetric_and_between_nothing_and_one(a: str, b: str) -> None:
    assert alike(a, b) == alike(b, a)
    assert 0.0 <= alike(a, b) <= 1.0


@given(MESSAGES)
def test_a_message_is_like_itself_unless_it_says_nothing(a: str) -> None:
    assert alike(a, a) == 1.0 or alike(a, a) == 0.0
    assert alike(f"expected {a}", f"expected {a}") == 1.0


@given(FRAMES, FRAMES)
def test_common_frames_are_symmetric_and_no_more_than_there_are(
    a: tuple[str, ...], b: tuple[str, ...]
) -> None:
    assert common_frames(a, b) == common_frames(b, a) <= min(len(set(a)), len(set(b)))
    assert common_frames(a, a) == len(set(a))


def test_plumbing_is_nothing_in_common() -> None:
    plumbing = ("torch._dynamo.eval_frame:compile_wrapper", "torch._inductor.graph:run_node")
    assert common_frames(plumbing, plumbing) == 0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("expected dim 3 but got 4", "expected dim 12 but got 7 instead"),
        (
            "Invalid backend: 'x', see `f()` for available backends.",
            "Invalid backend: 'y'. See `g()` for all.",
        ),
        ("For 'Softmax', the axis must be in [-2,2)", "For primitive[Softmax], axis must be in [-3,3)"),
    ],
)
def test_other_words_for_the_same_are_near(a: str, b: str) -> None:
    assert alike(a, b) > ENOUGH


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("For 'Add', the shapes need to broadcast", "For 'Mul', the shapes need to broadcast"),
        ("expected a tensor of rank 3", "cannot convert None to a scalar"),
        ("", ""),
    ],
)
def test_other_operators_and_other_words_are_not_near(a: str, b: str) -> None:
    assert alike(a, b) <= ENOUGH


def test_few_kinds_of_the_corpus_are_near_each_other() -> None:
    kinds = {named(log).message: log for log in read_corpus()}
    pairs = [
        (a.kind, b.kind)
        for (one, a), (other, b) in combinations(kinds.items(), 2)
        if a.kind != b.kind and a.header["framework"] == b.header["framework"] and alike(one, other) > ENOUGH
    ]
    assert len(pairs) <= len(kinds) // 10, pairs
