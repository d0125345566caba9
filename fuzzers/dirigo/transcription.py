"""The reproducer of a difference: what the threads behind one output element compute, in plain numpy, beside
the PyTorch reference.

Invariant: the script needs numpy and torch only, and its last statement compares. Every operation is done in
the type and in the order in which the kernel did it; a chain over elements at equal distances is a loop.
What is too long to read is not written: such a difference is unconfirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent

import numpy as np

from fuzzers.dirigo.deciding.constants import number
from fuzzers.dirigo.deciding.tidy import Tidy
from fuzzers.dirigo.recipes import LEAST, Base, Recipe
from fuzzers.dirigo.reference.graph import Input, Kind, Traced
from fuzzers.dirigo.simt.tape import Op

LINES = 300
"""Statements that somebody still reads."""
SHORTEST = 4
"""Links that make a loop."""
CHAINS = frozenset({Op.ADD, Op.FMA, Op.MAX, Op.MIN, Op.MUL})
NUMPY = {"f32": "np.float32", "f64": "np.float64", "f16": "np.float16"}


class _TooLong(Exception):
    """Nobody would read this."""


@dataclass(frozen=True)
class Where:
    """Of an input element: the input's place among the reference's inputs and the element in its storage."""

    input: int
    element: int


def transcription(tidy: Tidy, owners: Mapping[int, Where]) -> list[str] | None:
    """Statements that leave the element in `actual`; None where there is no readable form."""
    try:
        return _Writer(tidy, owners).written()
    except _TooLong:
        return None


class _Writer:
    """Writes one slice."""

    def __init__(self, tidy: Tidy, owners: Mapping[int, Where]) -> None:
        self.tidy, self.slice, self.owners = tidy, tidy.slice, owners
        self.names: dict[int, str] = {}
        self.lines: list[str] = []
        self.users = [0] * len(self.slice)
        for args in self.slice.args:
            for arg in args:
                self.users[arg] += 1
        self.links = self._chains()
        self.inner = {node for chain in self.links.values() for node in chain[:-1]}

    def written(self) -> list[str]:
        for node in range(len(self.slice)):
            if node in self.inner:
                continue
            if node in self.links:
                self._loop(node, self.links[node])
            else:
                self._single(node)
            if len(self.lines) > LINES:
                raise _TooLong
        return [*self.lines, f"actual = {self.names[len(self.slice) - 1]}"]

    def _single(self, node: int) -> None:
        op = self.slice.ops[node]
        if op is Op.INPUT:
            where = self.owners[self.slice.leaf[node]]
            self.names[node] = f"x{where.input}[{where.element}]"
            return
        if op is Op.CONSTANT:
            self.names[node] = self._constant(node)
            return
        args = [self.names[arg] for arg in self.slice.args[node]]
        self.names[node] = f"t{node}"
        line = self.slice.lines[node]
        remark = f"  # line {line}" if line else ""
        self.lines.append(f"t{node} = {self._expression(node, args)}{remark}")

    def _constant(self, node: int) -> str:
        wanted = self.tidy.wanted[node] or "f32"
        value = number(self.slice.bits[node], wanted)
        if wanted not in NUMPY:
            return f"{value:.17g}"
        shown = repr(value) if np.isfinite(value) else f"'{value}'"
        return f"{NUMPY[wanted]}({shown})"

    def _expression(self, node: int, args: Sequence[str]) -> str:
        op, type_, detail = self.slice.ops[node], self.slice.types[node], self.slice.details[node]
        kind = NUMPY.get(type_, "np.float64")
        if op is Op.CALL:
            if detail not in CALLS:
                raise _TooLong
            return f"{kind}({CALLS[detail].format(*(f'np.float64({a})' for a in args))})"
        if op is Op.COMPARE:
            name = detail.partition(".")[0]
            if name not in SIGNS:
                raise _TooLong
            return f"{args[0]} {SIGNS[name]} {args[1]}"
        if op not in FORMS:
            raise _TooLong
        return FORMS[op].format(*args, kind=kind)

    def _chains(self) -> dict[int, list[int]]:
        """Chains of one operation that each has one user, by their last node: accumulations."""
        found: dict[int, list[int]] = {}
        ops, args = self.slice.ops, self.slice.args
        for node, op in enumerate(ops):
            if op not in CHAINS:
                continue
            place = 2 if op is Op.FMA else 0
            before = args[node][place]
            same = ops[before] is op and self.slice.lines[before] == self.slice.lines[node]
            if (
                same
                and self.users[before] == 1
                and before in found
                and self._goes_on(found[before], node, place)
            ):
                found[node] = [*found.pop(before), node]
            elif self._leaves(node, place) is not None:
                found[node] = [node]
        return {last: chain for last, chain in found.items() if len(chain) >= SHORTEST}

    def _leaves(self, node: int, place: int) -> tuple[Where, ...] | None:
        """The input elements that a link takes in besides what came before."""
        rest = [arg for at, arg in enumerate(self.slice.args[node]) if at != place]
        if not rest or any(self.slice.ops[arg] is not Op.INPUT for arg in rest):
            return None
        return tuple(self.owners[self.slice.leaf[arg]] for arg in rest)

    def _goes_on(self, chain: list[int], node: int, place: int) -> bool:
        """Whether a link's elements lie where the chain's distances lead."""
        now, last = self._leaves(node, place), self._leaves(chain[-1], place)
        if now is None or last is None or [w.input for w in now] != [w.input for w in last]:
            return False
        if len(chain) == 1:
            return True
        previous = self._leaves(chain[-2], place)
        assert previous is not None
        return all(
            a.element - b.element == b.element - c.element
            for a, b, c in zip(now, last, previous, strict=True)
        )

    def _loop(self, last: int, chain: list[int]) -> None:
        op = self.slice.ops[last]
        place = 2 if op is Op.FMA else 0
        start = self.slice.args[chain[0]][place]
        first, second = self._leaves(chain[0], place), self._leaves(chain[1], place)
        assert first is not None and second is not None
        given = [
            f"x{a.input}[{a.element} + {b.element - a.element} * i]"
            for a, b in zip(first, second, strict=True)
        ]
        args = [*given, f"t{last}"] if op is Op.FMA else [f"t{last}", *given]
        self.lines.append(f"t{last} = {self.names[start]}")
        self.lines.append(f"for i in range({len(chain)}):  # line {self.slice.lines[last]}")
        self.lines.append(f"    t{last} = {self._expression(last, args)}")
        self.names[last] = f"t{last}"


FORMS: Mapping[Op, str] = {
    Op.ADD: "{kind}({0} + {1})",
    Op.SUB: "{kind}({0} - {1})",
    Op.MUL: "{kind}({0} * {1})",
    Op.DIV: "{kind}({0} / {1})",
    Op.FMA: "{kind}(np.float64({0}) * {1} + {2})",
    Op.NEG: "-{0}",
    Op.ABS: "abs({0})",
    Op.MIN: "np.fmin({0}, {1})",
    Op.MAX: "np.fmax({0}, {1})",
    Op.COPYSIGN: "np.copysign({1}, {0})",
    Op.SQRT: "np.sqrt({0})",
    Op.RSQRT: "{kind}(1 / np.sqrt(np.float64({0})))",
    Op.RECIPROCAL: "{kind}(1 / {0})",
    Op.SATURATE: "np.clip({0}, {kind}(0), {kind}(1))",
    Op.CONVERT: "{kind}({0})",
    Op.TRUNC: "np.trunc({0})",
    Op.FLOOR: "np.floor({0})",
    Op.CEIL: "np.ceil({0})",
    Op.NEAREST: "np.rint({0})",
    Op.SELECT: "{1} if {0} else {2}",
}
SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "neu": "!="}
CALLS: Mapping[str, str] = {
    **{name: f"np.{name}({{0}})" for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p")},
    **{name: f"np.{name}({{0}})" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "cbrt")},
    "erf": "math.erf({0})",
    "erfc": "math.erfc({0})",
    "pow": "np.power({0}, {1})",
}


SCRIPT = '''\
"""{title}"""

import math

import numpy as np
import torch

{source}


{inputs}

np.seterr(all="ignore")
model = Model(*get_init_inputs())
{filled}
with torch.no_grad():
    expected = model({arguments}){picked}.flatten()[{element}].item()

# What the threads behind this element compute.
{body}
assert abs(float(actual) - expected) <= {slack:.3g}, (float(actual), expected)
'''


def script(
    title: str,
    traced: Traced,
    recipe: Recipe,
    positive: frozenset[int],
    body: Sequence[str],
    *,
    output: int,
    element: int,
    slack: float,
) -> str:
    """The whole reproducer."""
    inputs = [
        line
        for at, item in enumerate(traced.inputs)
        for line in _made(at, item, recipe, at in positive, traced)
    ]
    state = [
        f'    model.get_parameter("{item.name}").copy_({_tensor(at, item)})'
        if item.kind is Kind.PARAMETER
        else f'    model.get_buffer("{item.name}").copy_({_tensor(at, item)})'
        for at, item in enumerate(traced.inputs)
        if item.kind is not Kind.ARGUMENT and item.is_symbolic
    ]
    arguments = [_tensor(at, item) for at, item in enumerate(traced.inputs) if item.kind is Kind.ARGUMENT]
    return SCRIPT.format(
        title=title.replace('"""', "'''").replace("\\", "/"),
        source=dedent(traced.source).strip(),
        inputs="\n".join(inputs),
        filled="\n".join(["with torch.no_grad():", *state]) if state else "",
        arguments=", ".join(arguments),
        picked=f"[{output}]" if len(traced.outputs) > 1 else "",
        element=element,
        body="\n".join(body),
        slack=slack,
    )


def _tensor(at: int, item: Input) -> str:
    layout = item.layout
    return (
        f"torch.as_strided(torch.from_numpy(x{at}.copy()), {layout.shape}, {layout.strides}, {item.offset})"
    )


def _made(at: int, item: Input, recipe: Recipe, positive: bool, traced: Traced) -> list[str]:
    """Statements that make an input's storage."""
    if not item.is_symbolic:
        own = traced.initial[at]
        return [f"x{at} = np.array({own.tolist()}, np.{own.dtype})" if own is not None else f"x{at} = None"]
    count = item.elements
    plain = recipe.plain and item.kind is not Kind.ARGUMENT
    made = MAKERS[Base.FILLED if plain else recipe.base](at, count, recipe, plain)
    lines = [f"x{at} = {made}"]
    if positive:
        lines.append(f"x{at} = np.abs(x{at})" + ("" if plain else f" + {LEAST}"))
    lines += [f"x{at}[{place}] = {value!r}" for name, place, value in recipe.single if name == item.name]
    return [*lines, f"x{at} = x{at}.astype({NUMPY.get(item.layout.type, 'np.float32')})  # {item.name}"]


def _filled(at: int, count: int, recipe: Recipe, plain: bool) -> str:
    return f"np.full({count}, {1.0 if plain else recipe.value!r})"


def _drawn(method: str) -> Callable[[int, int, Recipe, bool], str]:
    def made(at: int, count: int, recipe: Recipe, plain: bool) -> str:
        drawn = f"np.random.default_rng([{recipe.seed}, {at}]).{method.format(count)}"
        return f"{drawn} * {recipe.scale!r} + {recipe.shift!r}"

    return made


MAKERS: Mapping[Base, Callable[[int, int, Recipe, bool], str]] = {
    Base.FILLED: _filled,
    Base.INTEGERS: _drawn("integers(-3, 4, {})"),
    Base.NORMAL: _drawn("standard_normal({})"),
}
