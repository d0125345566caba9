"""The rules of the gate, one small function a kind of syntax.

Invariant: pure, and total over whatever parses: every node of the tree is looked at by its kind, and a kind
without an entry in RULES is refused. A module is never a value: it stands only before a dot, and the dotted
name is looked up in `modules`. An attribute of anything else is in a table of `python`, or one that the
program itself makes. Special names are closed but for a few.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from fuzzers.alignguard import form
from fuzzers.alignguard.gate import bounds
from fuzzers.alignguard.gate.attributes import BY_NAME, attributes, by_name, dictionary
from fuzzers.alignguard.gate.bindings import IDENTIFIER
from fuzzers.alignguard.gate.modules import MODULES, resolve
from fuzzers.alignguard.gate.program import Program, Rule
from fuzzers.alignguard.gate.python import (
    BUILTINS,
    CALLED,
    CLASS_NAMES,
    DEFINED_ONLY,
    NEVER,
    SPECIAL_METHODS,
    UNTOUCHABLE,
)

DEEPEST = 60
"""Levels of the syntax tree: Python's own compiler calls itself, and so do rules and reducers."""

MOST_NODES = 6_000
MOST_SAID = 12
"""Refusals of one text that are told; more help nobody."""

LONGEST_NAME = 60


@dataclass(frozen=True, order=True)
class Refusal:
    """Why a text may not run. `why` is a sentence without its full stop."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


def refusals(source: str) -> tuple[Refusal, ...]:
    """All that is wrong with a text, by line, MOST_SAID at most; empty when it may run. It need not be in the
    program form; what does not parse is refused."""
    try:
        tree = form.parse(source)
    except form.NotNormal as error:
        return (Refusal(0, str(error)),)
    if why := _oversized(tree):
        return (Refusal(1, why),)
    program = Program(tree)
    found = {Refusal(line, said) for line, said in bounds.excesses(tree)}
    for node in ast.walk(tree):
        rule = RULES.get(type(node))
        if rule is None:
            found.add(Refusal(program.line(node), f"`{type(node).__name__}` is not allowed"))
            continue
        found |= {Refusal(program.line(node), said) for said in rule(node, program)}
    return tuple(sorted(found)[:MOST_SAID])


def _oversized(tree: ast.Module) -> str:
    level: list[ast.AST] = [tree]
    count = 0
    for _ in range(DEEPEST):
        count += len(level)
        if count > MOST_NODES:
            return f"the program has more than {MOST_NODES} parts"
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return ""
    return f"the program is nested more than {DEEPEST} levels deep"


def fine(node: ast.AST, program: Program) -> Iterator[str]:
    """Nothing to say against it by itself."""
    yield from ()


# Imports and names


def imports(node: ast.AST, program: Program) -> Iterator[str]:
    """`import a.b`: a module of the list."""
    assert isinstance(node, ast.Import)
    for alias in node.names:
        if alias.name not in MODULES:
            yield f"`{alias.name}` may not be imported"
        yield from _binding(alias.asname or alias.name.split(".")[0], program, is_import=True)


def imports_from(node: ast.AST, program: Program) -> Iterator[str]:
    """`from a import b`: a name of a module of the list."""
    assert isinstance(node, ast.ImportFrom)
    if node.level or node.module not in MODULES:
        yield f"`{'.' * node.level}{node.module or ''}` may not be imported from"
        return
    for alias in node.names:
        if resolve(node.module, alias.name) is None:
            yield f"`{node.module}.{alias.name}` may not be used"
        yield from _binding(alias.asname or alias.name, program, is_import=True)


def _binding(name: str, program: Program, *, is_import: bool = False) -> Iterator[str]:
    """A name that is given a meaning."""
    if name.startswith("__"):
        yield f"`{name}` is a name of Python's own"
    elif name in UNTOUCHABLE or name in CALLED:
        yield f"`{name}` is a builtin, which stays what it is"
    elif not name.isascii() or len(name) > LONGEST_NAME:
        yield "a name is not plain ASCII, or very long"
    elif name in program.names.conflicts or (not is_import and name in program.names.imported):
        yield f"`{name}` is imported and gets another meaning"


def names(node: ast.AST, program: Program) -> Iterator[str]:
    """A name that is read or assigned."""
    assert isinstance(node, ast.Name)
    name = node.id
    if not isinstance(node.ctx, ast.Load):
        in_class = isinstance(program.parent.get(program.parent.get(node, node)), ast.ClassDef)
        if not (name in CLASS_NAMES and in_class):
            yield from _binding(name, program)
    elif name in program.names.imported:
        if program.names.imported[name] in MODULES and not _is_dotted(node, program):
            yield f"the module `{name}` is used as a value"
    elif name in CALLED:
        if not program.is_callee(node):
            yield f"`{name}` may only be called"
    elif name not in program.names.bound and name not in BUILTINS:
        yield f"`{name}` is neither defined in the program nor a builtin that it may use"
    elif name in UNTOUCHABLE or name.startswith("__"):
        yield f"`{name}` may not be used"


def _is_dotted(node: ast.Name, program: Program) -> bool:
    return isinstance(program.parent.get(node), ast.Attribute)


def rebinds(node: ast.AST, program: Program) -> Iterator[str]:
    """`global x`: of the program's own names."""
    assert isinstance(node, ast.Global | ast.Nonlocal)
    for name in node.names:
        yield from _binding(name, program)


# Calls and definitions


def calls(node: ast.AST, program: Program) -> Iterator[str]:
    """A call of one of the builtins that may be called in some forms only."""
    assert isinstance(node, ast.Call)
    if not isinstance(node.func, ast.Name):
        return
    name = node.func.id
    if name in BY_NAME:
        yield from by_name(node, name, program)
    elif name in FORMS and (len(node.args) != FORMS[name] or node.keywords):
        yield f"`{name}` takes {FORMS[name]} arguments here"
    elif name in FORMS and any(isinstance(argument, ast.Starred) for argument in node.args):
        yield f"`{name}` takes no starred argument here"
    elif name == "vars":
        yield from dictionary(node, node.args[0], program)


FORMS = {"super": 0, "type": 1, "vars": 1}
"""Builtin -> how many arguments it may have: three make `type` a maker of classes."""


def functions(node: ast.AST, program: Program) -> Iterator[str]:
    """A function: its name; its decorators and defaults are expressions like any other."""
    assert isinstance(node, ast.FunctionDef)
    if node.name in SPECIAL_METHODS or node.name in DEFINED_ONLY:
        if not isinstance(program.parent.get(node), ast.ClassDef):
            yield f"`{node.name}` is defined outside of a class"
    else:
        yield from _binding(node.name, program)


def classes(node: ast.AST, program: Program) -> Iterator[str]:
    """A class: its name, and no metaclass, which would run at its making."""
    assert isinstance(node, ast.ClassDef)
    yield from _binding(node.name, program)
    for keyword in node.keywords:
        yield f"the class `{node.name}` has the keyword `{keyword.arg}`"


def parameters(node: ast.AST, program: Program) -> Iterator[str]:
    """A parameter: its name, and no annotation that is more text than a name."""
    assert isinstance(node, ast.arg)
    yield from _binding(node.arg, program)
    if node.annotation is not None:
        yield from _annotation(node.annotation)


def annotated(node: ast.AST, program: Program) -> Iterator[str]:
    """`x: T = ...`."""
    assert isinstance(node, ast.AnnAssign)
    yield from _annotation(node.annotation)


def _annotation(node: ast.expr) -> Iterator[str]:
    """Some readers of annotations evaluate texts."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            if not all(IDENTIFIER.fullmatch(part) for part in inner.value.split(".")):
                yield "an annotation is a text that is no name"
        elif isinstance(inner, ast.Call | ast.Lambda | ast.NamedExpr):
            yield "an annotation calls something"


def handlers(node: ast.AST, program: Program) -> Iterator[str]:
    """`except E as e`."""
    assert isinstance(node, ast.ExceptHandler)
    if node.name:
        yield from _binding(node.name, program)


def keywords(node: ast.AST, program: Program) -> Iterator[str]:
    """`f(name=...)`: some callees make attributes of these."""
    assert isinstance(node, ast.keyword)
    if node.arg and (node.arg.startswith("__") or node.arg in NEVER):
        yield f"the argument `{node.arg}` may not be given"


def constants(node: ast.AST, program: Program) -> Iterator[str]:
    """A literal; bytes have no use here."""
    assert isinstance(node, ast.Constant)
    if isinstance(node.value, bytes):
        yield "bytes have no use in a program"


PLAIN: tuple[type[ast.AST], ...] = (
    ast.Module, ast.Expr, ast.Return, ast.Delete, ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If,
    ast.With, ast.withitem, ast.Raise, ast.Try, ast.Assert, ast.Pass, ast.Break, ast.Continue, ast.BoolOp,
    ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.List, ast.Tuple,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.Yield,
    ast.YieldFrom, ast.Compare, ast.FormattedValue, ast.JoinedStr, ast.Subscript, ast.Starred, ast.Slice,
    ast.arguments, ast.Load, ast.Store, ast.Del, ast.And, ast.Or, ast.Not, ast.Invert, ast.UAdd, ast.USub,
    ast.Add, ast.Sub, ast.Mult, ast.MatMult, ast.Div, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitOr,
    ast.BitXor, ast.BitAnd, ast.FloorDiv, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is,
    ast.IsNot, ast.In, ast.NotIn,
)  # fmt: skip
"""Syntax that is as harmless as its parts. `match` is left out, since its patterns read attributes."""

RULES: dict[type[ast.AST], Rule] = {
    **dict.fromkeys(PLAIN, fine),
    ast.alias: fine,
    ast.AnnAssign: annotated,
    ast.Attribute: attributes,
    ast.Call: calls,
    ast.ClassDef: classes,
    ast.Constant: constants,
    ast.ExceptHandler: handlers,
    ast.FunctionDef: functions,
    ast.Global: rebinds,
    ast.Import: imports,
    ast.ImportFrom: imports_from,
    ast.Name: names,
    ast.Nonlocal: rebinds,
    ast.arg: parameters,
    ast.keyword: keywords,
}
"""Kind of syntax -> its rule; any other kind is refused."""
