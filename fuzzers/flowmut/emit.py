"""The script that shows a difference: overview.md's reproducer, for every aspect that the oracle compares.

Invariant: the script computes both sides, keeps what it got, and its last statement is an `assert` that
compares them; on a build without the bug it passes. How the two sides are called follows from the place
of the claim (output, input, gradient), how they are compared from its aspect; a few kinds have a form of
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fuzzers.flowmut.claim import Claim, claim_from_json
from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.layout import INDENT, WIDTH, fits, lay_out
from fuzzers.flowmut.legality import Rejection, fake_run
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.source import (
    build,
    function_source,
    input_lines,
    input_names,
    inputs_source,
    is_random,
    mutated_inputs,
)
from fuzzers.records import Aspect, Kind

__all__ = ["Claim", "build", "claim_from_json", "function_source", "inputs_source", "script"]

LOOSE = 0.01
"""Tolerance of a comparison that only a build without the bug reaches (the compiled call dies on others)."""

REPEATS = 20
"""Calls in which a compiled function that does not agree with itself has shown it."""


@dataclass(frozen=True)
class _Scene:
    """What the endings below need of a program."""

    program: Program
    claim: Claim
    names: list[str]
    mutated: list[int]

    @property
    def compiled(self) -> str:
        """The expression that compiles f."""
        if self.program.dynamic is None:
            return "torch.compile(f)"
        return f"torch.compile(f, dynamic={self.program.dynamic})"

    @property
    def rebuild(self) -> bool:
        """Whether `clone` would lose what an input is, its strides or its gradient, or the inputs are too
        many to be listed."""
        lost = any(self.program.inputs[k].views or self.program.inputs[k].requires_grad for k in self.mutated)
        return lost or not fits(f"expected = {self.compiled}({self.listed})[0]")

    @property
    def listed(self) -> str:
        """The arguments by name, those that the call mutates copied."""
        return ", ".join(f"{n}.clone()" if k in self.mutated else n for k, n in enumerate(self.names))

    @property
    def args(self) -> str:
        """The arguments of one call."""
        return "*inputs()" if self.rebuild else self.listed

    @property
    def plain_args(self) -> str:
        """The arguments of a call that has inputs of its own."""
        return ", ".join(self.names)

    def pick(self, call: str) -> str:
        """The claimed output of a call."""
        return f"{call}[{self.claim.index}]" if len(self.program.outputs) > 1 else call

    def setting(self) -> list[str]:
        """The inputs, as statements, or as a function where each call needs fresh ones."""
        if self.rebuild:
            return [*inputs_source(self.program).splitlines(), "", ""]
        return input_lines(self.program)


Compared = tuple[str, str, str]
"""(test, actual, expected) as source."""

Ending = Callable[[_Scene], list[str]]


def assertion(compared: Compared) -> list[str]:
    """The last statement; a message that makes it too long is shortened, then left out."""
    test, actual, expected = compared
    messages = (f", ({actual}, {expected})", f", {actual}", "")
    return [f"assert {test}{next(m for m in messages if fits(f'assert {test}{m}') or not m)}"]


def _values(claim: Claim, actual: str, expected: str) -> Compared:
    if claim.none:
        return f"({actual} is None) == ({expected} is None)", actual, expected
    if claim.rtol is None:
        return f"torch.equal({actual}, {expected})", actual, expected
    nan = ", equal_nan=True" if claim.equal_nan else ""
    bounds = f"rtol={claim.rtol!r}, atol={claim.atol or 0.0!r}"
    return f"torch.allclose({actual}, {expected}, {bounds}{nan})", actual, expected


def _attribute(attribute: str) -> Callable[[Claim, str, str], Compared]:
    def compared(claim: Claim, actual: str, expected: str) -> Compared:
        sides = (f"{actual}{attribute}", f"{expected}{attribute}")
        return f"{sides[0]} == {sides[1]}", *sides

    return compared


COMPARISONS: dict[str, Callable[[Claim, str, str], Compared]] = {
    Aspect.OUTCOME: _values,
    Aspect.DTYPE: _attribute(".dtype"),
    Aspect.SHAPE: _attribute(".shape"),
    Aspect.DEVICE: _attribute(".device"),
    Aspect.REQUIRES_GRAD: _attribute(".requires_grad"),
    Aspect.STRIDE: _attribute(".stride()"),
    Aspect.VALUES: _values,
    Aspect.NONFINITE: _values,
    Aspect.INDICES: _values,
    Aspect.MUTATION: _values,
    Aspect.GRADIENT: _values,
}
"""How the two sides of one place are compared. STRUCTURE and ALIASING concern more than one place."""


def _compare(scene: _Scene, actual: str = "actual", expected: str = "expected") -> list[str]:
    return assertion(COMPARISONS[scene.claim.aspect](scene.claim, actual, expected))


def _of_output(scene: _Scene) -> list[str]:
    return [
        *scene.setting(),
        f"expected = {scene.pick(f'f({scene.args})')}",
        f"actual = {scene.pick(f'{scene.compiled}({scene.args})')}",
        *_compare(scene),
    ]


def _of_input(scene: _Scene) -> list[str]:
    """An input after the call."""
    place = scene.claim.index
    if scene.rebuild or place not in scene.mutated:
        calls = ["expected, actual = inputs(), inputs()", "f(*expected)", f"{scene.compiled}(*actual)"]
        setting = [*inputs_source(scene.program).splitlines(), "", ""]
        return [*setting, *calls, *_compare(scene, f"actual[{place}]", f"expected[{place}]")]

    def call(function: str, name: str) -> list[str]:
        args = [f"{n}.clone()" if k in scene.mutated else n for k, n in enumerate(scene.names)]
        args[place] = name
        return [f"{name} = {scene.names[place]}.clone()", f"{function}({', '.join(args)})"]

    return [*scene.setting(), *call("f", "expected"), *call(scene.compiled, "actual"), *_compare(scene)]


def _probe(scene: _Scene, name: str, rows: Sequence[str], finish: list[str]) -> list[str]:
    """A function of the function under test that makes its own inputs, called for both sides."""
    body = [line for row in rows for line in lay_out(row, INDENT)]
    head = [f"def {name}(f):", *input_lines(scene.program, INDENT), *body, "", ""]
    return [*head, f"expected = {name}(f)", f"actual = {name}({scene.compiled})", *finish]


def _of_gradient(scene: _Scene) -> list[str]:
    """The gradient of an input for a drawn cotangent, the same for both sides."""
    leaves = [n for n, i in zip(scene.names, scene.program.inputs, strict=True) if i.requires_grad]
    if len(scene.program.outputs) > 1:
        call = f"f({scene.plain_args})"
        picked = f"out = [o for o in {call} if o.requires_grad]"
        apart = [f"out = {call}", "out = [o for o in out if o.requires_grad]"]
        rows = [
            *([picked] if fits(picked, INDENT) else apart),
            "cotangent = [torch.randn_like(o) for o in out]",
        ]
    else:
        rows = [f"out = f({scene.plain_args})", "cotangent = torch.randn_like(out)"]
    if not is_random(scene.program):
        rows.insert(-1, f"torch.manual_seed({scene.program.seed})")
    unused = ", allow_unused=True" if len(leaves) > 1 or scene.claim.none else ""
    wanted = leaves[0] if len(leaves) == 1 else f"({', '.join(leaves)})"
    rows.append(f"return torch.autograd.grad(out, {wanted}, cotangent{unused})[{scene.claim.index}]")
    return _probe(scene, "grad", rows, _compare(scene))


BY_PLACE: dict[str, Ending] = {"output": _of_output, "input": _of_input, "grad": _of_gradient}


def _indices(scene: _Scene) -> list[str]:
    """Positions are compared by what they select, where they index an input; ties differ harmlessly."""
    name = scene.program.outputs[scene.claim.index]
    node = next((n for n in scene.program.nodes if n.name == name and OPERATORS[n.op].index_result), None)
    places = [i.name for i in scene.program.inputs]
    if node is None or node.args[0] not in places or places.index(node.args[0]) in scene.mutated:
        return _of_output(scene)
    attrs = OPERATORS[node.op].values(node)
    source, dim = scene.names[places.index(node.args[0])], attrs["dim"]
    spread = "" if attrs.get("keepdim", True) else f".unsqueeze({dim})"
    pattern = f"{source}.flatten()[{{}}]" if dim is None else f"{source}.gather({dim}, {{}}{spread})"
    rows = _of_output(scene)[:-1]
    test = f"torch.equal({pattern.format('actual')}, {pattern.format('expected')})"
    return [*rows, *assertion((test, "actual", "expected"))]


def _structure(scene: _Scene) -> list[str]:
    read = "len" if len(scene.program.outputs) > 1 else "type"
    sides = (f"{read}(actual)", f"{read}(expected)")
    calls = [f"expected = f({scene.args})", f"actual = {scene.compiled}({scene.args})"]
    return [*scene.setting(), *calls, *assertion((f"{sides[0]} == {sides[1]}", *sides))]


def _aliasing(scene: _Scene) -> list[str]:
    """Whether two places share storage, on either side."""

    def pointer(which: str) -> str:
        side, number = which.split()
        many = len(scene.program.outputs) > 1
        name = scene.names[int(number)] if side == "input" else f"out[{number}]" if many else "out"
        return f"{name}.untyped_storage().data_ptr()"

    first, second = map(pointer, scene.claim.pair)
    rows = [f"out = f({scene.plain_args})", f"return {first} == {second}"]
    return _probe(scene, "shares", rows, assertion(("actual == expected", "actual", "expected")))


def _acceptance(scene: _Scene) -> list[str]:
    """Eager raises; so must the compiled call."""
    rows = [
        "try:",
        f"{INDENT}f({scene.plain_args})",
        "except Exception:",
        f"{INDENT}return True",
        "return False",
    ]
    return _probe(scene, "raises", rows, assertion(("actual == expected", "actual", "expected")))


def _repetition(scene: _Scene) -> list[str]:
    """The same compiled call again and again; the oracle saw it disagree with itself."""
    call = scene.pick(f"compiled({scene.args})")
    same = "torch.allclose(other, first, rtol=0, atol=0, equal_nan=True)"
    return [
        *scene.setting(),
        f"compiled = {scene.compiled}",
        f"first, *others = [{call} for _ in range({REPEATS})]",
        f"assert all({same} for other in others)",
    ]


def _reference(scene: _Scene) -> list[str]:
    """Eager against eager in float64, where eager is the side that is wrong."""
    wide = ", ".join(
        f"{n}.double()" if i.dtype in FLOATING else f"{n}.clone()" if k in scene.mutated else n
        for k, (n, i) in enumerate(zip(scene.names, scene.program.inputs, strict=True))
    )
    return [
        *input_lines(scene.program),
        f"expected = {scene.pick(f'f({wide})')}",
        f"actual = {scene.pick(f'f({scene.args})')}.double()",
        *_compare(scene),
    ]


BY_KIND: dict[str, Ending] = {
    Kind.ACCEPTS_INVALID: _acceptance,
    Kind.NONDETERMINISTIC: _repetition,
    Kind.EAGER: _reference,
}
BY_ASPECT: dict[str, Ending] = {
    Aspect.STRUCTURE: _structure,
    Aspect.ALIASING: _aliasing,
    Aspect.INDICES: _indices,
}
"""Forms of their own, looked up in this order before the place decides."""


def _of_outcome(program: Program, claim: Claim) -> Claim:
    """A claim about the outcome, with a comparison that suits the result's dtype."""
    place = claim.where if claim.where != "output" or program.outputs else "input"
    states = fake_run(program)
    names = program.outputs if place == "output" else [i.name for i in program.inputs]
    if place != "grad" and not isinstance(states, Rejection) and not states[names[claim.index]].floating:
        return replace(claim, where=place, rtol=None)
    return replace(claim, where=place, rtol=claim.rtol or LOOSE, atol=claim.atol or LOOSE)


def script(program: Program, claim: Claim) -> str:
    """The whole reproducer: imports, function, inputs, the two calls, the assertion."""
    if claim.aspect == Aspect.OUTCOME:
        claim = _of_outcome(program, claim)
    scene = _Scene(program, claim, input_names(program), mutated_inputs(program))
    ending = BY_KIND.get(claim.kind) or BY_ASPECT.get(claim.aspect) or BY_PLACE[claim.where]
    function = function_source(program)
    imports = ["import torch", *(["import torch.nn.functional as F"] if "F." in function else [])]
    rows = [row for line in ending(scene) for row in (lay_out(line) if len(line) > WIDTH else [line])]
    return "\n".join([*imports, "", "", *function.splitlines(), "", "", *rows]) + "\n"
