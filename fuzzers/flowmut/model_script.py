"""The reproducer of a whole model: its file's text, its inputs, the two calls, the comparison.

Invariant: as `fuzzers.flowmut.emit` has it: the last statement asserts, and holds on a build without the bug.
What is compared is found by its place in the model's result, so the script reads as the file's author would
have written it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import keystr, tree_flatten_with_path

from fuzzers.engine import Sighting
from fuzzers.flowmut.claim import Claim
from fuzzers.flowmut.differing import claim_of, expect_of
from fuzzers.flowmut.emit import COMPARISONS, LOOSE, REPEATS, assertion
from fuzzers.flowmut.layout import INDENT
from fuzzers.flowmut.model_source import ModelSource
from fuzzers.oracle import Difference
from fuzzers.records import Aspect, Ending, Expect, Kind

SEED = 0


@dataclass(frozen=True)
class Plain:
    """A model as a script needs it. `places` are the paths to the leaves of its result, such as `[0]["out"]`;
    `exact` whether each is compared exactly (None: it is no tensor); `mutates` that it writes its inputs."""

    source: ModelSource
    spread: str
    places: tuple[str, ...]
    exact: tuple[bool | None, ...]
    mutates: bool

    @classmethod
    def of(cls, source: ModelSource, spread: str, result: Any, mutates: bool) -> Plain:
        """From what it returned once."""
        leaves, _ = tree_flatten_with_path(result)
        exact = tuple(
            not leaf.is_floating_point() if isinstance(leaf, torch.Tensor) else None for _, leaf in leaves
        )
        return cls(source, spread, tuple(keystr(path) for path, _ in leaves), exact, mutates)

    @property
    def net(self) -> str:
        """The variable that holds the model."""
        return self.source.free("net", "network")

    @property
    def args(self) -> str:
        """The variable that holds its inputs."""
        return self.source.free("args", "given")

    def call(self, function: str, given: str) -> str:
        """A call with inputs."""
        return f"{function}({self.spread}{given})"


Form = Callable[[Plain, Claim], "list[str] | None"]
"""The rows after the model has been made."""


def sighting(difference: Difference, plain: Plain) -> Sighting | None:
    """A difference of the model as it stands; None where no script can show it."""
    claim = claim_of(difference, [])
    text = script(plain, claim)
    if text is None:
        return None
    detail = {"where": difference.where, **difference.detail}
    return Sighting(difference.kind, difference.aspect, text, expect_of(difference), None, detail)


def crash_of(plain: Plain) -> Sighting:
    """What to report should the process die."""
    text = script(plain, Claim(str(Kind.CRASH), str(Aspect.OUTCOME)))
    assert text is not None
    return Sighting(Kind.CRASH, Aspect.OUTCOME, text, Expect(Ending.SIGNAL, signal="SIGSEGV"), None)


def script(plain: Plain, claim: Claim) -> str | None:
    """The reproducer; None for a claim that has no form here."""
    ending = BY_KIND.get(claim.kind) or BY_ASPECT.get(claim.aspect) or BY_PLACE.get(claim.where)
    rows = ending(plain, claim) if ending and claim.where != "grad" else None
    if rows is None:
        return None
    head = [f"torch.manual_seed({SEED})", f"{plain.net} = {plain.source.make}"]
    return f"{plain.source.text}\n\n" + "\n".join([*head, *rows]) + "\n"


def _both(plain: Plain, path: str = "") -> list[str]:
    """The two calls on equal inputs."""
    compiled = f"torch.compile({plain.net})"
    if plain.mutates:
        calls = [plain.call(f, plain.source.inputs) + path for f in (plain.net, compiled)]
        seeding = f"torch.manual_seed({SEED})"
        return [seeding, f"expected = {calls[0]}", seeding, f"actual = {calls[1]}"]
    return [
        f"{plain.args} = {plain.source.inputs}",
        f"expected = {plain.call(plain.net, plain.args)}{path}",
        f"actual = {plain.call(compiled, plain.args)}{path}",
    ]


def _of_output(plain: Plain, claim: Claim) -> list[str] | None:
    if claim.index >= len(plain.places):
        return None
    compared = COMPARISONS[claim.aspect](claim, "actual", "expected")
    if plain.exact[claim.index] is None:
        compared = ("actual == expected", "actual", "expected")
    return [*_both(plain, plain.places[claim.index]), *assertion(compared)]


def _of_input(plain: Plain, claim: Claim) -> list[str] | None:
    """An input after the call, where inputs are a plain list of tensors."""
    if plain.spread != "*":
        return None
    compiled = f"torch.compile({plain.net})"
    seeding = f"torch.manual_seed({SEED})"
    sides = (f"actual[{claim.index}]", f"expected[{claim.index}]")
    return [
        *(seeding, f"expected = {plain.source.inputs}"),
        *(seeding, f"actual = {plain.source.inputs}"),
        *(plain.call(plain.net, "expected"), plain.call(compiled, "actual")),
        *assertion(COMPARISONS[claim.aspect](claim, *sides)),
    ]


def _of_outcome(plain: Plain, claim: Claim) -> list[str]:
    """The compiled call does not return; on a build where it does, its first tensor is about the same."""
    at = next((k for k, exact in enumerate(plain.exact) if exact is not None), None)
    if at is None:
        return [*_both(plain), "assert type(actual) is type(expected)"]
    loose = Claim(
        claim.kind,
        claim.aspect,
        rtol=None if plain.exact[at] else LOOSE,
        atol=None if plain.exact[at] else LOOSE,
    )
    compared = COMPARISONS[Aspect.VALUES](loose, "actual", "expected")
    return [*_both(plain, plain.places[at]), *assertion(compared)]


def _structure(plain: Plain, claim: Claim) -> list[str]:
    tree = "torch.utils._pytree.tree_structure"
    compared = (f"{tree}(actual) == {tree}(expected)", "actual", "expected")
    return [*_both(plain), *assertion(compared)]


def _repetition(plain: Plain, claim: Claim) -> list[str] | None:
    """The same compiled call again and again."""
    if claim.where != "output" or claim.index >= len(plain.places):
        return None
    call = plain.call("compiled", plain.source.inputs) + plain.places[claim.index]
    return [
        f"compiled = torch.compile({plain.net})",
        "results = []",
        f"for _ in range({REPEATS}):",
        f"{INDENT}torch.manual_seed({SEED})",
        f"{INDENT}results.append({call})",
        "same = [torch.allclose(r, results[0], rtol=0, atol=0, equal_nan=True) for r in results]",
        "assert all(same), same",
    ]


def _unwritten(plain: Plain, claim: Claim) -> None:
    return None


BY_KIND: dict[str, Form] = {
    Kind.NONDETERMINISTIC: _repetition,
    Kind.EAGER: _unwritten,
    Kind.ACCEPTS_INVALID: _unwritten,
}
BY_ASPECT: dict[str, Form] = {
    Aspect.OUTCOME: _of_outcome,
    Aspect.STRUCTURE: _structure,
    Aspect.ALIASING: _unwritten,
}
BY_PLACE: dict[str, Form] = {"output": _of_output, "input": _of_input}
"""Forms looked up in this order; a gradient's has none: the pieces of the model show it."""
