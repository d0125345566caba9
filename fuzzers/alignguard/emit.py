"""The script that shows a difference: a program's text, both sides run, and an `assert` that compares them.

Invariant: the script computes both sides, keeps what it got, and its last statement compares them; on a build
without the bug it passes. It says no more than the claim needs: a first call of a function without state
is two lines, and everything else is one function that is run with f and with what the compiler makes of it.
"""

from __future__ import annotations

from collections.abc import Callable

from fuzzers.alignguard.claim import Claim, Place
from fuzzers.alignguard.form import read
from fuzzers.alignguard.program import Program
from fuzzers.records import Aspect, Kind

WIDTH = 88
"""Of a line, as `ruff format` has it; a message that makes the assertion longer is left out."""

REPEATS = 20
"""Calls in which a compiled function that does not agree with itself has shown it."""

Body = list[str]


class _Scene:
    """A program and a claim, and what the endings need of them."""

    def __init__(self, program: Program, claim: Claim) -> None:
        form = read(program.source)
        self.claim = claim
        self.compiled = f"torch.compile(f{program.mode.spelled})"
        self.setup = form.has_setup
        places = [claim.place, *((claim.other,) if claim.other else ()), *claim.outputs, *claim.wanting]
        self.calls = 2 if form.has_again and any(p.call for p in places) else 1

    @property
    def is_plain(self) -> bool:
        """Whether one expression is one call."""
        return not self.setup and self.calls == 1

    def run(self) -> Body:
        """All calls, their results as `out0`, `out1`, their arguments as `args0`, `args1`."""
        rows = ["setup()"] if self.setup else []
        for k, made in enumerate(("inputs()", "again()")[: self.calls]):
            rows.append(f"args{k} = {made}")
            rows += [f"args{p.call}{p.path}.requires_grad_()" for p in self.claim.wanting if p.call == k]
            rows.append(f"out{k} = f(*args{k})")
        return rows

    def reach(self, place: Place) -> str:
        """The expression for a place after `run`."""
        name = "out" if place.role == "output" else "args"
        return f"{name}{place.call}{place.path}"


def _function(name: str, rows: Body) -> Body:
    return [f"def {name}(f):", *(f"    {row}" for row in rows), "", ""]


def _probe(rows: Body, scene: _Scene, name: str = "run") -> Body:
    """A function of the function under test, called for both sides."""
    return [*_function(name, rows), f"expected = {name}(f)", f"actual = {name}({scene.compiled})"]


def _returning(scene: _Scene, place: Place) -> Body:
    """Both sides of a place that is an output or an input after the call."""
    if scene.is_plain and place.role == "output" and not scene.claim.wanting:
        return [f"expected = f(*inputs()){place.path}", f"actual = {scene.compiled}(*inputs()){place.path}"]
    rows = scene.run()
    return _probe([*rows, f"return {scene.reach(place)}"], scene)


def _gradient(scene: _Scene) -> Body:
    """Both sides of the gradient of an argument, for cotangents that are the same for both."""
    outputs = ", ".join(map(scene.reach, scene.claim.outputs))
    wanted = scene.reach(scene.claim.place)
    rows = [
        *scene.run(),
        f"out = [o for o in [{outputs}] if o.requires_grad]",
        "torch.manual_seed(0)",
        "cotangents = [torch.randn_like(o) for o in out]",
        f"return torch.autograd.grad(out, {wanted}, cotangents, allow_unused=True)[0]",
    ]
    return _probe(rows, scene, "grad")


def _sides(scene: _Scene) -> Body:
    return _gradient(scene) if scene.claim.place.role == "grad" else _returning(scene, scene.claim.place)


def _assertion(test: str, actual: str = "actual", expected: str = "expected") -> str:
    whole = f"assert {test}, ({actual}, {expected})"
    return whole if len(whole) <= WIDTH else f"assert {test}"


def _values(scene: _Scene) -> str:
    claim = scene.claim
    if claim.none:
        return _assertion("(actual is None) == (expected is None)")
    if claim.rtol is None:
        return _assertion("torch.equal(actual, expected)")
    bounds = f"rtol={claim.rtol!r}, atol={claim.atol or 0.0!r}"
    return _assertion(f"torch.allclose(actual, expected, {bounds}, equal_nan=True)")


def _attribute(read_of: str) -> Callable[[_Scene], str]:
    def compare(scene: _Scene) -> str:
        sides = (f"actual{read_of}", f"expected{read_of}")
        return _assertion(f"{sides[0]} == {sides[1]}", *sides)

    return compare


COMPARISONS: dict[str, Callable[[_Scene], str]] = {
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
"""How the two sides of one place are compared."""


def _compared(scene: _Scene) -> Body:
    return [*_sides(scene), COMPARISONS[scene.claim.aspect](scene)]


def _structure(scene: _Scene) -> Body:
    structure = "torch.utils._pytree.tree_structure"
    whole = scene.run()
    returned = f"return {structure}(({', '.join(f'out{k}' for k in range(scene.calls))},))"
    return [*_probe([*whole, returned], scene), _assertion("actual == expected")]


def _aliasing(scene: _Scene) -> Body:
    """Whether two places share storage, on either side."""
    assert scene.claim.other is not None
    first, second = (
        f"{scene.reach(p)}.untyped_storage().data_ptr()" for p in (scene.claim.place, scene.claim.other)
    )
    rows = [*scene.run(), f"return {first} == {second}"]
    return [*_probe(rows, scene, "shares"), _assertion("actual == expected")]


def _acceptance(scene: _Scene) -> Body:
    """Eager raises; so must the compiled call."""
    rows = ["try:", *(f"    {row}" for row in scene.run()), "except Exception:", "    return True"]
    return [*_probe([*rows, "return False"], scene, "raises"), _assertion("actual == expected")]


def _repetition(scene: _Scene) -> Body:
    """The same compiled function again and again; the oracle saw it disagree with itself."""
    return [
        *_function("run", [*scene.run(), f"return {scene.reach(scene.claim.place)}"]),
        f"compiled = {scene.compiled}",
        f"first, *others = [run(compiled) for _ in range({REPEATS})]",
        "assert all(torch.allclose(o, first, rtol=0, atol=0, equal_nan=True) for o in others)",
    ]


def _reference(scene: _Scene) -> Body:
    """Eager against eager in float64, where eager is the side that is wrong."""
    path = scene.claim.place.path
    return [
        "wide = [x.double() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs()]",
        f"expected = f(*wide){path}",
        f"actual = f(*inputs()){path}.double()",
        COMPARISONS[scene.claim.aspect](scene),
    ]


BY_KIND: dict[str, Callable[[_Scene], Body]] = {
    Kind.ACCEPTS_INVALID: _acceptance,
    Kind.NONDETERMINISTIC: _repetition,
    Kind.EAGER: _reference,
}
BY_ASPECT: dict[str, Callable[[_Scene], Body]] = {
    Aspect.STRUCTURE: _structure,
    Aspect.ALIASING: _aliasing,
}
"""Forms of their own, looked up in this order."""


def script(program: Program, claim: Claim) -> str:
    """The whole reproducer. NotNormal when the program's text is not in the form."""
    scene = _Scene(program, claim)
    ending = BY_KIND.get(claim.kind) or BY_ASPECT.get(claim.aspect) or _compared
    return "\n".join([program.source.rstrip(), "", "", *ending(scene)]) + "\n"
