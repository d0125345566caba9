"""Seeds from test files: functions that a test compiles, cut out with what they need.

Invariant: nothing is executed here; a text comes out in the normal form or with a reason why not. A test is a
list of statements: what it compiles and what it calls that with are found in them, and then everything that
those names need, from the test itself or from its module. A reproducer script is such a list too.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzzers.alignguard.form import ENTRIES, IMPORTS, LONGEST, NotNormal, read

LARGEST_FILE = 4 << 20
"""Bytes; the framework's own largest test file has a quarter of it."""

MOST_FILES = 2000

COMPARERS = frozenset({"common", "check_model", "_check", "_test_common", "run_test", "check"})
"""Methods of test classes that compile and compare: (function, arguments)."""

COMPILERS = frozenset({"compile", "optimize", "optimize_assert"})

CPU_NAMES = frozenset({"device", "GPU_TYPE", "DEVICE", "device_type"})
"""What test files call the device that they run on."""

PARTS = ast.FunctionDef | ast.ClassDef


class NotExtracted(ValueError):
    """A test that gives no seed; the message is the reason."""


@dataclass(frozen=True)
class Harvest:
    """Seeds as a campaign takes them ({"source", "origin"}), and how many tests gave none, by reason."""

    seeds: tuple[dict[str, str], ...]
    refused: dict[str, int]


def harvest(paths: Iterable[Path]) -> Harvest:
    """Everything that files, and the Python files of folders, give."""
    seeds: dict[str, dict[str, str]] = {}
    refused: Counter[str] = Counter()
    for path in _files(paths):
        try:
            module = ast.parse(path.read_bytes().decode("utf-8"))
        except (OSError, SyntaxError, ValueError, RecursionError) as error:
            refused[f"a file that cannot be read: {type(error).__name__}"] += 1
            continue
        for name, body in tests(module):
            try:
                source = extracted(body, module.body)
            except NotExtracted as reason:
                refused[str(reason)] += 1
                continue
            seeds.setdefault(source, {"source": source, "origin": f"{path.name}:{name}"})
    return Harvest(tuple(seeds.values()), dict(refused))


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    found = [p for path in paths for p in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    yield from (p for p in found[:MOST_FILES] if p.is_file() and p.stat().st_size <= LARGEST_FILE)


def tests(module: ast.Module) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Name and statements of each test of a file; the file's own when it has none."""
    found = [
        (node.name, node.body)
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]
    yield from found or [("script", module.body)]


@dataclass(frozen=True)
class Subject:
    """What is compiled, and the arguments of its first call."""

    function: ast.expr
    arguments: Sequence[ast.expr]


def extracted(body: Sequence[ast.stmt], module: Sequence[ast.stmt]) -> str:
    """The seed of one test, or NotExtracted."""
    body = list(_unrolled(body))
    subject = _subject(body)
    local, around = _Bindings.of(body), _Bindings.of(module)
    parts = _Parts(local, around)
    name = parts.function(subject.function)
    arguments = [_on_cpu(a) for a in subject.arguments]
    made, values = parts.arguments(arguments)
    return _text(parts, name, made, values)


def _unrolled(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements with those of blocks among them: a loop over a written list runs for its first value."""
    for statement in body:
        if isinstance(statement, ast.For):
            if isinstance(statement.iter, ast.List | ast.Tuple) and statement.iter.elts:
                first = ast.Assign([statement.target], statement.iter.elts[0])
                yield ast.copy_location(first, statement)
            yield from _unrolled(statement.body)
        elif isinstance(statement, ast.With | ast.If | ast.Try):
            yield from _unrolled(statement.body)
        else:
            yield statement


def _subject(body: Sequence[ast.stmt]) -> Subject:
    """The first thing that a test compiles and calls, or has compared."""
    compiled: dict[str, ast.expr] = {
        s.name: ast.Name(s.name, ast.Load())
        for s in body
        if isinstance(s, ast.FunctionDef) and any("compile" in ast.unparse(d) for d in s.decorator_list)
    }
    tuples = {
        s.targets[0].id: s.value.elts
        for s in body
        if isinstance(s, ast.Assign)
        and isinstance(s.targets[0], ast.Name)
        and isinstance(s.value, ast.Tuple | ast.List)
    }
    for call in (n for s in body for n in _inside(s)):
        if isinstance(call, ast.Assign) and isinstance(call.targets[0], ast.Name):
            function = _compiled(call.value)
            if function is not None:
                compiled[call.targets[0].id] = function
        if not isinstance(call, ast.Call):
            continue
        function = _compiled(call.func)
        if function is None and isinstance(call.func, ast.Name):
            function = compiled.get(call.func.id)
        if function is not None:
            return Subject(function, _positional(call))
        if isinstance(call.func, ast.Attribute) and call.func.attr in COMPARERS and len(call.args) >= 2:
            second = call.args[1]
            if isinstance(second, ast.Tuple | ast.List):
                return Subject(call.args[0], second.elts)
            if isinstance(second, ast.Name) and second.id in tuples:
                return Subject(call.args[0], tuples[second.id])
    raise NotExtracted("nothing is compiled and called")


def _inside(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement in order of the text, without those of functions that it defines."""
    if isinstance(statement, PARTS):
        return
    yield from sorted(
        ast.walk(statement), key=lambda n: (getattr(n, "lineno", 0), -getattr(n, "col_offset", 0))
    )


def _compiled(value: ast.AST) -> ast.expr | None:
    """What is compiled by an expression, if it is such a call."""
    if not isinstance(value, ast.Call):
        return None
    if isinstance(value.func, ast.Attribute) and value.func.attr in COMPILERS and value.args:
        return value.args[0]
    inner = value.func
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
        return value.args[0] if inner.func.attr in COMPILERS and value.args else None
    return None


def _positional(call: ast.Call) -> list[ast.expr]:
    if call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
        raise NotExtracted("called with keywords or unpacking")
    return call.args


class _OnCpu(ast.NodeTransformer):
    """Writes the device out, and takes `self.device` and its like for it."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            if node.attr in CPU_NAMES:
                return ast.Constant("cpu")
            raise NotExtracted("uses its test class")
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant("cpu") if node.id in CPU_NAMES and isinstance(node.ctx, ast.Load) else node


def _on_cpu(node: ast.expr) -> ast.expr:
    done = _OnCpu().visit(copy.deepcopy(node))
    assert isinstance(done, ast.expr)
    return done


@dataclass(frozen=True)
class _Bindings:
    """What a list of statements binds at its own level: name -> its statements, in order."""

    names: dict[str, list[ast.stmt]]

    @classmethod
    def of(cls, body: Sequence[ast.stmt]) -> _Bindings:
        names: dict[str, list[ast.stmt]] = {}
        for statement in body:
            for name in _bound(statement):
                names.setdefault(name, []).append(statement)
        return cls(names)


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, PARTS):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [a.asname or a.name.split(".")[0] for a in statement.names]
    if isinstance(statement, ast.Assign):
        return [n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return []


class _Parts:
    """Collects what a seed is made of: imports, and the statements that bind what is used."""

    def __init__(self, local: _Bindings, around: _Bindings) -> None:
        self.local, self.around = local, around
        self.imports: dict[str, ast.stmt] = {}
        self.top: dict[int, ast.stmt] = {}
        self.taken: set[str] = set()

    def function(self, value: ast.expr) -> str:
        """The name under which the function can be called at module level."""
        if isinstance(value, ast.Lambda):
            name = "function"
            self._need_all(value, set())
            assign = ast.Assign([ast.Name(name, ast.Store())], _on_cpu(value))
            self.top[len(self.top) + 10**6] = assign
            return name
        if not isinstance(value, ast.Name):
            raise NotExtracted("what is compiled is no name")
        self.need(value.id)
        return value.id

    def need(self, name: str) -> None:
        """Take in what binds a name, and what that needs. NotExtracted when nothing does."""
        if name in self.taken or hasattr(builtins, name):
            return
        self.taken.add(name)
        if name in ENTRIES and name not in (*self.local.names, *self.around.names):
            raise NotExtracted("a name that the form gives a meaning")
        statements = self.local.names.get(name) or self.around.names.get(name)
        if not statements:
            raise NotExtracted("needs what is bound elsewhere")
        for statement in statements:
            self._take(name, statement)

    def _take(self, name: str, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            self._import(name, statement)
            return
        clean = (
            _OnCpu().visit(copy.deepcopy(statement)) if not isinstance(statement, ast.ClassDef) else statement
        )
        if isinstance(clean, ast.FunctionDef):
            if any("compile" not in ast.unparse(d) for d in clean.decorator_list):
                raise NotExtracted("a decorator")
            clean.decorator_list = []
        self._need_all(clean, {name})
        self.top[statement.lineno] = clean

    def _import(self, name: str, statement: ast.Import | ast.ImportFrom) -> None:
        package = statement.module if isinstance(statement, ast.ImportFrom) else statement.names[0].name
        if getattr(statement, "level", 0) or (package or "").split(".")[0] not in IMPORTS:
            raise NotExtracted("imports what a program may not")
        alias = next(a for a in statement.names if (a.asname or a.name.split(".")[0]) == name)
        one = copy.copy(statement)
        one.names = [alias]
        self.imports[ast.unparse(one)] = one

    def _need_all(self, node: ast.AST, own: set[str]) -> None:
        bound = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        bound |= {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
        bound |= {n.name for n in ast.walk(node) if isinstance(n, PARTS)}
        bound |= {e.name for e in ast.walk(node) if isinstance(e, ast.ExceptHandler) and e.name}
        for used in ast.walk(node):
            if isinstance(used, ast.Name) and used.id not in bound | own:
                self.need(used.id)

    def arguments(self, values: Sequence[ast.expr]) -> tuple[list[ast.stmt], list[ast.expr]]:
        """The statements that make the arguments, in order, and the arguments."""
        inputs = _Parts(self.local, self.around)
        for value in values:
            inputs._need_all(value, set())
        self.imports |= inputs.imports
        # What both the function and its arguments are made of stays at module level, so that they share it.
        made = {k: s for k, s in inputs.top.items() if k not in self.top}
        for key in [k for k, s in made.items() if isinstance(s, PARTS)]:
            self.top[key] = made.pop(key)
        return [made[k] for k in sorted(made)], list(values)


def _text(parts: _Parts, name: str, made: list[ast.stmt], values: list[ast.expr]) -> str:
    names = [f"x{k}" for k in range(len(values))]
    top = [parts.top[k] for k in sorted(parts.top)]
    names_of_top = {n: f"{n}_" for s in top for n in _bound(s) if n in ENTRIES}
    top = [_Rename(names_of_top).visit(copy.deepcopy(s)) for s in top]
    name = names_of_top.get(name, name)
    rows = [f"def f({', '.join(names)}):", f"    return {name}({', '.join(names)})", "", "", "def inputs():"]
    rows += ["    torch.manual_seed(0)"]
    rows += [f"    {row}" for s in made for row in ast.unparse(ast.fix_missing_locations(s)).splitlines()]
    rows += [f"    {n} = {ast.unparse(v)}" for n, v in zip(names, values, strict=True)]
    rows += [f"    return ({', '.join(names)}{',' if len(names) == 1 else ''})"]
    imports = dict.fromkeys(["import torch", *parts.imports])
    if any(isinstance(n, ast.Call) for s in top if isinstance(s, ast.Assign) for n in ast.walk(s)):
        imports["torch.manual_seed(0)"] = None
    blocks = [ast.unparse(ast.fix_missing_locations(s)) for s in top]
    source = "\n\n\n".join(["\n".join(imports), *blocks, "\n".join(rows)]) + "\n"
    try:
        read(source)
    except NotNormal as error:
        reason = str(error).partition(": ")[2] or str(error)
        raise NotExtracted("too long" if len(source) > LONGEST else reason) from error
    return source


class _Rename(ast.NodeTransformer):
    """Gives names that the form has a meaning for another spelling."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.name = self.names.get(node.name, node.name)
        self.generic_visit(node)
        return node
