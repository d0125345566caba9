"""Edits of a program's text that leave what they do not mention as it is.

Invariant: an edit keeps the text in the normal form (form.py), renames only within f, and loses nothing
that f returned. Places are numbers of f's statements after `Program.of` has given every returned tensor a
name.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import libcst as cst

from fuzzers.alignguard import form
from fuzzers.alignguard.reading.reader import Reading, read
from fuzzers.alignguard.reading.values import Value

Statement = cst.BaseStatement


@dataclass(frozen=True)
class Program:
    """A program in the form, its tree for editing and what is known of it. `results`: names of the values
    that f returns, in order; the last of its statements returns them."""

    module: cst.Module
    reading: Reading
    results: tuple[str, ...]

    @classmethod
    def of(cls, source: str) -> Program | None:
        """A program of a text; None when the text is none, or f does not end in a return of its own."""
        if read(source) is None:
            return None
        module = cst.parse_module(source)
        named = _Naming(taken(source))
        module = module.visit(named)
        reading = read(module.code)
        return cls(module, reading, tuple(named.results)) if reading and named.ends else None

    @property
    def body(self) -> tuple[ast.stmt, ...]:
        """The statements of f."""
        assert self.reading.form is not None
        return tuple(self.reading.form.functions[form.F].body)

    @property
    def end(self) -> int:
        """The place of the statement that returns."""
        return len(self.body) - 1

    def at(self, place: int) -> dict[str, Value]:
        """What is known of the names before a statement of f."""
        return self.reading.before[place]

    def used_from(self, place: int, name: str) -> list[ast.stmt]:
        """The statements at or after a place that mention a name."""
        return [
            s for s in self.body[place:] if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(s))
        ]


def taken(source: str) -> set[str]:
    """Every name in a text."""
    tree = ast.parse(source)
    found = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    found |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    return found | {
        n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    }


def fresh(stem: str, names: set[str]) -> str:
    """A name that is not taken yet; it is from now on."""
    number = next(k for k in range(len(names) + 1) if f"{stem}{k or ''}" not in names)
    names.add(f"{stem}{number or ''}")
    return f"{stem}{number or ''}"


class _Naming(cst.CSTTransformer):
    """Gives every value that f returns a name, so that a place can be said by a statement's number."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self.names, self.results, self.ends = names, list[str](), False
        self.depth = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.depth += 1
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self.depth += 1
        return False

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        self.depth -= 1
        return updated_node

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        self.depth -= 1
        if self.depth or updated_node.name.value != form.F:
            return updated_node
        body = _one_a_line(updated_node)
        last = body[-1]
        inner = last.body[0] if isinstance(last, cst.SimpleStatementLine) else None
        if isinstance(inner, cst.Return) and inner.value is not None:
            body[-1:] = self.named(inner.value)
        elif any(isinstance(s, ast.Return) for s in _within(body)):
            return updated_node
        else:
            body.append(statement("return None"))
        self.ends = True
        return updated_node.with_changes(body=cst.IndentedBlock(body=body))

    def named(self, value: cst.BaseExpression) -> list[Statement]:
        """The statements that replace `return value`."""
        if not isinstance(value, cst.Tuple) or any(isinstance(e, cst.StarredElement) for e in value.elements):
            before, name = self.one(value)
            self.results = [name]
            return [*before, statement(f"return {name}")]
        made: list[Statement] = []
        for element in value.elements:
            before, name = self.one(element.value)
            made += before
            self.results.append(name)
        comma = "," if len(self.results) == 1 else ""
        return [*made, statement(f"return ({', '.join(self.results)}{comma})")]

    def one(self, value: cst.BaseExpression) -> tuple[list[Statement], str]:
        """(what to do before, the name of the value)."""
        if isinstance(value, cst.Name) and value.value not in ("None", "True", "False"):
            return [], value.value
        name = fresh("out", self.names)
        return [statement(f"{name} = {cst.Module([]).code_for_node(value)}")], name


def _one_a_line(function: cst.FunctionDef) -> list[Statement]:
    """A function's statements, each on a line of its own."""
    block = function.body
    if isinstance(block, cst.SimpleStatementSuite):
        return [
            cst.SimpleStatementLine([s.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]) for s in block.body
        ]
    found: list[Statement] = []
    for line in block.body:
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1:
            found += [
                cst.SimpleStatementLine([s.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
                for s in line.body
            ]
        elif isinstance(line, cst.BaseStatement):
            found.append(line)
    return found


def _within(body: Sequence[Statement]) -> list[ast.AST]:
    text = "".join(cst.Module([]).code_for_node(s) for s in body)
    wrapped = ast.parse("def f():\n" + textwrap.indent(text, "    ") if text.strip() else "")
    return list(ast.walk(wrapped))


def statement(text: str) -> Statement:
    """One statement."""
    made = cst.parse_statement(text)
    assert isinstance(made, cst.BaseStatement)
    return made


def statements(text: str) -> list[Statement]:
    """The statements of a text, whatever its indentation."""
    module = cst.parse_module(textwrap.dedent(text).strip() + "\n")
    return [s for s in module.body if isinstance(s, cst.BaseStatement)]


class _Rename(cst.CSTTransformer):
    """A variable gets another name; attributes and keywords of that spelling are something else."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__()
        self.old, self.new = old, new

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        return updated_node.with_changes(value=self.new) if updated_node.value == self.old else updated_node

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)


def rename(node: Statement, old: str, new: str) -> Statement:
    """A statement with one variable renamed."""
    made = node.visit(_Rename(old, new))
    assert isinstance(made, cst.BaseStatement)
    return made


Rewrite = Callable[[list[Statement]], list[Statement]]


def rewritten(module: cst.Module, function: str, change: Rewrite) -> cst.Module:
    """A module in which the statements of one function are others."""
    body: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = []
    for node in module.body:
        if isinstance(node, cst.FunctionDef) and node.name.value == function:
            made = change(_one_a_line(node))
            node = node.with_changes(body=cst.IndentedBlock(body=made))
        body.append(node)
    return module.with_changes(body=body)


def with_parameter(module: cst.Module, name: str) -> cst.Module:
    """A module in which f takes one more argument."""
    body: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = []
    for node in module.body:
        if isinstance(node, cst.FunctionDef) and node.name.value == form.F:
            params = [*node.params.params, cst.Param(cst.Name(name))]
            node = node.with_changes(params=node.params.with_changes(params=params))
        body.append(node)
    return module.with_changes(body=body)


def before_function(module: cst.Module, function: str, text: str) -> cst.Module:
    """A module with more definitions ahead of a function."""
    body = list(module.body)
    at = next(k for k, n in enumerate(body) if isinstance(n, cst.FunctionDef) and n.name.value == function)
    return module.with_changes(body=[*body[:at], *_spaced(text), *body[at:]])


def appended(module: cst.Module, text: str) -> cst.Module:
    """A module with one more definition at its end."""
    return module.with_changes(body=[*module.body, *_spaced(text)])


def _spaced(text: str) -> list[cst.SimpleStatementLine | cst.BaseCompoundStatement]:
    """Statements at module level, with the blank lines that definitions have."""
    found: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = []
    for node in statements(text):
        assert isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        around = (node, *found[-1:])
        blank = [cst.EmptyLine(indent=False)] * (
            1 + any(isinstance(n, cst.BaseCompoundStatement) for n in around)
        )
        found.append(node.with_changes(leading_lines=blank))
    return found


def returning(names: Sequence[str]) -> Statement:
    """`return` of a tuple of names, or of one alone."""
    return statement(f"return {names[0]}" if len(names) == 1 else f"return ({', '.join(names)})")
