"""Reading a program in the normal form: what is known of every value, and every operator met.

Invariant: nothing is run. Straight lines are followed exactly; of branches and loops each body is read once
and a name that is bound in more than one way is unknown afterwards; a call of a function of the program is
read with the arguments it gets. A text that is no program has an empty reading, never an exception.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fuzzers.alignguard import form
from fuzzers.alignguard.reading.call import Call
from fuzzers.alignguard.reading.expressions import BINARY, Expressions
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.values import UNKNOWN, Literal, Several, Tensor, Unknown, Value, made


@dataclass(frozen=True)
class Reading:
    """A program, read. `before[k]` is what is known of the names before statement k of f, the last entry
    what is known at its end; `returned` is what f returns, `given` what its parameters get."""

    source: str
    tree: ast.Module
    form: form.Form | None
    given: dict[str, Value]
    before: tuple[dict[str, Value], ...]
    returned: Value
    steps: tuple[Step, ...]

    def of(self, *places: str) -> Iterator[Step]:
        """The steps in these places; helpers count as f."""
        inside = (form.INPUTS, form.AGAIN, form.SETUP)
        for step in self.steps:
            if (step.place if step.place in inside else form.F) in places:
                yield step


class _Reader(Expressions):
    """One walk over one program."""

    def block(self, body: list[ast.stmt], env: dict[str, Value]) -> Value | None:
        """Read statements in order; what is returned, if anything is for sure."""
        found: Value | None = None
        for statement in body:
            returned = self.statement(statement, env)
            found = found if returned is None else returned
        return found

    def statement(self, node: ast.stmt, env: dict[str, Value]) -> Value | None:
        """Read one statement; what it returns."""
        handler = STATEMENTS.get(type(node))
        return handler(self, node, env) if handler else None

    def assign(self, node: ast.stmt, env: dict[str, Value]) -> None:
        """`a = b`, `a: T = b`."""
        assert isinstance(node, ast.Assign | ast.AnnAssign)
        if node.value is None:
            return
        value = self.value(node.value, env)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            self.bind(target, value, env)

    def bind(self, target: ast.expr, value: Value, env: dict[str, Value]) -> None:
        """Give a value to whatever stands left of `=`."""
        if isinstance(target, ast.Name):
            env[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items if isinstance(value, Several) else ()
            same = len(items) == len(target.elts)
            for k, element in enumerate(target.elts):
                self.bind(element, items[k] if same else Unknown(made(value)), env)
        elif isinstance(target, ast.Subscript):
            base = self.value(target, env)
            self.write(Call("copy", (base, value), {}, in_place=True), target, env)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, UNKNOWN, env)

    def augment(self, node: ast.stmt, env: dict[str, Value]) -> None:
        """`a += b` writes a tensor in place."""
        assert isinstance(node, ast.AugAssign)
        old, other = self.value(node.target, env), self.value(node.value, env)
        name = BINARY.get(type(node.op), "add")
        if isinstance(old, Tensor):
            self.write(Call(name, (old, other), {}, in_place=True), node, env)
        elif isinstance(node.target, ast.Name):
            env[node.target.id] = Unknown(made(old) | made(other))

    def loop(self, node: ast.stmt, env: dict[str, Value]) -> Value | None:
        """A body is read once; what it binds is unknown outside."""
        assert isinstance(node, ast.For | ast.While)
        if isinstance(node, ast.For):
            self.bind(node.target, self.element(self.value(node.iter, env)), env)
        else:
            self.value(node.test, env)
        inner = dict(env)
        self.loops += 1
        self.block(node.body, inner)
        self.loops -= 1
        self.merge(env, inner, env)
        self.block(node.orelse, env)
        return None

    def branch(self, node: ast.stmt, env: dict[str, Value]) -> Value | None:
        """Both ways are read."""
        assert isinstance(node, ast.If)
        self.value(node.test, env)
        one, two = dict(env), dict(env)
        returned = [self.block(node.body, one), self.block(node.orelse, two)]
        self.merge(env, one, two)
        found = [r for r in returned if r is not None]
        return Unknown(frozenset().union(*map(made, found))) if found else None

    def merge(self, env: dict[str, Value], one: dict[str, Value], two: dict[str, Value]) -> None:
        """What is the same either way stays known."""
        for name in (*one, *two):
            left, right = one.get(name, UNKNOWN), two.get(name, UNKNOWN)
            env[name] = left if left == right else Unknown(made(left) | made(right))

    def bodies(self, node: ast.stmt, env: dict[str, Value]) -> Value | None:
        """`with` and `try`: everything in it in order."""
        for item in getattr(node, "items", []):
            value = self.value(item.context_expr, env)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value, env)
        found: Value | None = None
        for part in ("body", "orelse", "finalbody"):
            returned = self.block(getattr(node, part, []), env)
            found = found if returned is None else returned
        for handler in getattr(node, "handlers", []):
            self.block(handler.body, dict(env))
        return found

    def nested(self, node: ast.stmt, env: dict[str, Value]) -> None:
        """A function within a function is read where it stands, with parameters unknown; what is called in it
        counts as made by it wherever it goes."""
        assert isinstance(node, ast.FunctionDef)
        inner = {**env, **{a.arg: Tensor() for a in node.args.args}}
        start = len(self.steps)
        returned = self.block(node.body, inner)
        env[node.name] = self.since(start, UNKNOWN if returned is None else returned)

    def returns(self, node: ast.stmt, env: dict[str, Value]) -> Value | None:
        """`return`."""
        assert isinstance(node, ast.Return)
        return Literal(None) if node.value is None else self.value(node.value, env)

    def expression(self, node: ast.stmt, env: dict[str, Value]) -> None:
        """An expression for its effect."""
        assert isinstance(node, ast.Expr | ast.Assert | ast.Delete | ast.Raise)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child, env)


STATEMENTS: dict[type[ast.stmt], Callable[[_Reader, ast.stmt, dict[str, Value]], Value | None]] = {
    ast.Assign: _Reader.assign,
    ast.AnnAssign: _Reader.assign,
    ast.AugAssign: _Reader.augment,
    ast.For: _Reader.loop,
    ast.While: _Reader.loop,
    ast.If: _Reader.branch,
    ast.With: _Reader.bodies,
    ast.Try: _Reader.bodies,
    ast.FunctionDef: _Reader.nested,
    ast.Return: _Reader.returns,
    ast.Expr: _Reader.expression,
    ast.Assert: _Reader.expression,
    ast.Delete: _Reader.expression,
    ast.Raise: _Reader.expression,
}


def read(source: str) -> Reading | None:
    """Read a program; None when the text is not one."""
    try:
        shape = form.read(source)
    except form.NotNormal:
        return None
    return read_form(shape)


def read_form(program: form.Form) -> Reading:
    """The same for a text that was checked before."""
    reader = _Reader(program.tree)
    for node in program.tree.body:
        _module_level(reader, node)
    entries = program.functions
    given = _arguments(reader, entries[form.INPUTS], program.parameters)
    for name in (form.AGAIN, form.SETUP):
        if name in entries:
            reader.place = name
            reader.block(entries[name].body, {})
    reader.place = form.F
    before, returned = _followed(reader, entries[form.F], dict(given))
    _unreached(reader, program.tree)
    steps = tuple(reader.steps)
    return Reading(program.source, program.tree, program, given, before, returned, steps)


def _module_level(reader: _Reader, node: ast.stmt) -> None:
    if isinstance(node, ast.Import):
        reader.imported.update({a.asname or a.name.split(".")[0]: _of_torch(a.name) for a in node.names})
    elif isinstance(node, ast.ImportFrom):
        reader.imported.update({a.asname or a.name: _of_torch(node.module or "") for a in node.names})
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        reader.place = ""
        reader.statement(node, reader.module)


def _of_torch(module: str) -> bool:
    return module.split(".")[0] == "torch"


def _arguments(reader: _Reader, inputs: ast.FunctionDef, parameters: tuple[str, ...]) -> dict[str, Value]:
    reader.place = form.INPUTS
    returned = reader.block(inputs.body, {})
    items: tuple[Value, ...] = ()
    if isinstance(returned, Several):
        items = returned.items
    elif isinstance(returned, Literal) and isinstance(returned.value, tuple):
        items = tuple(Literal(v) for v in returned.value)
    known = len(items) == len(parameters)
    return {p: items[k] if known else UNKNOWN for k, p in enumerate(parameters)}


def _followed(
    reader: _Reader, function: ast.FunctionDef, env: dict[str, Value]
) -> tuple[tuple[dict[str, Value], ...], Value]:
    before: list[dict[str, Value]] = []
    returned: Value | None = None
    for statement in function.body:
        before.append(dict(env))
        found = reader.statement(statement, env)
        returned = found if returned is None else returned
    return (*before, dict(env)), UNKNOWN if returned is None else returned


def _unreached(reader: _Reader, tree: ast.Module) -> None:
    """Methods, and functions that are called in a way that reading does not follow."""
    seen = {s.place for s in reader.steps}
    methods = [n for c in tree.body if isinstance(c, ast.ClassDef) for n in c.body]
    for node in [*reader.functions.values(), *methods]:
        if isinstance(node, ast.FunctionDef) and node.name not in {*seen, *form.ENTRIES}:
            reader.place = node.name
            parameters = [a.arg for a in node.args.args]
            reader.block(node.body, {p: UNKNOWN if p == "self" else Tensor() for p in parameters})
