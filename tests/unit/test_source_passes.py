"""Source passes: what they make is smaller, parses, and leaves the comparison alone."""

from __future__ import annotations

import ast
import re

from bot import source_passes

SCRIPT = """import torch


def f(x, y):
    a = x.abs()
    b = torch.relu(a + 3)
    return torch.cat([-a, b])


torch.manual_seed(0)
x = torch.randint(0, 256, (20,), dtype=torch.uint8)
expected = f(x.clone(), x)
actual = torch.compile(f)(x.clone(), x)
assert torch.equal(actual, expected), (actual, expected)
"""


def size(script: str) -> tuple[int, int]:
    return len(script), sum(int(n) for n in re.findall(r"\d+", script))


def assert_offers(wanted: str, script: str = SCRIPT) -> None:
    offered = source_passes.smaller(script)
    assert any(wanted in text for text in offered), f"no candidate has {wanted!r}"


def test_every_candidate_parses_is_smaller_and_keeps_the_comparison() -> None:
    offered = source_passes.smaller(SCRIPT)
    assert len(offered) > 30
    last = SCRIPT.splitlines()[-1]
    for text in offered:
        ast.parse(text)
        assert size(text) < size(SCRIPT), text
        assert text.rstrip().splitlines()[-1] == last


def test_statements_go() -> None:
    assert any("relu" not in text and "x.abs()" in text for text in source_passes.smaller(SCRIPT))


def test_an_expression_gives_way_to_its_operand() -> None:
    assert_offers("torch.cat([a, b])")
    assert_offers("torch.relu(a)")
    assert_offers("b = (a + 3)")


def test_elements_and_keywords_go() -> None:
    assert_offers("torch.cat([-a])")
    assert_offers("torch.randint(0, 256, (20,))")


def test_numbers_shrink() -> None:
    assert_offers("(17,)")
    assert_offers("randint(0, 8, (20,)")


def test_random_values_stay_seeded() -> None:
    drawn = [text for text in source_passes.smaller(SCRIPT) if "randint" in text]
    assert drawn
    assert all("manual_seed" in text for text in drawn)


def test_formatting_leaves_what_does_not_parse() -> None:
    assert source_passes.formatted("x = (1+2)\n") == "x = 1 + 2\n"
    assert source_passes.formatted("x = (") == "x = ("
