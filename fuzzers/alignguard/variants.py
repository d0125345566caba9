"""A variant: one way to introduce a characteristic, written as the text that it puts into a program.

Invariant: what a variant makes keeps every value that f returned on its way out: a value is replaced by one
that is computed from it, or something is returned beside it. A value of another shape or dtype takes the
place of the old one only where nothing but the caller sees it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import libcst as cst

from fuzzers.alignguard import editing, form
from fuzzers.alignguard.editing import Program, Statement
from fuzzers.alignguard.holes import Filled, fill, holes
from fuzzers.alignguard.reading import names
from fuzzers.alignguard.reading.values import COMPLEX, Tensor

Need = Callable[[Tensor], bool]

LAYOUT_BOUND = frozenset(
    {"view", "as_strided", "view_as_complex", "view_as_real", "set_", "resize_", "view_as"}
)
"""Operators that a value of the same shape may not suit any more when its strides are others."""


SIZE_FREE = (
    names.TO_FLOAT
    | names.TO_BOOL
    | names.SCANS
    | names.names(
        "abs neg add sub mul div relu square sign sum mean amax amin softmax clamp sgn round trunc "
        "floor ceil clone"
    )
)
"""Operators that take their first argument in any size."""


@dataclass(frozen=True)
class Variant:
    """Statements for f, in which `{x}` is a tensor of the program and `{y}` what takes its place; with
    `{also}` (`{also2}`...) something is returned besides; a text with neither only writes `{x}`. Other
    holes: see `holes`. `same`: `{y}` has the shape and dtype of `{x}`. `writes`: `{x}` is written in place,
    or a copy of it. `module`, `setup` and `again` are texts for these places; an `again` without a `return`
    has the arguments of `inputs`. `inputs` are new arguments; `given` replaces the argument `{x}` in
    `inputs`, `{e}` being what it was. `argument`: `{x}` has to be an argument, which `inputs` calls
    `{source}`. `{params}`: all of f's. `resizes`: the second call has another size. `needs`: what has to be
    known of `{x}`."""

    code: str = ""
    needs: tuple[Need, ...] = ()
    same: bool = False
    writes: bool = False
    module: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    given: str = ""
    setup: str = ""
    again: str = ""
    argument: bool = False
    resizes: bool = False


@dataclass(frozen=True)
class Place:
    """A tensor that has a name before a statement of f."""

    at: int
    name: str
    tensor: Tensor


def places(program: Program) -> list[Place]:
    """Every tensor of f where it first has its name, and again where f returns."""
    found: dict[tuple[int, str], Place] = {}
    seen: set[str] = set()
    for at in range(program.end + 1):
        for name, value in program.at(at).items():
            if isinstance(value, Tensor) and (name not in seen or at == program.end):
                found[at, name] = Place(at, name, value)
                seen.add(name)
    return list(found.values())


def apply(variant: Variant, program: Program, rng: Random) -> str | None:
    """The text of the program with the variant in it, at a place that is drawn; None when it fits nowhere."""
    fit = [p for p in places(program) if _fits(variant, program, p)]
    if not fit or (variant.again and form.AGAIN in _entries(program)):
        return None
    rng.shuffle(fit)
    fit.sort(key=lambda p: p.at != program.end and rng.random() < 0.5)
    for place in fit[:4]:
        made = _Application(variant, program, place, rng).text()
        if made is not None:
            return made
    return None


def _entries(program: Program) -> dict[str, ast.FunctionDef]:
    assert program.reading.form is not None
    return program.reading.form.functions


def _fits(variant: Variant, program: Program, place: Place) -> bool:
    if (variant.given or variant.argument) and (place.at or place.name not in program.reading.given):
        return False
    if variant.given and _expression(program, place.name) is None:
        return False
    if variant.resizes and not _size_free(program):
        return False
    if not all(need(place.tensor) for need in variant.needs):
        return False
    if variant.given and _written(program, place.tensor):
        return False
    replaces = variant.writes or ("y" in holes(variant.code) and variant.same)
    if replaces and place.at < program.end and not _takes_any(program, place.tensor):
        return False
    asked, later = holes(variant.code), program.used_from(place.at, place.name)
    if "y" in asked and variant.same:
        return bool(later) and not _bound_to_layout(later)
    return bool(later or {"also", "y"} & set(asked)) or not variant.writes


def _written(program: Program, tensor: Tensor) -> bool:
    """Whether f writes into the memory of a tensor."""
    return any(s.call.in_place and s.call.first.storage == tensor.storage for s in program.reading.of(form.F))


def _takes_any(program: Program, tensor: Tensor) -> bool:
    """Whether what f does with a tensor is valid for other values too. Positions, sizes and counts are
    integers; matrices that have to have an inverse are floats."""
    called = {s.call.name for s in program.reading.of(form.F)}
    if tensor.floating or tensor.dtype in COMPLEX:
        return not called & names.DOMAIN_BOUND
    return called <= names.ANY_INTEGERS


def _size_free(program: Program) -> bool:
    """Whether f takes its one argument in any size."""
    reading = program.reading
    return len(reading.given) == 1 and all(s.call.name in SIZE_FREE for s in reading.of(form.F))


def _bound_to_layout(later: list[ast.stmt]) -> bool:
    names = {n.attr for s in later for n in ast.walk(s) if isinstance(n, ast.Attribute)}
    inner = any(isinstance(n, ast.FunctionDef | ast.Lambda) for s in later for n in ast.walk(s))
    return bool(names & LAYOUT_BOUND) or inner


def _expression(program: Program, name: str) -> ast.expr | None:
    """What `inputs` assigns to an argument, when that is one statement."""
    function = _entries(program)[form.INPUTS]
    last = function.body[-1]
    assert isinstance(last, ast.Return)
    assert program.reading.form is not None
    at = program.reading.form.parameters.index(name)
    if not isinstance(last.value, ast.Tuple) or not isinstance(last.value.elts[at], ast.Name):
        return None
    target = last.value.elts[at]
    assert isinstance(target, ast.Name)
    found = [
        s
        for s in function.body
        if isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == target.id for t in s.targets)
    ]
    return found[0].value if len(found) == 1 and len(found[0].targets) == 1 else None


class _Application:
    """One variant being put into one program at one place."""

    def __init__(self, variant: Variant, program: Program, place: Place, rng: Random) -> None:
        self.variant, self.program, self.place, self.rng = variant, program, place, rng
        self.names = editing.taken(program.module.code)
        self.filled: Filled = {"x": place.name}

    def text(self) -> str | None:
        """The new text, None when a hole cannot be filled."""
        v = self.variant
        if v.given or v.argument:
            self.filled["source"] = self.target()
        if v.given:
            expression = _expression(self.program, self.place.name)
            assert expression is not None
            self.filled["e"] = f"({ast.unparse(expression)})"
        arguments = [*(f"{{{name}}}" for name in v.inputs), *v.inputs.values(), v.given]
        if not all(self.fill(t) for t in (v.code, *arguments, v.module, v.setup)):
            return None
        self.filled["params"] = self.parameters()
        return self.written().code if self.fill(v.again) else None

    def target(self) -> str:
        """The name that the argument at the place has within `inputs`."""
        last = _entries(self.program)[form.INPUTS].body[-1]
        assert isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
        assert self.program.reading.form is not None
        return ast.unparse(last.value.elts[self.program.reading.form.parameters.index(self.place.name)])

    def parameters(self) -> str:
        """The parameters of f, new ones too, as a tuple."""
        assert self.program.reading.form is not None
        every = [*self.program.reading.form.parameters, *(self.filled[n] for n in self.variant.inputs)]
        return f"({', '.join(every)}{',' if len(every) == 1 else ''})"

    def fill(self, text: str) -> bool:
        """Fill a text's holes."""
        new = lambda stem: editing.fresh(stem, self.names)  # noqa: E731
        return fill(text, self.place.tensor, self.rng, self.filled, new)

    def formatted(self, text: str) -> str:
        """A text with its holes filled."""
        return text.format_map(self.filled)

    def written(self) -> cst.Module:
        """Every part put where it belongs."""
        v, module = self.variant, self.program.module
        if v.code:
            module = editing.rewritten(module, form.F, self.body)
        for name, expression in v.inputs.items():
            module = editing.with_parameter(module, self.filled[name])
            module = self.with_argument(module, self.filled[name], self.formatted(expression))
        if v.given:
            module = editing.rewritten(module, form.INPUTS, self.replaced)
        if v.module:
            module = editing.before_function(module, form.F, self.formatted(v.module))
        if v.setup:
            module = self.with_setup(module, self.formatted(v.setup))
        if v.again:
            text = self.formatted(v.again)
            inner = text if "return " in text else f"{text}\nreturn inputs()"
            indented = inner.replace("\n", "\n    ")
            module = editing.appended(module, f"def again():\n    {indented}")
        return module

    def body(self, old: list[Statement]) -> list[Statement]:
        """The statements of f."""
        at, name = self.place.at, self.place.name
        head, tail = old[:at], old[at:]
        results = list(self.program.results)
        if self.variant.writes and (self.must_copy() or self.rng.random() < 0.4):
            self.filled["x"] = editing.fresh(name, self.names)
            head = [*head, editing.statement(f"{self.filled['x']} = {name}.clone()")]
            tail = [editing.rename(s, name, self.filled["x"]) for s in tail]
            results = [self.filled["x"] if r == name else r for r in results]
        new = editing.statements(self.formatted(self.variant.code))
        asked = holes(self.variant.code)
        more = [self.filled[h] for h in asked if h.startswith("also")]
        if "y" in asked:
            if self.variant.same:
                tail = [editing.rename(s, name, self.filled["y"]) for s in tail]
                results = [self.filled["y"] if r == name else r for r in results]
            elif at == self.program.end and name in results and self.rng.random() < 0.7:
                results = [self.filled["y"] if r == name else r for r in results]
            else:
                more.append(self.filled["y"])
        ends = (
            editing.returning([*results, *more])
            if more or results != list(self.program.results)
            else tail[-1]
        )
        return [*head, *new, *tail[:-1], ends]

    def must_copy(self) -> bool:
        """Eager, or its backward, would refuse to write this tensor."""
        t = self.place.tensor
        return t.leaf or t.grad or t.overlaps or t.storage < 0

    def with_argument(self, module: cst.Module, name: str, expression: str) -> cst.Module:
        """One more argument in `inputs` and, if it lists its own, in `again`."""

        def change(body: list[Statement]) -> list[Statement]:
            last = body[-1]
            assert isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[0], cst.Return)
            value = last.body[0].value
            if not isinstance(value, cst.Tuple):
                return body
            values = [*(cst.Module([]).code_for_node(e.value) for e in value.elements), name]
            ends = editing.statement(f"return ({', '.join(values)}{',' if len(values) == 1 else ''})")
            unpacked = [_unpacking(s, name) for s in body[:-1]]
            if unpacked != body[:-1]:
                return [*unpacked, ends]
            return [*body[:-1], editing.statement(f"{name} = {expression}"), ends]

        for function in (form.INPUTS, form.AGAIN):
            module = editing.rewritten(module, function, change)
        return module

    def replaced(self, body: list[Statement]) -> list[Statement]:
        """The statements of `inputs` with one argument given otherwise."""
        expression = self.formatted(self.variant.given)
        target = self.target()
        return [editing.statement(f"{target} = {expression}") if _assigns(s, target) else s for s in body]

    def with_setup(self, module: cst.Module, text: str) -> cst.Module:
        """More in `setup`, or one of its own."""
        if form.SETUP in _entries(self.program):
            return editing.rewritten(module, form.SETUP, lambda body: [*body, *editing.statements(text)])
        inner = text.replace("\n", "\n    ")
        return editing.appended(module, f"def setup():\n    {inner}")


def _unpacking(node: Statement, name: str) -> Statement:
    """`(x, y) = inputs()` with one name more; any other statement as it is."""
    inner = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    if not isinstance(inner, cst.Assign) or not isinstance(inner.targets[0].target, cst.Tuple):
        return node
    if cst.Module([]).code_for_node(inner.value) != f"{form.INPUTS}()":
        return node
    names = [cst.Module([]).code_for_node(e.value) for e in inner.targets[0].target.elements]
    return editing.statement(f"({', '.join([*names, name])}) = {form.INPUTS}()")


def _assigns(node: Statement, name: str) -> bool:
    inner = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    if not isinstance(inner, cst.Assign):
        return False
    target = inner.targets[0].target
    return isinstance(target, cst.Name) and target.value == name


Rule = Callable[[Program, Random], "str | None"]


def any_of(*variants: Variant) -> Rule:
    """A rule that takes the variants in an order that is drawn, until one fits."""

    def rule(program: Program, rng: Random) -> str | None:
        order: Sequence[Variant] = rng.sample(variants, len(variants))
        return next((made for v in order if (made := apply(v, program, rng)) is not None), None)

    return rule
