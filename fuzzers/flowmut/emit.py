"""Programs as source: the function, its inputs, and the script that shows a difference.

Invariant: what is shown is what runs. `build` executes the text that `function_source` and
`inputs_source` return, and `script` is that text with the two calls and the assertion. The text reads as
if written by hand: short names, one-use results inlined where no write comes between, nothing unused.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count, islice
from typing import Any

from fuzzers.flowmut import values
from fuzzers.flowmut.layout import INDENT, WIDTH, fits, lay_out
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Input, Node, Program
from fuzzers.records import Aspect, Kind

_INLINE_WIDTH = 44
"""An inlined part longer than this is hard to read."""


@dataclass(frozen=True)
class Claim:
    """What a script asserts not to be. `where` is `output`, `input` or `grad`, `index` counts among
    those; `rtol` None compares exactly. `pair` names the two tensors of an aliasing claim, such as
    `("output 0", "input 1")`. `none` marks a gradient that is None on one side."""

    kind: str
    aspect: str
    index: int = 0
    where: str = "output"
    rtol: float | None = None
    atol: float | None = None
    equal_nan: bool = True
    pair: tuple[str, str] = ("output 0", "input 0")
    none: bool = False

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {**asdict(self), "kind": str(self.kind), "aspect": str(self.aspect), "pair": list(self.pair)}


def claim_from_json(data: dict[str, Any]) -> Claim:
    """The claim from its JSON form; TypeError on an unknown key."""
    return Claim(**{**data, "pair": tuple(data.get("pair", ("output 0", "input 0")))})


def input_names(program: Program) -> list[str]:
    """Emitted names of the inputs, in order: x, y, z, ..."""
    return list(islice(chain("xyzwvu", (f"x{k}" for k in count(1))), len(program.inputs)))


def _node_names() -> chain[str]:
    return chain("abcdeghjkmnpqrst", (f"a{k}" for k in count(1)))


def _writes(node: Node) -> bool:
    return OPERATORS[node.op].writes is not None


def roots(program: Program) -> dict[str, str]:
    """For each name, the first name whose storage it may share."""
    root = {i.name: i.name for i in program.inputs}
    for node in program.nodes:
        operator = OPERATORS[node.op]
        aliases = operator.views or operator.may_view or operator.writes is not None
        root[node.name] = root[node.args[operator.writes or 0]] if aliases else node.name
    return root


def mutated_inputs(program: Program) -> list[int]:
    """Positions of the inputs that a node may write to."""
    root = roots(program)
    written = {root[n.args[OPERATORS[n.op].writes or 0]] for n in program.nodes if _writes(n)}
    return [k for k, i in enumerate(program.inputs) if i.name in written]


def _uses(program: Program) -> dict[str, int]:
    named = [*(a for n in program.nodes for a in n.args), *program.outputs]
    return {name: named.count(name) for name in program.names()}


def _movable(program: Program) -> set[str]:
    """Nodes that may be written inside their only user: no write comes between the two."""
    uses = _uses(program)
    last = len(program.nodes)
    writes = [k for k, n in enumerate(program.nodes) if _writes(n)]
    place: dict[str, int] = {}
    movable: set[str] = set()
    for k in range(last - 1, -1, -1):
        node = program.nodes[k]
        place[node.name] = k
        if uses[node.name] != 1 or _writes(node):
            continue
        user = next((n for n in program.nodes if node.name in n.args), None)
        target = place[user.name] if user else last
        between = [w for w in writes if k < w <= target]
        into_write = user is not None and between == [target] and uses[user.name] == 0
        if not between or (into_write and OPERATORS[node.op].views):
            movable.add(node.name)
            place[node.name] = target
    return movable


def _body(program: Program, movable: set[str]) -> tuple[list[str], str | None]:
    """Statements of the function, and the inlined name that makes one of them too long, if any does."""
    names = _node_names()
    text = dict(zip((i.name for i in program.inputs), input_names(program), strict=True))
    lines: list[str] = []

    def put(line: str, parts: Sequence[str]) -> str | None:
        lines.append(line)
        inlined = [p for p in parts if p in movable]
        return max(inlined, key=lambda p: len(text[p]), default=None) if not fits(line, INDENT) else None

    for node in program.nodes:
        operator = OPERATORS[node.op]
        source = operator.render([text[a] for a in node.args], operator.values(node))
        culprit = None
        if operator.writes is not None:
            text[node.name] = text[node.args[operator.writes]]
            culprit = put(source, node.args)
        elif node.name in movable and len(source) <= _INLINE_WIDTH:
            text[node.name] = source
        else:
            name = next(names)
            culprit = put(f"{name} = {source}", node.args)
            text[node.name] = name
        if culprit:
            return [], culprit
    if program.outputs:
        culprit = put(f"return {', '.join(text[o] for o in program.outputs)}", program.outputs)
        if culprit:
            return [], culprit
    return lines or ["pass"], None


def function_source(program: Program) -> str:
    """`def f(x, y): ...`, ending in a newline."""
    movable = _movable(program)
    lines, culprit = _body(program, movable)
    while culprit:
        movable.discard(culprit)
        lines, culprit = _body(program, movable)
    head = lay_out(f"def f({', '.join(input_names(program))}):")
    return "\n".join([*head, *(row for line in lines for row in lay_out(line, INDENT))]) + "\n"


source = function_source


def _input_lines(program: Program, indent: str = "") -> list[str]:
    lines = [f"torch.manual_seed({program.seed})"] if _random(program) else []
    for name, given in zip(input_names(program), program.inputs, strict=True):
        lines += _one_input(name, given, indent)
    return [row for line in lines for row in lay_out(line, indent)]


def _one_input(name: str, given: Input, indent: str) -> list[str]:
    """One statement, or one for the storage and one for the views where one line will not hold them."""
    fresh = Input(name, given.shape, given.dtype, given.fill, given.low, given.high, given.values)
    whole = values.input_source(
        Input(*_drawn(fresh), views=given.views, requires_grad=given.requires_grad)
    )
    if fits(whole, indent) or not (given.views or given.requires_grad):
        return [whole]
    tail = values.tail_source(given)
    return [values.input_source(fresh), f"{name} = {name}{tail}"]


def _drawn(given: Input) -> tuple[Any, ...]:
    return (given.name, given.shape, given.dtype, given.fill, given.low, given.high, given.values)


def _random(program: Program) -> bool:
    return any(values.FILLS[i.fill].random for i in program.inputs)


def inputs_source(program: Program) -> str:
    """`def inputs(): ...` returning a tuple of fresh inputs, the same at every call."""
    names = ", ".join(input_names(program))
    returned = f"return ({names},)" if len(program.inputs) == 1 else f"return {names or '()'}"
    rows = ["def inputs():", *_input_lines(program, INDENT), *lay_out(returned, INDENT)]
    return "\n".join(rows) + "\n"


_serial = count()


def build(program: Program) -> tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]:
    """The function and the maker of its inputs, executed from their own source in a module of their own:
    programs that shared a code object would share the compiler's recompile limit."""
    text = f"import torch\nimport torch.nn.functional as F\n\n\n{function_source(program)}\n\n{inputs_source(program)}"
    name = f"<flowmut {next(_serial)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "flowmut_program"}
    exec(compile(text, name, "exec"), scope)
    return scope["f"], scope["inputs"]


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
        """Whether `clone` would lose what an input is: its strides or its gradient."""
        return any(self.program.inputs[k].views or self.program.inputs[k].requires_grad for k in self.mutated)

    @property
    def args(self) -> str:
        """The arguments of one call, those that it mutates copied."""
        if self.rebuild:
            return "*inputs()"
        return ", ".join(f"{n}.clone()" if k in self.mutated else n for k, n in enumerate(self.names))

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
        return _input_lines(self.program)


def _assertion(test: str, actual: str, expected: str) -> list[str]:
    """The last statement; a message that makes it too long is shortened, then left out."""
    messages = (f", ({actual}, {expected})", f", {actual}", "")
    return [f"assert {test}{next(m for m in messages if fits(f'assert {test}{m}') or not m)}"]


def _same(claim: Claim, actual: str, expected: str) -> str:
    if claim.rtol is None:
        return f"torch.equal({actual}, {expected})"
    nan = ", equal_nan=True" if claim.equal_nan else ""
    return f"torch.allclose({actual}, {expected}, rtol={claim.rtol!r}, atol={claim.atol or 0.0!r}{nan})"


def _two_calls(scene: _Scene) -> list[str]:
    return [
        *scene.setting(),
        f"expected = {scene.pick(f'f({scene.args})')}",
        f"actual = {scene.pick(f'{scene.compiled}({scene.args})')}",
    ]


def _by_value(scene: _Scene) -> list[str]:
    return [*_two_calls(scene), *_assertion(_same(scene.claim, "actual", "expected"), "actual", "expected")]


def _by_attribute(attribute: str) -> Callable[[_Scene], list[str]]:
    def ending(scene: _Scene) -> list[str]:
        sides = (f"actual{attribute}", f"expected{attribute}")
        return [*_two_calls(scene), *_assertion(f"{sides[0]} == {sides[1]}", *sides)]

    return ending


def _by_structure(scene: _Scene) -> list[str]:
    calls = [f"expected = f({scene.args})", f"actual = {scene.compiled}({scene.args})"]
    sides = ("type(actual)", "type(expected)")
    if len(scene.program.outputs) > 1:
        sides = ("len(actual)", "len(expected)")
    return [*scene.setting(), *calls, *_assertion(f"{sides[0]} == {sides[1]}", *sides)]


def _by_mutation(scene: _Scene) -> list[str]:
    if scene.rebuild:
        sides = (f"actual[{scene.claim.index}]", f"expected[{scene.claim.index}]")
        rows = ["expected, actual = inputs(), inputs()", "f(*expected)", f"{scene.compiled}(*actual)"]
        return [*scene.setting(), *rows, *_assertion(_same(scene.claim, *sides), *sides)]

    def call(function: str, name: str) -> list[str]:
        args = [f"{n}.clone()" if k in scene.mutated else n for k, n in enumerate(scene.names)]
        args[scene.claim.index] = name
        return [f"{name} = {scene.names[scene.claim.index]}.clone()", f"{function}({', '.join(args)})"]

    return [
        *scene.setting(),
        *call("f", "expected"),
        *call(scene.compiled, "actual"),
        *_assertion(_same(scene.claim, "actual", "expected"), "actual", "expected"),
    ]


def _probe(scene: _Scene, name: str, rows: Sequence[str], finish: list[str]) -> list[str]:
    """A function of the function under test that makes its own inputs, called for both sides."""
    head = [f"def {name}(f):", *_input_lines(scene.program, INDENT), *(INDENT + row for row in rows), "", ""]
    return [*head, f"expected = {name}(f)", f"actual = {name}({scene.compiled})", *finish]


def _by_gradient(scene: _Scene) -> list[str]:
    leaves = [n for n, i in zip(scene.names, scene.program.inputs, strict=True) if i.requires_grad]
    many = len(scene.program.outputs) > 1
    rows = [f"out = f({scene.plain_args})", "cotangent = torch.randn_like(out)"]
    if many:
        rows = [
            f"out = [o for o in f({scene.plain_args}) if o.requires_grad]",
            "cotangent = [torch.randn_like(o) for o in out]",
        ]
    if not _random(scene.program):
        rows.insert(1, f"torch.manual_seed({scene.program.seed})")
    unused = ", allow_unused=True" if len(leaves) > 1 or scene.claim.none else ""
    wanted = leaves[0] if len(leaves) == 1 else f"({', '.join(leaves)})"
    rows.append(f"return torch.autograd.grad(out, {wanted}, cotangent{unused})[{scene.claim.index}]")
    sides = ("actual", "expected")
    test = "(actual is None) == (expected is None)" if scene.claim.none else _same(scene.claim, *sides)
    return _probe(scene, "grad", rows, _assertion(test, *sides))


def _by_storage(scene: _Scene) -> list[str]:
    def pointer(which: str) -> str:
        side, number = which.split()
        many = len(scene.program.outputs) > 1
        name = scene.names[int(number)] if side == "input" else f"out[{number}]" if many else "out"
        return f"{name}.untyped_storage().data_ptr()"

    first, second = map(pointer, scene.claim.pair)
    rows = [f"out = f({scene.plain_args})", f"return {first} == {second}"]
    return _probe(scene, "shares", rows, _assertion("actual == expected", "actual", "expected"))


def _by_rejection(scene: _Scene) -> list[str]:
    rows = ["try:", f"{INDENT}f({scene.plain_args})", "except Exception:", f"{INDENT}return True", "return False"]
    return _probe(scene, "raises", rows, _assertion("actual == expected", "actual", "expected"))


def _by_repetition(scene: _Scene) -> list[str]:
    """The same compiled call again and again; the oracle found that it does not agree with itself."""
    call = scene.pick(f"compiled({scene.args})")
    return [
        *scene.setting(),
        f"compiled = {scene.compiled}",
        f"first, *others = [{call} for _ in range(20)]",
        "assert all(torch.equal(other, first) for other in others), (first, others)",
    ]


def _by_reference(scene: _Scene) -> list[str]:
    """Eager against float64, where eager is the side that is wrong."""
    doubled = ", ".join(
        f"{n}.double()" if i.dtype in values.FLOATING else f"{n}.clone()" if k in scene.mutated else n
        for k, (n, i) in enumerate(zip(scene.names, scene.program.inputs, strict=True))
    )
    return [
        *_input_lines(scene.program),
        f"expected = {scene.pick(f'f({doubled})')}",
        f"actual = {scene.pick(f'f({scene.args})')}.double()",
        *_assertion(_same(scene.claim, "actual", "expected"), "actual", "expected"),
    ]


def _by_outcome(scene: _Scene) -> list[str]:
    """The compiled call does not return on a bad build; a good one passes the comparison."""
    if scene.claim.where == "grad":
        return _by_gradient(scene)
    if not scene.program.outputs:
        return _by_mutation(scene)
    return _by_value(scene)


BY_KIND: dict[str, Callable[[_Scene], list[str]]] = {
    Kind.ACCEPTS_INVALID: _by_rejection,
    Kind.NONDETERMINISTIC: _by_repetition,
    Kind.EAGER: _by_reference,
}

BY_ASPECT: dict[str, Callable[[_Scene], list[str]]] = {
    Aspect.OUTCOME: _by_outcome,
    Aspect.STRUCTURE: _by_structure,
    Aspect.DTYPE: _by_attribute(".dtype"),
    Aspect.SHAPE: _by_attribute(".shape"),
    Aspect.DEVICE: _by_attribute(".device"),
    Aspect.REQUIRES_GRAD: _by_attribute(".requires_grad"),
    Aspect.STRIDE: _by_attribute(".stride()"),
    Aspect.VALUES: _by_value,
    Aspect.NONFINITE: _by_value,
    Aspect.INDICES: _by_value,
    Aspect.MUTATION: _by_mutation,
    Aspect.ALIASING: _by_storage,
    Aspect.GRADIENT: _by_gradient,
}


def script(program: Program, claim: Claim) -> str:
    """The whole reproducer: imports, function, inputs, the two calls, the assertion."""
    scene = _Scene(program, claim, input_names(program), mutated_inputs(program))
    ending = BY_KIND.get(claim.kind) or BY_ASPECT[claim.aspect]
    function = function_source(program)
    imports = ["import torch", *(["import torch.nn.functional as F"] if "F." in function else [])]
    rows = [row for line in ending(scene) for row in (lay_out(line) if len(line) > WIDTH else [line])]
    return "\n".join([*imports, "", "", *function.splitlines(), "", "", *rows]) + "\n"
