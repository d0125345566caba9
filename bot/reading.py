"""What a reproducer script says about itself: its operators, dtypes and a one-line sketch of the program.

Invariant: reads the syntax tree only, runs nothing, and never fails on a script that parses; a script that
does not parse has no operators. Used where an engine gave no program, and for titles, so that a finding
reads the same whichever engine found it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bot.fingerprint import DTYPE_CLASSES

DTYPES = frozenset(DTYPE_CLASSES)

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "bitwise_left_shift",
    ast.RShift: "bitwise_right_shift",
    ast.USub: "neg",
    ast.Invert: "bitwise_not",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
"""Python's operators under the names that torch gives them."""

LONGEST_SKETCH = 60


def parsed(script: str) -> ast.Module:
    """The script's tree; an empty one when it does not parse."""
    try:
        return ast.parse(script)
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions of a script, those inside classes (`forward`) included."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name != "__init__"]


def called(call: ast.Call) -> str:
    """The name of what is called: the last part of a dotted name, without the underscore of an
    in-place variant; empty for a call of something computed."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name.rstrip("_")
        case _:
            return ""


def applied(node: ast.AST) -> str:
    """The operator that a node applies, or an empty string."""
    match node:
        case ast.Call():
            return called(node)
        case ast.UnaryOp(operand=ast.Constant()):
            return ""  # a negative number is no operator
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.AugAssign(op=op):
            return OPERATORS.get(type(op), "")
        case ast.Compare(ops=[op]):
            return OPERATORS.get(type(op), "")
        case ast.Subscript(slice=index) if not isinstance(index, ast.Constant):
            return "getitem"
        case _:
            return ""


def operators(script: str) -> tuple[str, ...]:
    """Sorted names of the operators that the script's functions apply."""
    names = {applied(node) for function in functions(parsed(script)) for node in ast.walk(function)}
    return tuple(sorted(names - {""} - {f.name for f in functions(parsed(script))}))


def dtypes(script: str) -> tuple[str, ...]:
    """Sorted names of the dtypes that the script mentions; float32 when it mentions none."""
    named = {
        n.attr
        for n in ast.walk(parsed(script))
        if isinstance(n, ast.Attribute)
        and n.attr in DTYPES
        and isinstance(n.value, ast.Name)
        and n.value.id == "torch"
    }
    return tuple(sorted(named)) or ("float32",)


def _statements(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.Return(value=ast.expr() as value):
                yield "return", value


def sketch(script: str) -> str:
    """The returned expression as nested operator names over dtypes, such as `cat(neg(abs(uint8)))`;
    the plain list of operators when that would be long, or when there is not exactly one function."""
    tree = parsed(script)
    found = functions(tree)
    plain = ", ".join(operators(script))
    if len(found) != 1:
        return plain
    leaf = "/".join(dtypes(script))
    shown: dict[str, str] = {argument.arg: leaf for argument in found[0].args.args}
    for name, value in _statements(found[0]):
        shown[name] = _nested(value, shown, leaf)
    nested = shown.get("return", "")
    return nested if 0 < len(nested) <= LONGEST_SKETCH and "(" in nested else plain


def _nested(node: ast.expr, shown: dict[str, str], leaf: str) -> str:
    match node:
        case ast.Name(id=name):
            return shown.get(name, "")
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return _joined(parts, shown, leaf)
        case ast.Call(func=ast.Attribute(value=owner), args=arguments):
            inner = _joined([owner, *arguments], shown, leaf)
        case ast.Call(args=arguments):
            inner = _joined(arguments, shown, leaf)
        case ast.BinOp(left=left, right=right):
            inner = _joined([left, right], shown, leaf)
        case ast.Compare(left=left, comparators=[right]):
            inner = _joined([left, right], shown, leaf)
        case ast.UnaryOp(operand=operand) if not isinstance(operand, ast.Constant):
            inner = _joined([operand], shown, leaf)
        case ast.Subscript(value=owner):
            inner = _joined([owner], shown, leaf)
        case _:
            return ""
    name = applied(node)
    return f"{name}({inner})" if name else inner


def _joined(parts: list[ast.expr], shown: dict[str, str], leaf: str) -> str:
    """Arguments without empty ones; one that is already there or is a bare leaf beside others says
    nothing new and is left out."""
    texts = [t for t in dict.fromkeys(_nested(part, shown, leaf) for part in parts) if t]
    if any(t != leaf for t in texts):
        texts = [t for t in texts if t != leaf]
    return ", ".join(texts)
