"""Reading expressions: what is known of each, and the operators in it.

Invariant: every subexpression is read once, whatever is known of it.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from fuzzers.alignguard.reading import indexing, names
from fuzzers.alignguard.reading.call import Call, plain
from fuzzers.alignguard.reading.notes import Notes
from fuzzers.alignguard.reading.operators import is_dtype
from fuzzers.alignguard.reading.values import (
    ALIASES,
    UNKNOWN,
    DType,
    Literal,
    Several,
    Tensor,
    Unknown,
    Value,
    made,
)

Names = dict[str, Value]

PAIR = ("values", "indices")
"""What torch calls the two results of an operator along a dimension."""

DEEPEST = 4
"""Functions of the program that are read within one another."""

BINARY: dict[type[ast.operator], str] = {
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
}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.Invert: "bitwise_not", ast.UAdd: "positive"}


class Expressions(Notes, ABC):
    """Reads expressions of one program. `imported`: names of modules, and whether they are torch's."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__()
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.depth = 0
        self.module: Names = {}
        self.imported: dict[str, bool] = {}

    @abstractmethod
    def block(self, body: list[ast.stmt], env: Names) -> Value | None:
        """Read statements in order; what is returned, if anything is for sure."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Value, env: Names) -> None:
        """Give a value to whatever stands left of `=`."""

    def element(self, value: Value) -> Value:
        """What a loop over a value gives, when all its elements are alike."""
        if isinstance(value, Several) and value.items and all(i == value.items[0] for i in value.items):
            return value.items[0]
        if isinstance(value, Tensor) and value.shape:
            return replace(value, shape=value.shape[1:], views=(*value.views, "select"), plain=False)
        return Unknown(made(value))

    def value(self, node: ast.expr, env: Names) -> Value:
        """What is known of an expression."""
        handler = EXPRESSIONS.get(type(node))
        if handler is not None:
            return handler(self, node, env)
        parts = [self.value(c, env) for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
        return Unknown(frozenset().union(*map(made, parts)))

    def closed(self, node: ast.expr, env: Names) -> Value:
        """A lambda or a comprehension: its own names, then its body."""
        start, inner = len(self.steps), dict(env)
        if isinstance(node, ast.Lambda):
            inner.update({a.arg: Tensor() for a in node.args.args})
            return self.since(start, self.value(node.body, inner))
        for part in getattr(node, "generators", []):
            over = self.value(part.iter, inner)
            self.bind(part.target, self.element(over), inner)
        bodies = [getattr(node, k) for k in ("elt", "key", "value") if hasattr(node, k)]
        return Unknown(frozenset().union(*(made(self.value(b, inner)) for b in bodies)))

    def name(self, node: ast.expr, env: Names) -> Value:
        """A variable."""
        assert isinstance(node, ast.Name)
        return env.get(node.id, self.module.get(node.id, UNKNOWN))

    def constant(self, node: ast.expr, env: Names) -> Value:
        """A literal."""
        assert isinstance(node, ast.Constant)
        return Literal(node.value)

    def sequence(self, node: ast.expr, env: Names) -> Value:
        """A tuple or list."""
        assert isinstance(node, ast.Tuple | ast.List)
        if any(isinstance(e, ast.Starred) for e in node.elts):
            for e in node.elts:
                self.value(e, env)
            return UNKNOWN
        items = tuple(self.value(e, env) for e in node.elts)
        values = tuple(i.value for i in items if isinstance(i, Literal))
        return Literal(values) if len(values) == len(items) else Several(items)

    def attribute(self, node: ast.expr, env: Names) -> Value:
        """`x.shape`, `x.T`, `torch.float32`."""
        assert isinstance(node, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == "torch" and "torch" not in env:
            name = ALIASES.get(node.attr, node.attr)
            return Literal(DType(name)) if is_dtype(node.attr) else UNKNOWN
        base = self.value(node.value, env)
        if isinstance(base, Several) and node.attr in PAIR and len(base.items) == len(PAIR):
            return base.items[PAIR.index(node.attr)]
        if not isinstance(base, Tensor):
            return Unknown(made(base))
        if node.attr == "shape":
            return Literal(base.shape) if base.shape is not None else UNKNOWN
        if node.attr == "dtype":
            return Literal(DType(base.dtype)) if base.dtype else UNKNOWN
        if node.attr in ("ndim", "grad", "device", "is_cuda", "requires_grad"):
            return Literal(base.rank) if node.attr == "ndim" and base.rank is not None else UNKNOWN
        name = "detach" if node.attr == "data" else node.attr
        return self.apply(Call(name, (base,), {}, method=True), node, env)

    def operation(self, node: ast.expr, env: Names) -> Value:
        """`a + b`, `-a`, `a < b`."""
        if isinstance(node, ast.UnaryOp):
            operand = self.value(node.operand, env)
            known = plain(operand)
            if isinstance(node.op, ast.USub) and isinstance(known, int | float):
                return Literal(-known)
            name = UNARY.get(type(node.op), "not")
            return (
                self.apply(Call(name, (operand,), {}), node, env) if isinstance(operand, Tensor) else UNKNOWN
            )
        if isinstance(node, ast.BinOp):
            name = BINARY[type(node.op)]
            pair = (self.value(node.left, env), self.value(node.right, env))
        else:
            assert isinstance(node, ast.Compare)
            name = COMPARE.get(type(node.ops[0]), "in")
            pair = (self.value(node.left, env), self.value(node.comparators[0], env))
        if not any(isinstance(v, Tensor) for v in pair):
            return _python(node, pair)
        return self.apply(Call(name, pair, {}), node, env)

    def subscript(self, node: ast.expr, env: Names) -> Value:
        """`x[...]` of a tensor, a tuple or a shape."""
        assert isinstance(node, ast.Subscript)
        base = self.value(node.value, env)
        parts = indexing.parts(node.slice, lambda e: self.value(e, env))
        if isinstance(base, Tensor):
            return self.apply(indexing.call(base, parts), node, env)
        index = plain(parts[0]) if len(parts) == 1 else ...
        items: tuple[Value, ...] = base.items if isinstance(base, Several) else ()
        if isinstance(base, Literal) and isinstance(base.value, tuple):
            items = tuple(Literal(v) for v in base.value)
        if isinstance(index, int) and -len(items) <= index < len(items):
            return items[index]
        return UNKNOWN

    def call(self, node: ast.expr, env: Names) -> Value:
        """A call of an operator, a method, or a function of the program."""
        assert isinstance(node, ast.Call)
        args = [self.value(a.value if isinstance(a, ast.Starred) else a, env) for a in node.args]
        named = {k.arg or "**": self.value(k.value, env) for k in node.keywords}
        starred = any(isinstance(a, ast.Starred) for a in node.args) or "**" in named
        if isinstance(node.func, ast.Name):
            name = node.func.id
            if name in self.functions and not starred:
                return self.helper(self.functions[name], args, named)
            if name in names.NOT_TENSORS or (self.imported.get(name) and name not in env):
                return self.apply(Call(name, tuple(args), named), node, env)
            return self.opaque(self.name(node.func, env), args, named)
        if not isinstance(node.func, ast.Attribute):
            return self.opaque(self.value(node.func, env), args, named)
        written = node.func.attr
        in_place = written.endswith("_") and not written.endswith("__") and written != "requires_grad_"
        name = written.removesuffix("_") if in_place or written == "requires_grad_" else written
        torch = self.imported.get(_root(node.func.value, env))
        if torch is False:
            return self.opaque(UNKNOWN, args, named)
        if torch:
            parent = ast.unparse(node.func.value).rpartition(".")[2]
            name = f"{parent}.{name}" if parent in names.ELSEWHERE else name
            given = (UNKNOWN, *args) if starred else tuple(args)
            return self.apply(Call(name, given, named, in_place=in_place), node, env)
        base = self.value(node.func.value, env)
        found = self.apply(Call(name, (base, *args), named, method=True, in_place=in_place), node, env)
        reshaped = in_place and name in names.RESHAPING
        if isinstance(node.func.value, ast.Name) and (reshaped or isinstance(base, Unknown)):
            env[node.func.value.id] = Unknown(made(found))
        return found if isinstance(base, Tensor) else Unknown(made(found))

    def opaque(self, called: Value, args: list[Value], named: Names) -> Value:
        """A call of something that reading does not follow."""
        return Unknown(made(called).union(*(made(v) for v in (*args, *named.values()))))

    def helper(self, function: ast.FunctionDef, args: list[Value], named: Names) -> Value:
        """A function of the program, read with what it is given."""
        if self.depth >= DEEPEST:
            return UNKNOWN
        env: Names = {a.arg: UNKNOWN for a in (*function.args.args, *function.args.kwonlyargs)}
        env.update(zip((a.arg for a in function.args.args), args, strict=False))
        env.update({k: v for k, v in named.items() if k in env})
        place, self.place = self.place, function.name
        self.depth += 1
        found = self.block(function.body, env)
        self.depth -= 1
        self.place = place
        return UNKNOWN if found is None else found


def _python(node: ast.expr, pair: tuple[Value, Value]) -> Value:
    """Arithmetic on Python numbers."""
    left, right = plain(pair[0]), plain(pair[1])
    if not isinstance(node, ast.BinOp) or not all(isinstance(v, int | float) for v in (left, right)):
        return UNKNOWN
    work = ARITHMETIC.get(type(node.op))
    assert isinstance(left, int | float) and isinstance(right, int | float)
    return Literal(work(left, right)) if work and abs(left) < 2**32 and abs(right) < 2**32 else UNKNOWN


ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b if b else 0,
}
"""Python's own; float stands for int too."""

EXPRESSIONS: dict[type[ast.expr], Callable[[Expressions, ast.expr, Names], Value]] = {
    ast.Name: Expressions.name,
    ast.Constant: Expressions.constant,
    ast.Tuple: Expressions.sequence,
    ast.List: Expressions.sequence,
    ast.Attribute: Expressions.attribute,
    ast.BinOp: Expressions.operation,
    ast.UnaryOp: Expressions.operation,
    ast.Compare: Expressions.operation,
    ast.Subscript: Expressions.subscript,
    ast.Call: Expressions.call,
    ast.Lambda: Expressions.closed,
    ast.ListComp: Expressions.closed,
    ast.GeneratorExp: Expressions.closed,
    ast.SetComp: Expressions.closed,
    ast.DictComp: Expressions.closed,
}


def _root(node: ast.expr, env: Names) -> str:
    """The first name of a dotted path, empty when it is no path or the name is a variable."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) and node.id not in env else ""
