"""Programs as MindSpore source: the function, its inputs, and the module that both run in.

Invariant: what is shown is what runs. Inputs are made by numpy, so that every MindSpore gets the same
values; an input's views are folded into its shape, because MindSpore's tensors have no strides to speak of.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.layout import INDENT, lay_out
from fuzzers.flowmut.on_mindspore.bindings import BINDINGS
from fuzzers.flowmut.operators.declaration import literal, operand
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Attr, Input, Node, Program
from fuzzers.flowmut.source import function_source as spelled
from fuzzers.flowmut.source import input_names, is_random
from fuzzers.flowmut.values import FILLS, state_of

HEAD = "import mindspore as ms\nimport numpy as np\nfrom mindspore import ops"

DTYPES = {"bool": "ms.bool_"}
"""MindSpore's name of a dtype where it is not `ms.` and the neutral one."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_LISTED = re.compile(r"torch\.tensor\((.*?)(?:, dtype=torch\.\w+)?\)")


def dtype_source(name: str) -> str:
    """`ms.float32`."""
    return DTYPES.get(name, f"ms.{name}")


def spell(node: Node, args: Sequence[str]) -> str:
    """A node as MindSpore has it. KeyError for an operator that it lacks."""
    operator, template = OPERATORS[node.op], BINDINGS[node.op]
    values = operator.values(node)

    def place(match: re.Match[str]) -> str:
        key = match.group(1)
        before, after = template[: match.start()].rstrip(), template[match.end() :]
        if key.isdigit():
            alone = before[-1:] in ("(", "[", ",") and after[:1] in (")", "]", ",")
            return args[int(key)] if alone else operand(args[int(key)], before, after)
        if key == "args":
            return ", ".join(args)
        return _written(node.op, key, values[key])

    return _PLACEHOLDER.sub(place, template)


def _written(op: str, name: str, value: Attr) -> str:
    if name == "dtype":
        return dtype_source(str(value))
    domain = OPERATORS[op].attributes[name]
    return domain.source(value) if domain.source and name in ("span",) else literal(value)


def function_source(program: Program) -> str:
    """`def f(x, y): ...`, ending in a newline."""
    return spelled(program, spell)


NUMPY: dict[str, Callable[[Input], str]] = {
    "randn": lambda given: f"np.random.randn({_sizes(given)})",
    "rand": lambda given: f"np.random.rand({_sizes(given)})",
    "positive": lambda given: f"np.random.rand({_sizes(given)}) + 0.5",
    "randint": lambda given: f"np.random.randint({given.low}, {given.high}, {given.shape})",
    "bool": lambda given: f"np.random.randint(0, 2, {given.shape})",
    "ones": lambda given: f"np.ones({given.shape})",
    "zeros": lambda given: f"np.zeros({given.shape})",
    "arange": lambda given: f"np.arange({state_of(given).numel}){_reshaped(given)}",
    "linspace": lambda given: f"np.linspace(-2, 2, {state_of(given).numel}){_reshaped(given)}",
    "full": lambda given: f"np.full({given.shape}, {_filling(given)})",
}
"""How numpy draws what a fill draws; the others list their values."""


def _sizes(given: Input) -> str:
    return ", ".join(map(str, given.shape))


def _reshaped(given: Input) -> str:
    return "" if len(given.shape) == 1 else f".reshape({given.shape})"


def _filling(given: Input) -> str:
    return literal(given.values[0] if given.values else given.low)


def plain(given: Input) -> Input:
    """The input without its views: fresh storage of the shape that the program sees."""
    if not given.views:
        return given
    shape = state_of(given).shape
    kept = given.fill if given.fill in NUMPY else "randn" if given.dtype in FLOATING else "ones"
    return replace(given, shape=shape, views=(), fill=kept, values=given.values[:1])


def input_source(given: Input) -> str:
    """`x = ms.Tensor(np.random.randn(3, 4), ms.float32)`."""
    dtype = dtype_source(given.dtype)
    if given.fill in NUMPY:
        return f"{given.name} = ms.Tensor({NUMPY[given.fill](given)}, {dtype})"
    listed = _LISTED.fullmatch(FILLS[given.fill].source(given))
    values = listed.group(1) if listed else f"np.zeros({given.shape})"
    return f"{given.name} = ms.Tensor({values}, {dtype})"


def input_lines(program: Program, indent: str = "") -> list[str]:
    """Statements that make the inputs."""
    lines = [f"np.random.seed({program.seed})"] if is_random(program) else []
    for name, given in zip(input_names(program), program.inputs, strict=True):
        lines.append(input_source(replace(given, name=name)))
    return [row for line in lines for row in lay_out(line, indent)]


def inputs_source(program: Program) -> str:
    """`def inputs(): ...` returning a tuple of fresh inputs, the same at every call."""
    names = ", ".join(input_names(program))
    returned = f"return ({names},)" if len(program.inputs) == 1 else f"return {names or '()'}"
    rows = ["def inputs():", *input_lines(program, INDENT), *lay_out(returned, INDENT)]
    return "\n".join(rows) + "\n"


_serial = count()


def build(program: Program) -> tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]:
    """The function and the maker of its inputs, from a file of their own: `ms.jit` reads a function's source
    there."""
    text = f"{HEAD}\n\n\n{function_source(program)}\n\n{inputs_source(program)}"
    name = f"flowmut_program_{next(_serial)}"
    path = Path(tempfile.gettempdir()) / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.f, module.inputs
