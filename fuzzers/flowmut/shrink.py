"""Smaller programs: what a finding is reduced by.

Invariant: every candidate is strictly smaller by `measure`, a lexicographic tuple of natural numbers, so
that taking candidates repeatedly ends; every one passes the operators' requirements and a fake run; and
it claims the same observable. All attempts go through one gate, `_offer`. Nothing here runs the compiler:
whether a candidate still fails is for whoever asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from fuzzers.engine import Page
from fuzzers.flowmut import cuts, passes, rewrite, simplify
from fuzzers.flowmut.claim import claim_from_json
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.legality import Rejection, check_predicates, fake_run
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.passes import Case
from fuzzers.flowmut.program import Attr, Input, Node, Program, check, from_json, to_json
from fuzzers.flowmut.rejection import Refused
from fuzzers.flowmut.runtime import States, runtime
from fuzzers.flowmut.values import state_of
from fuzzers.flowmut.window import writes
from fuzzers.records import Json

Measure: TypeAlias = tuple[int, ...]

PASSES: tuple[passes.Pass, ...] = (
    cuts.hinted,
    passes.only_claimed,
    cuts.windows,
    passes.early_outputs,
    passes.cut_prefixes,
    passes.drop_halves,
    passes.drop_writes,
    passes.bypass_nodes,
    passes.cut_nodes,
    passes.drop_outputs,
    simplify.plain_setting,
    simplify.drop_views,
    simplify.merge_inputs,
    simplify.small_everywhere,
    simplify.drop_ranks,
    simplify.small_sizes,
    simplify.simple_dtypes,
    simplify.simple_fills,
    simplify.simple_attributes,
    simplify.literal_values,
    simplify.simple_values,
)
"""Most effective first: what removes many nodes, then what makes the rest plain."""

MOST_PROPOSALS = 1 << 20
"""Of one pass."""

DTYPE_ORDER = (
    "float32",
    "int64",
    "int32",
    "float64",
    "bool",
    "uint8",
    "int8",
    "int16",
    "float16",
    "bfloat16",
)
"""Plainest first."""

FILL_ORDER = (
    "ones",
    "zeros",
    "full",
    "arange",
    "linspace",
    "literal",
    "bool",
    "randint",
    "rand",
    "positive",
    "randn",
    "special",
)
"""Plainest first; what needs no seed before what does."""


def measure(program: Program) -> Measure:
    """How large a program is. Structure weighs most, then sizes, then how plain the rest is."""
    return (
        len(program.nodes),
        len(program.outputs),
        len(program.inputs),
        sum(len(i.views) for i in program.inputs),
        sum(i.requires_grad for i in program.inputs) + (program.dynamic is not None),
        sum(len(i.shape) for i in program.inputs),
        sum(_storage(i) for i in program.inputs),
        sum(DTYPE_ORDER.index(i.dtype) for i in program.inputs),
        sum(_plainness(n) for n in program.nodes),
        sum(_strangeness(i) for i in program.inputs),
        sum(_length(i) for i in program.inputs),
    )


def _storage(given: Input) -> int:
    count = 1
    for size in given.shape:
        count *= size
    return count + sum(given.shape)


def _plainness(node: Node) -> int:
    """Attributes that are not at their default, and how far each is from the plainest value."""
    known = OPERATORS[node.op].attributes
    return sum(1 + _rank(value, known[name].plain) for name, value in node.attrs)


def _rank(value: Attr, plain: tuple[Attr, ...]) -> int:
    places = [k for k, p in enumerate(plain) if p == value and type(p) is type(value)]
    return places[0] if places else len(plain) + sum(c.isdigit() for c in str(value))


def _strangeness(given: Input) -> int:
    """The place of the fill; what is not listed comes last."""
    return FILL_ORDER.index(given.fill) if given.fill in FILL_ORDER else len(FILL_ORDER)


def _length(given: Input) -> int:
    """How much there is to read in the values."""
    bounds = sum(len(str(b)) for b in (given.low, given.high))
    return bounds + sum(len(f"{v:g}") for v in given.values)


def candidates(payload: Json) -> list[Json]:
    """Smaller payloads `{"program", "claim"}`, most promising first, each program once."""
    return [_payload(case) for _, case in smaller(read(payload))]


def page(payload: Json, start: int, count: int, hints: Sequence[Sequence[str]]) -> Page:
    """The first `count` candidates from `start` on. A place is the pass and the number of its proposal, so
    that it means about the same in a program that has just become smaller."""
    case = read(payload, hints)
    found = list(islice(smaller(case, start), count + 1))
    after = found[count][0] if len(found) > count else None
    taken = found[:count]
    return Page(
        programs=tuple(_payload(c) for _, c in taken),
        scripts=tuple(runtime().script(c.program, c.claim) for _, c in taken),
        places=tuple(place for place, _ in taken),
        after=after,
    )


def _payload(case: Case) -> Json:
    return {"program": to_json(case.program), "claim": case.claim.to_json()}


def read(payload: Json, hints: Sequence[Sequence[str]] = ()) -> Case:
    """The case of a payload, with the states that its program has when it runs eagerly."""
    program, claim = from_json(payload["program"]), claim_from_json(payload["claim"])
    return Case(program, claim, *observed(program), tuple(tuple(h) for h in hints))


def observed(program: Program) -> tuple[States, dict[str, tuple[float, ...]]]:
    """States of all edges, and the values of the small ones."""
    try:
        return runtime().observed(program, passes.READABLE)
    except Refused:
        predicted = fake_run(program)
        return ({} if isinstance(predicted, Rejection) else predicted), {}


def named(payload: Json) -> tuple[list[str], list[str]]:
    """(sorted operator names, sorted dtype names) of a payload."""
    given = from_json(payload["program"])
    cast = {str(v) for n in given.nodes for k, v in n.attrs if k == "dtype"}
    return sorted({n.op for n in given.nodes}), sorted({i.dtype for i in given.inputs} | cast)


def smaller(case: Case, start: int = 0) -> Iterator[tuple[int, Case]]:
    """Every candidate that the passes propose from place `start` on and the gate lets through."""
    seen = {case.program}
    number, first = divmod(start, MOST_PROPOSALS)
    for k, shrinking in enumerate(PASSES[number:], number):
        proposals = enumerate(islice(shrinking(case), MOST_PROPOSALS))
        for place, proposed in islice(proposals, first if k == number else 0, None):
            if (offered := _offer(case, proposed)) is not None and offered.program not in seen:
                seen.add(offered.program)
                yield k * MOST_PROPOSALS + place, offered


def _offer(case: Case, proposed: Case) -> Case | None:
    """The gate: pruned, strictly smaller, the claim still there, legal."""
    program = rewrite.prune(proposed.program, writes)
    claim = passes.carried(proposed.claim, proposed.program, program)
    if (
        claim is None
        or not (program.outputs or claim.where == "input")
        or measure(program) >= measure(case.program)
    ):
        return None
    try:
        check(program)
    except ValueError:
        return None
    states = fake_run(program)
    if isinstance(states, Rejection) or check_predicates(program, known_profiles(program, states)):
        return None
    return replace(proposed, program=program, claim=claim)


def known_profiles(program: Program, states: States) -> dict[str, EdgeState]:
    """Predicted states, with what the inputs' fills say about their values."""
    return {**states, **{i.name: state_of(i) for i in program.inputs}}
