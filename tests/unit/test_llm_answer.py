"""From what a model said to a program: what is found in it, what is cut away, what is told back."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.alignguard import form, gate
from fuzzers.alignguard.characteristics.table import CHARACTERISTICS
from fuzzers.alignguard.llm.answer import LONGEST_ANSWER, judged, texts, tidied
from fuzzers.alignguard.llm.orders import Seed, orders
from fuzzers.alignguard.llm.prompt import EXAMPLE_ANSWER, EXAMPLE_SEED, conversation, near
from fuzzers.alignguard.llm.spending import estimated
from fuzzers.alignguard.llm.writer import REPAIRS, Writer
from fuzzers.alignguard.written import WRITTEN
from tests.unit.answering import Says, answering
from tests.unit.hostile_programs import IN_F
from tests.unit.modelling import GOOD, HOSTILE, ORDER, SEED, client, completion, fenced

NO_INPUTS = GOOD[: GOOD.index("def inputs")]


def same(said: str) -> bool:
    """Whether the good program comes out of an answer."""
    source = judged(said, SEED).source
    return bool(source) and form.normalised(source) == form.normalised(GOOD)


@pytest.mark.parametrize(
    "said",
    [
        f"```python\n{GOOD}```",
        f"```\n{GOOD}```",
        f"```py\n{GOOD}",
        f"Sure!\n```Python\n{GOOD}```\nHope it helps",
        GOOD,
        f"Here:\n\n{GOOD}",
        f"<think>import os; ```python\nbad(\n```</think>\n```python\n{GOOD}```",
        f"```bash\npip install torch\n```\n```python\n{GOOD}```",
        f"```python\n{SEED}```\nbecomes\n```python\n{GOOD}```",
        f"~~~python\n{GOOD}~~~",
        f"- so:\n\n  ```python\n{''.join('  ' + line for line in GOOD.splitlines(keepends=True))}  ```",
        f"```python\n{GOOD}```".replace("\n", "\r\n"),
        f"```python\n{GOOD.replace('    ', chr(9))}```",
        f"```python\n{GOOD.replace('import torch', '')}```",
        f"```python\n{GOOD}\nprint(f(*inputs()))\n```",
        f"```python\n{GOOD}\nif __name__ == '__main__':\n    f(*inputs())\n```",
        f"```python\n{GOOD}\ncompiled = torch.compile(f)\nassert compiled\nresult = f(*inputs())\n```",
        f"```python\n{NO_INPUTS}```",
    ],
)
def test_the_program_is_found_in_what_stands_around_it(said: str) -> None:
    assert same(said)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("", "no ```python block"),
        ("I cannot help with that.", "no ```python block"),
        (fenced("def f(:"), "not Python"),
        (fenced("x = 1\n"), "`def f(...)`"),
        (fenced(GOOD.replace("def inputs", "def data").replace("(x):", "(x, y):")), "`def inputs(...)`"),
        (fenced(SEED), "that was to be changed"),
        (fenced(GOOD.replace("cumsum(x, 0)", "sort(x, 0)")), "cumsum"),
        (fenced(HOSTILE), "line 7: `open`"),
        (fenced(GOOD.replace("import torch\n", "import torch, os\n", 1)), "`os`"),
        ("x" * 10 * LONGEST_ANSWER, "no ```python block"),
        ("```python\n" * 1_000, "not Python"),
        (fenced("x = " + "(" * 500), "not Python"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(said: str, problem: str) -> None:
    verdict = judged(said, SEED)
    assert verdict.source == ""
    assert any(problem in one for one in verdict.problems)


@pytest.mark.parametrize("lines", IN_F[::4])
def test_no_hostile_answer_becomes_a_program(lines: str) -> None:
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    assert judged(fenced(GOOD.replace("    row.add_(2)\n", body)), SEED).source == ""


@given(st.text(alphabet=string.printable + "`", max_size=400))
def test_whatever_comes_out_is_in_the_form_and_through_the_gate(text: str) -> None:
    for said in (text, fenced(text), fenced(GOOD) + text, text + fenced(GOOD)):
        verdict = judged(said, SEED)
        assert bool(verdict.source) != bool(verdict.problems)
        if verdict.source:
            form.read(verdict.source)
            assert gate.refusals(verdict.source) == ()


def test_a_program_that_needs_no_tidying_stays_as_it_is() -> None:
    assert tidied(GOOD) == GOOD
    assert len(texts(fenced(GOOD))) == 1


def test_the_prompt_shows_seed_characteristics_and_an_example_that_would_be_taken() -> None:
    assert judged(EXAMPLE_ANSWER, EXAMPLE_SEED).source
    for name, seed in WRITTEN.items():
        for one in CHARACTERISTICS[:3]:
            messages = conversation(seed, [one])
            text = "\n".join(message["content"] for message in messages)
            assert seed.strip() in text, name
            assert one.prompt in text
            assert estimated(text) < 2_500
    assert near(SEED)
    assert "cumsum" not in near(SEED)


def test_orders_are_the_same_again_and_take_every_seed_in_turn() -> None:
    seeds = [Seed(name, text) for name, text in WRITTEN.items()]
    first, second = orders(seeds, 1), orders(seeds, 1)
    drawn = [next(first) for _ in range(2 * len(seeds))]
    assert drawn == [next(second) for _ in drawn]
    assert {one.seed.name for one in drawn[: len(seeds)]} == set(WRITTEN)
    assert all(1 <= len(one.characteristics) <= 2 for one in drawn)
    assert [one.number for one in drawn] == list(range(len(drawn)))


def test_a_good_answer_is_a_mutant() -> None:
    with answering(completion(fenced(GOOD))) as server:
        mutant = Writer(client(server.url)).mutant(ORDER)
    assert (mutant.source, mutant.repairs) == (GOOD, 0)


def test_a_bad_answer_is_repaired_twice_at_most() -> None:
    bad = completion(fenced(HOSTILE))
    for answers, made in (((bad, completion(fenced(GOOD))), 1), ((bad, bad, completion(fenced(GOOD))), 2)):
        with answering(*answers) as server:
            mutant = Writer(client(server.url)).mutant(ORDER)
            assert (mutant.source, mutant.repairs) == (GOOD, made)
    with answering(bad) as server:
        writer = Writer(client(server.url))
        mutant = writer.mutant(ORDER)
        assert len(server.asked) == 1 + REPAIRS
    assert mutant.source == ""
    assert "`open`" in mutant.why[0]
    assert writer.counts["refused"] == 1


def test_what_eager_says_is_a_repair_like_any_other() -> None:
    other = GOOD.replace("add_(2)", "add_(3)")
    with answering(completion(fenced(GOOD)), completion(fenced(other)), completion(fenced(GOOD))) as server:
        writer = Writer(client(server.url))
        first = writer.mutant(ORDER)
        second = writer.again(first, "it fails in eager PyTorch: RuntimeError")
        assert (second.source, second.repairs) == (other, 1)
        assert "RuntimeError" in second.messages[-1]["content"]
        assert GOOD in second.messages[-2]["content"]
        third = writer.again(second, "it fails again")
        assert writer.again(third, "and again").source == ""
        assert len(server.asked) == 3


def test_no_answer_is_no_mutant_and_no_error() -> None:
    with answering(Says(400, "no")) as server:
        mutant = Writer(client(server.url)).mutant(ORDER)
    assert mutant.source == ""
    assert mutant.why
