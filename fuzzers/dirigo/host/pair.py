"""Pairs of a reference and an optimised program, as files.

Invariant: a pair that is loaded has a reference with Model and get_inputs, and code with ModelNew or, for a
bare .cu file, a host function that takes what forward takes; what a file lacks is said in one line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.translation import translation
from fuzzers.dirigo.simt.events import Stopped

MOST_BYTES = 2_000_000
REFERENCES = ("reference.py", "ref.py", "ref_code.py")
CODES = ("kernel.cu", "kernel.py", "custom_code.py", "custom.py", "new.py")


@dataclass(frozen=True)
class Pair:
    """A reference and the code that should do the same. `code` is Python with ModelNew, or CUDA where
    `is_cuda`; `host` is then the host function."""

    name: str
    reference: str
    code: str
    path: str
    is_cuda: bool = False
    host: str = ""


def load(path: Path | str, reference: Path | str | None = None) -> Pair | Stopped:
    """The pair of a kernel's file and its reference; without a reference, a folder that has both."""
    where = Path(path)
    if where.is_dir():
        found = _in_folder(where)
        return Stopped(f"pair: {where} has no reference and code") if found is None else load(*found)
    if reference is None:
        return Stopped(f"pair: {where} needs a reference")
    code, text = _read(where), _read(Path(reference))
    if isinstance(code, Stopped):
        return code
    if isinstance(text, Stopped):
        return text
    return of_texts(code, text, name=where.stem, path=str(where), is_cuda=where.suffix in (".cu", ".cuh"))


def of_texts(
    code: str, reference: str, *, name: str = "kernel", path: str = "kernel.py", is_cuda: bool = False
) -> Pair | Stopped:
    """The pair of two texts."""
    lacking = _lacking(reference, ("Model", "get_inputs"))
    if lacking:
        return Stopped(f"reference: {lacking}")
    if not is_cuda:
        lacking = _lacking(code, ("ModelNew",))
        return Stopped(f"code: {lacking}") if lacking else Pair(name, reference, code, path)
    host = _host_function(code)
    if isinstance(host, Stopped):
        return host
    return Pair(name, reference, code, path, is_cuda=True, host=host)


def pairs(folder: Path | str) -> tuple[Pair | Stopped, ...]:
    """Every pair in a folder: folders that hold a reference and code, and `X_ref.py` or `X.ref.py` beside
    `X.py` or `X.cu`."""
    root = Path(folder)
    found: list[Pair | Stopped] = []
    for place in sorted([root, *(p for p in root.rglob("*") if p.is_dir())]):
        own = _in_folder(place)
        if own is not None:
            found.append(load(*own))
        for reference in sorted(place.iterdir()):
            stem = reference.name.removesuffix(".py").removesuffix("_ref").removesuffix(".ref")
            if reference.name in (f"{stem}_ref.py", f"{stem}.ref.py"):
                codes = [place / f"{stem}{ending}" for ending in (".cu", ".py")]
                found += [load(code, reference) for code in codes if code.is_file()]
    return tuple(found)


def _in_folder(place: Path) -> tuple[Path, Path] | None:
    reference, code = _first(place, REFERENCES), _first(place, CODES)
    return (code, reference) if code is not None and reference is not None else None


def _first(place: Path, names: Iterable[str]) -> Path | None:
    return next((place / name for name in names if (place / name).is_file()), None)


def _read(path: Path) -> str | Stopped:
    try:
        if path.stat().st_size > MOST_BYTES:
            return Stopped(f"pair: {path} is larger than {MOST_BYTES} bytes")
        return path.read_text()
    except OSError as error:
        return Stopped(f"pair: {path}: {error.strerror or error}")
    except UnicodeDecodeError:
        return Stopped(f"pair: {path} is no text")


def _lacking(text: str, names: tuple[str, ...]) -> str:
    """What a Python file lacks, in words; empty where nothing."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        return f"no Python: {str(error).splitlines()[0]}"
    there = {
        node.name
        for node in ast.walk(ast.Module(body, []))
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    there |= {t.id for n in body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    missing = [name for name in names if name not in there]
    return f"no {' and no '.join(missing)}" if missing else ""


def _host_function(code: str) -> str | Stopped:
    """The function of a .cu file that a caller would call: what it binds, or the last one that launches."""
    if "__global__" not in code:
        return Stopped("code: no kernel in this file")
    found = translation([code])
    if found.bindings:
        return next(iter(found.bindings))
    launching = [
        function.name
        for functions in found.functions.values()
        for function in functions
        if function.body is not None and any(n.kind == "kernel_call_syntax" for n in function.body.walk())
    ]
    names = set(launching)
    while True:
        callers = [
            function.name
            for functions in found.functions.values()
            for function in functions
            if function.name not in names and function.body is not None and _calls(function.body) & names
        ]
        if not callers:
            break
        names |= set(callers)
        launching = callers
    return launching[-1] if launching else Stopped("code: no host function launches a kernel")


def _calls(body: Node) -> set[str]:
    called = (node.get("function") for node in body.walk() if node.kind == "call_expression")
    return {node.text.partition("<")[0].rpartition("::")[2] for node in called if node is not None}
