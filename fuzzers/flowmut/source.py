"""Programs as source: the function and its inputs, and how the two are executed.

Invariant: what is shown is what runs. `build` executes the very text that `function_source` and
`inputs_source` return. The text reads as if written by hand: short names, one-use results inlined where
no write comes between, everything within the formatter's line length.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, count, islice
from typing import Any

from fuzzers.flowmut import values
from fuzzers.flowmut.layout import INDENT, fits, lay_out
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Input, Node, Program

_INLINE_WIDTH = 44
"""An inlined part longer than this is hard to read."""


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


Spell = Callable[[Node, Sequence[str]], str]
"""One node as an expression or a statement, given its arguments as source."""


def in_torch(node: Node, args: Sequence[str]) -> str:
    """As torch spells it."""
    operator = OPERATORS[node.op]
    return operator.render(args, operator.values(node))


def _body(program: Program, movable: set[str], spell: Spell) -> tuple[list[str], str | None]:
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
        source = spell(node, [text[a] for a in node.args])
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


def function_source(program: Program, spell: Spell = in_torch) -> str:
    """`def f(x, y): ...`, ending in a newline."""
    movable = _movable(program)
    lines, culprit = _body(program, movable, spell)
    while culprit:
        movable.discard(culprit)
        lines, culprit = _body(program, movable, spell)
    head = lay_out(f"def f({', '.join(input_names(program))}):")
    return "\n".join([*head, *(row for line in lines for row in lay_out(line, INDENT))]) + "\n"


def input_lines(program: Program, indent: str = "") -> list[str]:
    """Statements that make the inputs, the generator seeded first where values are drawn."""
    lines = [f"torch.manual_seed({program.seed})"] if is_random(program) else []
    for name, given in zip(input_names(program), program.inputs, strict=True):
        lines += _one_input(replace(given, name=name), indent)
    return [row for line in lines for row in lay_out(line, indent)]


def _one_input(given: Input, indent: str) -> list[str]:
    """One statement, or one for the storage and one for the views where one line will not hold them."""
    whole = values.input_source(given)
    if fits(whole, indent) or not (given.views or given.requires_grad):
        return [whole]
    fresh = values.input_source(replace(given, views=(), requires_grad=False))
    return [fresh, f"{given.name} = {given.name}{values.tail_source(given)}"]


def is_random(program: Program) -> bool:
    """Whether any input is drawn."""
    return any(values.FILLS[i.fill].random for i in program.inputs)


def inputs_source(program: Program) -> str:
    """`def inputs(): ...` returning a tuple of fresh inputs, the same at every call."""
    names = ", ".join(input_names(program))
    returned = f"return ({names},)" if len(program.inputs) == 1 else f"return {names or '()'}"
    rows = ["def inputs():", *input_lines(program, INDENT), *lay_out(returned, INDENT)]
    return "\n".join(rows) + "\n"


_serial = count()


def build(program: Program) -> tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]:
    """The function and the maker of its inputs, executed from their own source in a module of their own:
    programs that shared a code object would share the compiler's recompile limit."""
    head = "import torch\nimport torch.nn.functional as F"
    text = f"{head}\n\n\n{function_source(program)}\n\n{inputs_source(program)}"
    name = f"<flowmut {next(_serial)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "flowmut_program"}
    exec(compile(text, name, "exec"), scope)
    return scope["f"], scope["inputs"]
