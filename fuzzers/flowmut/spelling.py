"""Operator declarations read backwards: from a call that a model made to the node that it is.

Invariant: what is offered here is a guess by the name of the called, and costs nothing to be wrong; whoever
asks runs the node and compares (`fuzzers.flowmut.calls`). The reason: the declaration's own template says how
a call is spelled, so there is no second table of operators that could disagree with the first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fuzzers.flowmut.operators.declaration import Operator
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.operators.views import END
from fuzzers.flowmut.program import Attr

SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.USub: "neg",
    ast.Invert: "invert",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
"""Python's operators, by the names of their methods without underscores."""

SAME: dict[str, str] = {
    "negative": "neg",
    "absolute": "abs",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "truediv": "div",
    "true_divide": "div",
    "itruediv": "div_",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "pow": "pow",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "bitwise_not": "invert",
    "bitwise_left_shift": "lshift",
    "bitwise_right_shift": "rshift",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
    "iadd": "add_",
    "isub": "sub_",
    "imul": "mul_",
    "concat": "cat",
    "concatenate": "cat",
    "swapaxes": "transpose",
    "clip": "clamp",
    "T": "t",
}
"""Other spellings of one thing."""

POSITIONS: dict[str, tuple[str, ...]] = {
    "max_pool2d": ("0", "kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    "max_pool1d": ("0", "kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    "batch_norm": ("0", "1", "2", "3", "4", "training", "momentum", "eps"),
    "layer_norm": ("0", "shape", "1", "2", "eps"),
    "rms_norm": ("0", "shape", "1", "eps"),
    "group_norm": ("0", "groups", "1", "2", "eps"),
    "interpolate": ("0", "size", "scale"),
    "where": ("1", "0", "2"),
    "roll": ("0", "shifts", "dim"),
    "clamp": ("0", "min", "max"),
    "normalize": ("0", "p", "dim", "eps"),
    "var": ("0", "dim", "keepdim"),
    "std": ("0", "dim", "keepdim"),
}
"""Where a function's own order of parameters is not the declaration's."""

KEYWORDS: dict[str, str] = {
    "scale_factor": "scale",
    "normalized_shape": "shape",
    "num_groups": "groups",
    "axis": "dim",
    "other": "1",
    "mask": "1",
    "tensor2": "1",
    "layer_norm.weight": "1",
    "layer_norm.bias": "2",
    "group_norm.weight": "1",
    "group_norm.bias": "2",
    "rms_norm.weight": "1",
    "batch_norm.weight": "3",
    "batch_norm.bias": "4",
    "embedding.weight": "0",
}
"""A function's own name of a parameter, of all functions or of one -> the declaration's."""


@dataclass(frozen=True)
class Guess:
    """A node that a call may be: the operator, its tensor arguments, its attributes."""

    op: str
    args: tuple[Any, ...]
    attrs: tuple[tuple[str, Attr], ...] = ()


@dataclass(frozen=True)
class Spelling:
    """How an operator is written: what is called, which part of the result is meant, and its parameters in
    order (numbers are tensors, other names attributes)."""

    called: str
    field: str
    parameters: tuple[str, ...]


@cache
def spellings() -> Mapping[str, tuple[tuple[Operator, Spelling], ...]]:
    """By what is called, the operators that may be meant."""
    found: dict[str, list[tuple[Operator, Spelling]]] = {}
    for operator in OPERATORS.values():
        if (spelled := spelling(operator)) is not None:
            found.setdefault(spelled.called, []).append((operator, spelled))
    return {called: tuple(some) for called, some in found.items()}


def spelling(operator: Operator) -> Spelling | None:
    """How a declaration is written; None for one that indexes or picks."""
    text = re.sub(r"(?<=\()\{rest\}", "**_rest", operator.torch).replace("{rest}", ", **_rest")
    text = re.sub(r"\{(\w+)\}", r"_\1", text)
    node, field = ast.parse(text, mode="eval").body, ""
    if isinstance(node, ast.Attribute):
        field, node = node.attr, node.value
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return Spelling(SYMBOLS[type(op)], field, _named([left, right]))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return Spelling(SYMBOLS[type(op)], field, _named([left, right]))
        case ast.UnaryOp(op=op, operand=operand):
            return Spelling(SYMBOLS[type(op)], field, _named([operand]))
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args, keywords=keywords):
            first = [owner] if isinstance(owner, ast.Name) and owner.id.startswith("_") else []
            named = _named([*first, *args, *(k.value for k in keywords if k.arg)])
            rest = tuple(a for a in operator.attributes if a not in named)
            return Spelling(SAME.get(name, name), field, (*named, *rest))
        case _:
            return None


def _named(parts: Sequence[ast.expr]) -> tuple[str, ...]:
    names: list[str] = []
    for part in parts:
        match part:
            case ast.Name(id=name):
                names.append(name.removeprefix("_"))
            case ast.List(elts=[ast.Name(id=name)]):
                names.append(name.removeprefix("_"))
    return tuple(names)


def canonical(name: str) -> str:
    """A called function's name as spellings have it: without double underscores, reversed or not."""
    bare = name.removeprefix("__").removesuffix("__") if name.startswith("__") else name
    return SAME.get(bare, bare)


def guesses(
    name: str, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any, is_tensor: Callable[[Any], bool]
) -> Iterator[Guess]:
    """The nodes that a call may be, likeliest first."""
    called, orders = canonical(name), [list(args)]
    if name.startswith("__r") and len(args) == 2 and name != "__rshift__":
        called, orders = canonical(f"__{name[3:]}"), [list(args)[::-1], list(args)]
    for operator, spelled in spellings().get(called, ()):
        for given in orders:
            yield from _bound(operator, spelled, given, kwargs, is_tensor)
    if called == "sub" and len(args) == 2 and isinstance(args[1], int | float):
        yield Guess("add_scalar", (args[0],), (("value", -args[1]),))
    if (by_result := BY_RESULT.get(called)) is not None and args and is_tensor(result):
        yield by_result(args[0], result)


def _bound(
    operator: Operator,
    spelled: Spelling,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    is_tensor: Callable[[Any], bool],
) -> Iterator[Guess]:
    """The call's arguments under the declaration's names."""
    if operator.variadic:
        several = args[0] if args and isinstance(args[0], list | tuple) else ()
        dim = kwargs.get("dim", kwargs.get("axis", args[1] if len(args) > 1 else 0))
        if several and all(map(is_tensor, several)):
            yield Guess(operator.name, tuple(several), (("dim", dim),) if dim else ())
        return
    order = POSITIONS.get(spelled.called, spelled.parameters)
    named: dict[str, Any] = dict(zip(order, args, strict=False))
    if len(args) > len(order) and all(isinstance(a, int) for a in args[1:]):
        named = {order[0]: args[0], order[-1]: tuple(args[1:])}  # sizes that are not in a tuple
    for name, value in kwargs.items():
        named[KEYWORDS.get(f"{spelled.called}.{name}", KEYWORDS.get(name, name))] = value
    tensors = [named.get(str(k)) for k in range(operator.arity)]
    if not all(map(is_tensor, tensors)):
        return
    attrs = {a: plain(named[a], operator.attributes[a].plain) for a in operator.attributes if a in named}
    if all(known is not UNKNOWN for known in attrs.values()):
        yield Guess(operator.name, tuple(tensors), tuple(attrs.items()))


UNKNOWN = object()
"""What no attribute can hold."""


def plain(value: Any, examples: Sequence[Attr]) -> Any:
    """A value as an attribute holds it; a tuple of equal numbers is one number where that is what the
    declaration's own examples are. UNKNOWN when it cannot be one."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, list | tuple) and all(isinstance(v, int) for v in value):
        numbers = tuple(int(v) for v in value)
        singles = any(isinstance(e, int) for e in examples) and not any(
            isinstance(e, tuple) for e in examples
        )
        return numbers[0] if singles and len(set(numbers)) == 1 else numbers
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return str(value).removeprefix("torch.")
    return UNKNOWN


def _shape(given: Any, result: Any) -> Guess:
    return Guess("reshape", (given,), (("shape", tuple(result.shape)),))


def _cast(given: Any, result: Any) -> Guess:
    return Guess("to", (given,), (("dtype", str(result.dtype).removeprefix("torch.")),))


def _expansion(given: Any, result: Any) -> Guess:
    return Guess("expand", (given,), (("sizes", tuple(result.shape)),))


def _swap(given: Any, result: Any) -> Guess:
    return Guess("transpose", (given,), (("dim0", -2), ("dim1", -1)))


BY_RESULT: dict[str, Callable[[Any, Any], Guess]] = {
    **dict.fromkeys(("flatten", "view", "reshape", "unflatten", "squeeze", "view_as", "reshape_as"), _shape),
    **dict.fromkeys(("to", "type", "type_as", "float", "double", "half", "bfloat16"), _cast),
    **dict.fromkeys(("bool", "byte", "char", "short", "int", "long"), _cast),
    **dict.fromkeys(("expand", "expand_as", "broadcast_to"), _expansion),
    "mT": _swap,
}  # fmt: skip
"""What is plain from the result, however it was written."""


def parts(name: str, args: Sequence[Any], results: Sequence[Any]) -> Iterator[tuple[int, Guess]]:
    """(place, node) of each tensor in the result of a call that returns several."""
    match canonical(name):
        case "chunk" | "split" | "tensor_split":
            yield from _spans(args, results)
        case "unbind":
            dim = args[1] if len(args) > 1 else 0
            for k in range(len(results)):
                yield k, Guess("select", (args[0],), (("dim", dim), ("index", k)))


def _spans(args: Sequence[Any], results: Sequence[Any]) -> Iterator[tuple[int, Guess]]:
    whole = args[0]
    dim = next((d for d in range(whole.dim()) if results[0].shape[d] != whole.shape[d]), 0)
    start = 0
    for k, part in enumerate(results):
        length = int(part.shape[dim])
        yield k, Guess("narrow", (whole,), (("dim", dim), ("start", start), ("length", length)))
        start += length


Step = tuple[str, tuple[Any, ...], tuple[tuple[str, Attr], ...]]
"""An operator that is applied to what was there, its further arguments, its attributes."""


def indexing(index: Any, rank: int, is_tensor: Callable[[Any], bool]) -> list[Step] | None:
    """The steps that an index is, one after the other; None when it is something else."""
    if is_tensor(index):
        return [("lookup", (index,), ())]
    entries = list(index) if isinstance(index, tuple) else [index]
    gaps = [k for k, e in enumerate(entries) if e is Ellipsis]
    for at in gaps[:1]:
        taken = sum(e is not None and e is not Ellipsis for e in entries)
        entries[at : at + 1] = [slice(None)] * (rank - taken)
    steps: list[Step] = []
    dim = 0
    for entry in entries:
        if entry is None:
            steps.append(("unsqueeze", (), (("dim", dim),)))
            dim += 1
        elif isinstance(entry, slice):
            if entry != slice(None):
                stop = END if entry.stop is None else entry.stop
                steps.append(("slice", (), (("span", (dim, entry.start or 0, stop, entry.step or 1)),)))
            dim += 1
        elif isinstance(entry, int) and not isinstance(entry, bool):
            steps.append(("select", (), (("dim", dim), ("index", entry))))
        else:
            return None
    return steps
