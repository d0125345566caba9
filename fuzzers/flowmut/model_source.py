"""A user's model file as text: which form it has, whether it can be used, and how it goes into one script.

Invariant: pure, and nothing of the file runs here. What comes out is the file's own text, line for line, with
what it takes from files beside it put before it, without what only runs when it is started by hand. The
reason: a reproducer is one plain script, and people find their own lines in it.

Two forms: functions `model()` and `inputs()`; or, as in KernelBench, a class `Model`, `get_inputs()` and
perhaps `get_init_inputs()`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LARGEST = 1 << 20
"""Bytes of a file that is looked at; models written by people have tens of kilobytes."""

MOST_FILES = 20
"""Files that one may take from, itself included."""

FRAMEWORK = frozenset({"torch", "numpy"})


class Unusable(Exception):
    """The file cannot be used; the message tells why, in half a sentence."""


@dataclass(frozen=True)
class ModelSource:
    """`text` is the file as one script; `make` and `inputs` the expressions that make the model and its
    inputs, evaluated after it; `names` what the text binds."""

    text: str
    make: str
    inputs: str
    names: frozenset[str]

    def free(self, *wanted: str) -> str:
        """The first of the names that the text does not bind."""
        return next(
            name for name in (*wanted, *(f"{wanted[0]}{k}" for k in range(2, 99))) if self._is_free(name)
        )

    def _is_free(self, name: str) -> bool:
        return name not in self.names


def read_source(path: Path) -> ModelSource:
    """The model file at `path`. Unusable."""
    parts: dict[Path, _Part] = {}
    _collect(path, parts, ())
    _refuse_clashes(list(parts.values()))
    own = parts[path].names
    if {"model", "inputs"} <= own:
        make, inputs = "model()", "inputs()"
    elif {"Model", "get_inputs"} <= own:
        given = "*get_init_inputs()" if "get_init_inputs" in own else ""
        make, inputs = f"Model({given})", "get_inputs()"
    else:
        raise Unusable("it defines neither `model` and `inputs` nor `Model` and `get_inputs`")
    names = frozenset().union(*(part.names for part in parts.values()))
    texts = [part.text for part in parts.values()]
    if "torch" not in names:
        texts.insert(0, "import torch")
    if any(part.future for part in parts.values()):
        texts.insert(0, "from __future__ import annotations")
    return ModelSource("\n\n".join(text.strip("\n") for text in texts) + "\n", make, inputs, names)


@dataclass(frozen=True)
class _Part:
    """One file of a script: its text as it goes in, what it binds, and what of that by imports alone."""

    name: str
    text: str
    names: frozenset[str]
    imported: frozenset[str]
    future: bool


def _collect(path: Path, parts: dict[Path, _Part], above: tuple[Path, ...]) -> None:
    """The file and those it takes from, what is taken from first. `above` are those that take from it."""
    if path in above:
        raise Unusable(f"{path.name} takes from itself in a circle")
    tree, text = _parsed(path)
    gone: list[ast.stmt] = []
    renamed: list[str] = []
    for node in tree.body:
        if _is_guard(node) or _is_future(node):
            gone.append(node)
        for beside in _beside(node, path):
            if len(parts) == MOST_FILES - 1:
                raise Unusable(f"it takes from more than {MOST_FILES} files")
            if beside not in parts:
                _collect(beside, parts, (*above, path))
        if isinstance(node, ast.ImportFrom) and _sibling(node.module or "", path):
            gone.append(node)
            renamed += [f"{a.asname} = {a.name}" for a in node.names if a.asname and a.asname != a.name]
    _refuse_foreign(tree, path, {id(node) for node in tree.body})
    kept = _without(text, gone)
    if len(ast.parse(kept).body) != len(tree.body) - len(gone):
        raise Unusable(f"{path.name} has several statements on one line")
    names, imported = _bound(tree.body, gone)
    names |= {line.partition(" ")[0] for line in renamed}
    whole = "\n".join([*renamed, kept]) if renamed else kept
    parts[path] = _Part(path.name, whole, frozenset(names), frozenset(imported), any(map(_is_future, gone)))


def _parsed(path: Path) -> tuple[ast.Module, str]:
    try:
        if path.stat().st_size > LARGEST:
            raise Unusable(f"{path.name} has more than {LARGEST} bytes")
        text = path.read_text(encoding="utf-8")
        return ast.parse(text), text
    except OSError as error:
        raise Unusable(f"{path.name} cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Unusable(
            f"{path.name} is not Python that this interpreter reads: {type(error).__name__}"
        ) from error


def _is_guard(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which would hold in a script."""
    match node:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case _:
            return False


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _sibling(module: str, path: Path) -> Path | None:
    """The file beside `path` that `module` names, if there is one."""
    beside = path.parent / f"{module}.py"
    return beside if module.isidentifier() and beside.is_file() else None


def _beside(node: ast.stmt, path: Path) -> Iterator[Path]:
    """The files that a statement takes names from."""
    if isinstance(node, ast.ImportFrom) and (found := _sibling(node.module or "", path)):
        if node.level > 1:
            raise Unusable(f"{path.name} takes from another folder")
        yield found


def _refuse_foreign(tree: ast.Module, path: Path, top: set[int]) -> None:
    """What is imported must be there wherever the script is run."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                _refuse_module(alias.name, path, whole=True)
        elif isinstance(node, ast.ImportFrom):
            if node.level and not _sibling(node.module or "", path):
                raise Unusable(f"{path.name} takes from another folder")
            _refuse_module(node.module or "", path, whole=id(node) not in top)


def _refuse_module(name: str, path: Path, *, whole: bool) -> None:
    first = name.partition(".")[0]
    if _sibling(name, path):
        if whole:
            raise Unusable(f"{path.name} imports {name} in a way that cannot be written as one script")
    elif first not in FRAMEWORK and first not in sys.stdlib_module_names:
        raise Unusable(
            f"{path.name} imports {first}, which is not torch, numpy, the standard library or beside it"
        )


def _without(text: str, gone: list[ast.stmt]) -> str:
    lines = text.splitlines(keepends=True)
    for node in gone:
        for at in range(node.lineno - 1, node.end_lineno or node.lineno):
            lines[at] = ""
    return "".join(lines)


def _bound(body: list[ast.stmt], gone: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """(names that the statements bind, those of them that imports bind)."""
    imported: set[str] = set()
    names: set[str] = set()
    for node in body:
        if node in gone:
            continue
        match node:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                imported |= {a.asname or a.name.partition(".")[0] for a in aliases}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case _:
                stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
                names |= {n.id for n in stored if isinstance(n.ctx, ast.Store)}
    return names | imported, imported - names


def _refuse_clashes(parts: list[_Part]) -> None:
    """In one script a name means one thing."""
    for at, part in enumerate(parts):
        for other in parts[:at]:
            if both := sorted((part.names & other.names) - (part.imported & other.imported)):
                raise Unusable(f"{part.name} and {other.name} both define {both[0]}")
