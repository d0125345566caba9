"""What the oracle saw, in the words of a reproducer: which place of which call differs, how it is reached.

Invariant: a claim is plain data and survives JSON. A place is an expression: `[1]['a']` after a call or after
the tuple of its arguments, so that emitting it needs no run. `call` is 0 for the first, 1 for the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch.utils._pytree import keystr, tree_flatten_with_path

from fuzzers.oracle import Difference
from fuzzers.records import Aspect, Ending, Expect, Json, Kind


@dataclass(frozen=True)
class Place:
    """One leaf: `role` is `output`, `input` or `grad`."""

    role: str = "output"
    call: int = 0
    path: str = ""


@dataclass(frozen=True)
class Claim:
    """What a script asserts not to be. `rtol` None compares exactly; `other` is the second place of an
    aliasing claim; `wanting` are the arguments that are made to require a gradient and `outputs` what is
    differentiated, both as places; `none` marks a gradient that is None on one side."""

    kind: str
    aspect: str
    place: Place = field(default_factory=Place)
    other: Place | None = None
    rtol: float | None = None
    atol: float | None = None
    none: bool = False
    wanting: tuple[Place, ...] = ()
    outputs: tuple[Place, ...] = ()

    def to_json(self) -> Json:
        """The JSON form."""
        return {**asdict(self), "kind": str(self.kind), "aspect": str(self.aspect)}


def claim_from_json(data: Json) -> Claim:
    """The claim from its JSON form; TypeError on an unknown key."""
    return Claim(
        **{
            **data,
            "place": Place(**data["place"]),
            "other": Place(**data["other"]) if data.get("other") else None,
            "wanting": tuple(Place(**p) for p in data.get("wanting", ())),
            "outputs": tuple(Place(**p) for p in data.get("outputs", ())),
        }
    )


LOOSE = 0.01
"""Tolerance of a comparison that only a build without the bug reaches: the compiled call dies on others."""


@dataclass(frozen=True)
class Seen:
    """Where the leaves of a program's run are. `outputs` and `inputs` are those that the oracle numbers."""

    outputs: tuple[tuple[Place, Any], ...]
    inputs: tuple[tuple[Place, torch.Tensor], ...]

    def place(self, role: str, index: int) -> Place:
        """The place that the oracle calls `role index`."""
        known = self.outputs if role == "output" else self.inputs
        found = known[index][0] if 0 <= index < len(known) else Place()
        return Place(role, found.call, found.path)


def seen(result: Any, arguments: Sequence[Any], first: int, twice: bool) -> Seen:
    """The leaves of what a program returned and of what it was given."""
    outputs = [(_output(path, twice), leaf) for path, leaf in tree_flatten_with_path(result)[0]]
    inputs = []
    for path, leaf in tree_flatten_with_path(tuple(arguments))[0]:
        if isinstance(leaf, torch.Tensor):
            number = path[0].idx
            call = int(number >= first)
            inputs.append((Place("input", call, f"[{number - first * call}]{keystr(path[1:])}"), leaf))
    return Seen(tuple(outputs), tuple(inputs))


def _output(path: Any, twice: bool) -> Place:
    return Place("output", path[0].idx, keystr(path[1:])) if twice else Place("output", 0, keystr(path))


def claim_of(difference: Difference, known: Seen) -> Claim:
    """The oracle's difference as a script asserts it."""
    detail = difference.detail
    role = difference.where.split()[0]
    if str(detail.get("expected")).startswith("backward"):
        role = "grad"
    claim = Claim(
        kind=str(difference.kind),
        aspect=str(difference.aspect),
        place=known.place(role, difference.index) if role in ("output", "input", "grad") else _first(known),
        rtol=detail.get("rtol") or None,
        atol=detail.get("atol") or None,
        none="None" in (str(detail.get("expected")), str(detail.get("actual"))),
    )
    if difference.aspect is Aspect.ALIASING:
        return _aliasing(claim, detail, known)
    if difference.aspect is Aspect.OUTCOME:
        claim = _outcome(claim, role, known)
    if claim.place.role == "grad" or detail.get("phase") == "gradient":
        return _differentiated(claim, known, everything=detail.get("phase") == "gradient")
    return claim


def _first(known: Seen) -> Place:
    """The first tensor that a call returns, or else the first that it is given."""
    for place, leaf in known.outputs:
        if isinstance(leaf, torch.Tensor):
            return place
    return known.inputs[0][0] if known.inputs else Place()


def _outcome(claim: Claim, role: str, known: Seen) -> Claim:
    """A claim about the outcome, with a comparison that suits what is compared."""
    place = known.inputs[0][0] if role == "grad" and known.inputs else _first(known)
    leaves: dict[Place, Any] = dict((*known.outputs, *known.inputs))
    leaf = leaves.get(place)
    inexact = isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex())
    bound = LOOSE if inexact or role == "grad" else None
    place = Place("grad" if role == "grad" else place.role, place.call, place.path)
    return Claim(claim.kind, claim.aspect, place, rtol=bound, atol=bound)


def _differentiated(claim: Claim, known: Seen, everything: bool) -> Claim:
    """A claim whose script asks for gradients: of all floating arguments, or of those that want one."""
    floating = [p for p, t in known.inputs if t.is_floating_point() and (everything or t.requires_grad)]
    outputs = [
        p
        for p, leaf in known.outputs
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and (everything or leaf.requires_grad)
    ]
    data = {**claim.to_json(), "wanting": [asdict(p) for p in floating] if everything else ()}
    place = claim.place
    if claim.aspect == Aspect.OUTCOME and floating:
        place = Place("grad", floating[0].call, floating[0].path)
    return claim_from_json({**data, "place": asdict(place), "outputs": [asdict(p) for p in outputs]})


def _aliasing(claim: Claim, detail: Json, known: Seen) -> Claim:
    """The first pair of places that shares storage on one side only."""
    expected, actual = (set(detail.get(side, ())) for side in ("expected", "actual"))
    pair = sorted(expected ^ actual)[0].split(" ~ ")
    first, second = (known.place(w.split()[0], int(w.split()[1])) for w in pair)
    return Claim(claim.kind, claim.aspect, first, other=second)


ENDINGS = {Kind.EXCEPTION: Ending.EXCEPTION, Kind.CRASH: Ending.SIGNAL, Kind.HANG: Ending.TIMEOUT}
"""How the script of a sighting ends where that is not its assertion."""


def expect_of(difference: Difference) -> Expect:
    """How the script of a difference ends on this build."""
    if difference.kind is not Kind.EXCEPTION:
        return Expect(ENDINGS.get(difference.kind, Ending.ASSERTION))
    raised = difference.detail["actual"]
    return Expect(Ending.EXCEPTION, exception=raised["exception"], message=raised["message"])
