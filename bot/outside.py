"""A reproducer with one operator taken out of the graph: it runs eagerly, between two graphs.

Invariant: pure; what is made computes in eager exactly what the script does, in the same order, and keeps
its last statement an assertion. So a script that is right once `narrow` is outside shows that capturing
`narrow` is what a failure needs, which no switch of the compiler can tell before there is a graph.
"""

from __future__ import annotations

import ast

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.Invert: "invert"}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip

NAME = "_outside"
"""Of the function that runs an operator outside the graph."""


def outside(script: str) -> dict[str, str]:
    """For each operator that a function of the script calls, the script with that operator outside the
    graph, in the order of their first use; empty for a script that does not parse."""
    try:
        tree = ast.parse(script)
    except SyntaxError:
        return {}
    found = dict.fromkeys(
        name
        for function in _functions(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.expr) and (name := _operator(node))
    )
    return {name: _without(script, name) for name in found}


def _without(script: str, name: str) -> str:
    tree = ast.parse(script)
    for function in _functions(tree):
        _Taking(name).visit(function)
    body = ast.unparse(ast.fix_missing_locations(tree))
    return f"import operator\nimport torch\n\n\n@torch._dynamo.disable\n{_HELPER}\n\n{body}\n"


_HELPER = f"def {NAME}(function, *args, **kwargs):\n    return function(*args, **kwargs)\n"


class _Taking(ast.NodeTransformer):
    """Sends the calls of one operator through the function that runs them outside."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit(self, node: ast.AST) -> ast.AST:
        taken = isinstance(node, ast.expr) and _operator(node) == self.name
        self.generic_visit(node)
        return _called(node) if taken and isinstance(node, ast.expr) else node


def _called(node: ast.expr) -> ast.expr:
    """The same expression as a call of the function outside."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            return _call(func, args, keywords)
        case ast.BinOp(left=left, op=op, right=right):
            return _call(_attribute(BINARY[type(op)]), [left, right])
        case ast.UnaryOp(op=op, operand=operand):
            return _call(_attribute(UNARY[type(op)]), [operand])
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _call(_attribute(COMPARE[type(op)]), [left, right])
        case ast.Subscript(value=value, slice=index):
            return _call(_attribute("getitem"), [value, index])
        case _:
            return node


def _call(function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword] | None = None) -> ast.expr:
    return ast.Call(ast.Name(NAME, ast.Load()), [function, *args], keywords or [])


def _attribute(name: str) -> ast.expr:
    return ast.Attribute(ast.Name("operator", ast.Load()), name, ast.Load())


def _operator(node: ast.expr) -> str:
    """The name of the operator that an expression applies; empty when it applies none."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name
        case ast.BinOp(op=op):
            return BINARY.get(type(op), "")
        case ast.UnaryOp(op=op):
            return UNARY.get(type(op), "")
        case ast.Compare(ops=[op]):
            return COMPARE.get(type(op), "")
        case ast.Subscript(slice=index, ctx=ast.Load()) if not any(
            isinstance(part, ast.Slice) for part in ast.walk(index)
        ):
            return "getitem"
        case _:
            return ""


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]
