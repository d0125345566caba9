"""The one form of a program: a source text that seeds are normalised to, rules mutate and an LLM writes.

Invariant: whatever passes `read` can be executed the same way: `exec` the text once, then, before every
first call, `setup()` if there is one, and `f(*inputs())`; for a second call of the same compiled function,
`f(*again())` if there is one. Nothing else in the text runs code with an effect. The reason for a text and
not a graph: what breaks compilers hides in Python itself (state, closures, containers, iterators).

A text has, at module level, in this order by custom:

    import torch               only what is in IMPORTS
    NAME = ...                 plain assignments: constants, containers, a module `model = Model()`
    class ... / def ...        whatever f uses
    def f(x, y, ...):          what is compiled; parameters without defaults; returns tensors (in any nesting
                               of tuples, lists and dicts), or None when it works by mutating its inputs
    def inputs():              returns the tuple of arguments of the first call, one a parameter
    def setup():               optional: puts all Python state that f reads and something changes back to its
                               beginning: globals, attributes of a module, its parameters and buffers
    def again():               optional: the second call. May change Python state first; returns the tuple of
                               its arguments: new values, or another shape, or just `inputs()`

`inputs` and `again` seed themselves, have one assignment a value, and end with the only `return`, a tuple of
those names (`return (x,)` for one). They hold everything about an argument: dtype, shape, strides, offset,
requires_grad. A value is best one expression, so that rules can read it without running it:

    torch.randn(2, 3) | rand | randint(0, 9, (2, 3)) | zeros | full | arange | linspace | tensor([1, 2])
    with a literal `dtype=torch.float16`, and then any chain of
    .t() .transpose(0, 1) .permute(..) .expand(..) [:, ::2] [1:] .as_strided(..) .unsqueeze(0) .reshape(..)
    .to(torch.bfloat16) .contiguous(memory_format=torch.channels_last) .mul(..) .add(..) .requires_grad_()

Anything else is allowed and merely unreadable to rules. Arguments that are no tensors are literals (`n = 3`,
`dtype = torch.float32`). Gradients are compared for every argument that requires one, or for all floating
arguments when none does; so a parameter whose gradient matters is an argument.

What a program must not do: read files, clocks or the environment, start anything, print, draw random numbers
in f without a reason, or keep a result in a global.

An operator, one call:

    import torch


    def f(x, y):
        z = torch.add(x, y, alpha=2)
        return z.sum(0), z


    def inputs():
        torch.manual_seed(0)
        x = torch.randn(4, 6).t()
        y = torch.randint(0, 200, (6, 1), dtype=torch.uint8).expand(6, 4)
        return (x, y)

A module whose attribute changes between two calls, and a second shape:

    import torch


    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = 2.0
            self.register_buffer("offset", torch.ones(4))

        def forward(self, x):
            self.offset.add_(1)
            return x * self.factor + self.offset


    model = Scale()


    def f(x):
        return model(x)


    def setup():
        model.factor = 2.0
        model.offset.fill_(1)


    def inputs():
        torch.manual_seed(1)
        x = torch.randn(3, 4, requires_grad=True)
        return (x,)


    def again():
        torch.manual_seed(2)
        model.factor = 3.0
        x = torch.randn(5, 4, requires_grad=True)
        return (x,)
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

IMPORTS: tuple[str, ...] = (
    "torch",
    "abc",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "math",
    "operator",
    "typing",
)
"""Packages whose modules a program may import: the framework, and standard library without effects."""

LONGEST = 20_000
"""Characters of a text. The longest OpInfo seed has a tenth of it."""

F, INPUTS, SETUP, AGAIN = "f", "inputs", "setup", "again"
ENTRIES = (F, INPUTS, SETUP, AGAIN)
"""The functions that have a meaning; all others are helpers."""


class NotNormal(ValueError):
    """A text is not in the form; the message is a sentence that names the line."""


@dataclass(frozen=True)
class Form:
    """A text that is in the form, as far as reading it tells."""

    source: str
    parameters: tuple[str, ...]
    """Of f, in order."""
    has_setup: bool
    has_again: bool
    tree: ast.Module

    @property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """The entry functions that are there, by name."""
        return {n.name: n for n in self.tree.body if isinstance(n, ast.FunctionDef) and n.name in ENTRIES}


def read(source: str) -> Form:
    """The text, checked. NotNormal says what is wrong with it."""
    tree = parse(source)
    for statement in tree.body:
        _check_statement(statement)
    entries = list(_entries(tree))
    found = {e.name: e for e in entries}
    for name in (F, INPUTS):
        if name not in found:
            raise NotNormal(f"there is no module-level `def {name}(...)`")
    for entry in entries:
        if entry is not found[entry.name]:
            raise NotNormal(f"line {entry.lineno}: `{entry.name}` is defined twice")
        if entry.decorator_list:
            raise NotNormal(f"line {entry.lineno}: `{entry.name}` has a decorator")
        _check_parameters(entry)
    for name in (INPUTS, AGAIN):
        if name in found:
            _check_return(found[name], len(found[F].args.args))
    parameters = tuple(a.arg for a in found[F].args.args)
    return Form(source, parameters, SETUP in found, AGAIN in found, tree)


def parse(source: str) -> ast.Module:
    """The syntax tree of a text, or NotNormal: it is no Python, too long, or nested too deeply."""
    if len(source) > LONGEST:
        raise NotNormal(f"the text has {len(source)} characters, more than {LONGEST}")
    try:
        return ast.parse(source)
    except SyntaxError as e:
        raise NotNormal(f"line {e.lineno or 0}: not Python: {e.msg}") from e
    except (ValueError, RecursionError, MemoryError) as e:
        raise NotNormal(f"line 0: not Python: {type(e).__name__}") from e


def normalised(source: str) -> str:
    """The text without what means nothing: comments, docstrings, blank lines, spelling of literals. Two texts
    that are the same program by eye have the same one. NotNormal when it does not parse."""
    tree = parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree) + "\n"


def digest(source: str) -> str:
    """Short name of a program, the same for texts that differ in nothing that matters."""
    return hashlib.sha256(normalised(source).encode()).hexdigest()[:16]


def _entries(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in ENTRIES:
            yield node


def _check_import(node: ast.stmt) -> None:
    if isinstance(node, ast.ImportFrom):
        names = [node.module or "." * node.level] if not node.level else ["." * node.level]
    else:
        assert isinstance(node, ast.Import)
        names = [alias.name for alias in node.names]
    for name in names:
        if name.split(".")[0] not in IMPORTS:
            raise NotNormal(f"line {node.lineno}: a program may not import `{name}`")


def _check_assignment(node: ast.stmt) -> None:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        for name in names:
            if not isinstance(name, ast.Name):
                raise NotNormal(f"line {node.lineno}: only plain names are assigned at module level")
            if name.id in ENTRIES:
                raise NotNormal(f"line {node.lineno}: `{name.id}` has to be a `def`")


def _check_expression(node: ast.stmt) -> None:
    """A docstring, or seeding ahead of module-level tensors."""
    assert isinstance(node, ast.Expr)
    text = isinstance(node.value, ast.Constant)
    seeds = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "torch.manual_seed"
    if not text and not seeds:
        raise NotNormal(f"line {node.lineno}: a statement with an effect at module level")


def _check_definition(node: ast.stmt) -> None:
    """Definitions only bind a name; an entry must be a function."""
    if isinstance(node, ast.ClassDef) and node.name in ENTRIES:
        raise NotNormal(f"line {node.lineno}: `{node.name}` has to be a `def`")


STATEMENTS: dict[type[ast.stmt], Callable[[ast.stmt], None]] = {
    ast.Import: _check_import,
    ast.ImportFrom: _check_import,
    ast.Assign: _check_assignment,
    ast.AnnAssign: _check_assignment,
    ast.Expr: _check_expression,
    ast.ClassDef: _check_definition,
    ast.FunctionDef: _check_definition,
}
"""What may stand at module level, and the check of each."""


def _check_statement(node: ast.stmt) -> None:
    check = STATEMENTS.get(type(node))
    if check is None:
        raise NotNormal(f"line {node.lineno}: `{type(node).__name__}` may not stand at module level")
    check(node)


def _check_parameters(entry: ast.FunctionDef) -> None:
    args = entry.args
    odd = args.posonlyargs or args.vararg or args.kwonlyargs or args.kwarg or args.defaults
    if odd:
        raise NotNormal(f"line {entry.lineno}: `{entry.name}` takes plain parameters without defaults")
    if entry.name != F and args.args:
        raise NotNormal(f"line {entry.lineno}: `{entry.name}` takes no parameters")


def _check_return(entry: ast.FunctionDef, count: int) -> None:
    """The last statement is the only return, of a tuple of `count` values or of `inputs()`."""
    returns = [n for n in ast.walk(entry) if isinstance(n, ast.Return)]
    last = entry.body[-1]
    if returns != [last]:
        raise NotNormal(f"line {entry.lineno}: `{entry.name}` ends with its only `return`")
    value = last.value if isinstance(last, ast.Return) else None
    if entry.name == AGAIN and isinstance(value, ast.Call) and ast.unparse(value) == f"{INPUTS}()":
        return
    if not isinstance(value, ast.Tuple):
        raise NotNormal(
            f"line {last.lineno}: `{entry.name}` returns a tuple written out, such as `return (x,)`"
        )
    if len(value.elts) != count or any(isinstance(e, ast.Starred) for e in value.elts):
        raise NotNormal(
            f"line {last.lineno}: `{entry.name}` returns {len(value.elts)} values and f takes {count}"
        )
