"""Cutting the device part out of a CUDA source, every character in its place.

Invariant: the device part is the source with everything else blanked, so that a line and a column of one are
those of the other. Kept are the kernels and, from them on, what they name (functions, types, constants,
macros); the reason: host code needs headers that no wheel ships, and one unknown type fails a compilation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

WORD = re.compile(rb"[A-Za-z_]\w*")
DEVICE = re.compile(rb"\b(__global__|__device__|__constant__)\b")
HOST = re.compile(
    rb"\b(torch|at|c10)::(Tensor|nn|IntArrayRef|optional)\b|\bstd::(vector|tuple|string|pair)\b|\bcudaStream_t\b"
    rb"|\bcuda(Memcpy|Memset|Malloc|Free|Func|Get|Stream|Event|Set)\w*\s*\("
)
NESTS = frozenset({"namespace_definition", "linkage_specification", "declaration_list"})
PREPROCESSOR = frozenset({"preproc_def", "preproc_function_def", "preproc_call"})
CONDITIONS = frozenset({"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"})
DISPATCHED = re.compile(r"\bscalar_t\b")


@dataclass(frozen=True)
class Launch:
    """One launch in the host code: the kernel as it is written there (`softmax<scalar_t, 4>`) and its
    line."""

    kernel: str
    line: int


@dataclass(frozen=True)
class Sliced:
    """The device part of one source."""

    device: str
    includes: tuple[str, ...]
    kernels: tuple[str, ...]
    templates: frozenset[str]
    launches: tuple[Launch, ...]

    def entries(self, dispatched: str = "float") -> tuple[str, ...]:
        """The name expressions of the kernels that the host launches, `scalar_t` being `dispatched`; a plain
        kernel is one even when nothing launches it."""
        launched = {DISPATCHED.sub(dispatched, launch.kernel) for launch in self.launches}
        known = {name for name in launched if _plain(name) in self.kernels}
        named = {_plain(name) for name in launched}
        plain = {name for name in self.kernels if name not in named and name not in self.templates}
        return tuple(sorted(known | plain))


@dataclass(frozen=True)
class Embedded:
    """A string of CUDA or C++ source inside a Python file, and the line at which it starts there."""

    text: str
    line: int


def slice_device(source: str) -> Sliced:
    """The device part of a .cu source."""
    text = source.encode()
    root = _parser().parse(text).root_node
    pieces = list(_pieces(root))
    kept = _reachable(text, pieces)
    blank = bytearray(re.sub(rb"[^\n]", b" ", text))
    for piece in kept:
        end = piece.end_byte + (text[piece.end_byte : piece.end_byte + 1] == b";")
        blank[piece.start_byte : end] = text[piece.start_byte : end]
    for shell in _shells(root):
        blank[shell.start_byte : shell.end_byte] = text[shell.start_byte : shell.end_byte]
    kernels = [piece for piece in kept if b"__global__" in text[piece.start_byte : piece.end_byte]]
    names = {_name(text, piece): piece for piece in kernels}
    return Sliced(
        blank.decode(),
        tuple(_includes(text, root)),
        tuple(name for name in names if name),
        frozenset(name for name, piece in names.items() if piece.type == "template_declaration"),
        tuple(_launches(text, root)),
    )


def embedded_sources(python: str) -> tuple[Embedded, ...]:
    """The CUDA and C++ strings of a Python file, in order; raises SyntaxError where it is no Python.

    Every string constant that holds a kernel or a launch counts, whether it is handed to load_inline by name,
    built by concatenation or written to a file first.
    """
    found = [
        Embedded(node.value, node.lineno)
        for node in ast.walk(ast.parse(python))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_cuda(node.value)
    ]
    return tuple(sorted(found, key=lambda piece: piece.line))


def _is_cuda(text: str) -> bool:
    return "__global__" in text and "{" in text


def _plain(name: str) -> str:
    """`softmax` of `ns::softmax<float, 4>`."""
    return name.partition("<")[0].strip().rpartition("::")[2]


def parsed(text: bytes) -> Node:
    """The root of the syntax tree of a source."""
    return _parser().parse(text).root_node


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def _pieces(node: Node) -> Iterator[Node]:
    """Top-level declarations, also those inside namespaces, extern "C" and #if."""
    for child in node.named_children:
        if child.type in NESTS or child.type in CONDITIONS:
            yield from _pieces(child)
        elif child.type not in ("comment", "preproc_include", "namespace_identifier", "string_literal"):
            yield child


def _shells(node: Node) -> Iterator[Node]:
    """What stands around declarations and must stay: `namespace x {`, `extern "C" {`, #if and #endif."""
    for child in node.children:
        if child.type in CONDITIONS:
            body = {grandchild.id for grandchild in child.named_children}
            named = [child.child_by_field_name(field) for field in ("name", "condition")]
            yield from (part for part in child.children if part.id not in body and part.type != "comment")
            yield from (part for part in named if part is not None)
            yield from _shells(child)
        elif child.type in NESTS:
            yield from (part for part in child.children if part.type not in ("declaration_list", "comment"))
            for part in child.children:
                if part.type == "declaration_list":
                    yield from (brace for brace in part.children if brace.type in "{}")
                    yield from _shells(part)


def _reachable(text: bytes, pieces: Sequence[Node]) -> list[Node]:
    """The kernels and what they name, transitively; macros always; anything that is clearly the host's
    never."""
    words = {piece.id: set(WORD.findall(text, piece.start_byte, piece.end_byte)) for piece in pieces}
    kept = {piece.id for piece in pieces if piece.type in PREPROCESSOR or _is_root(text, piece)}
    pending = [piece for piece in pieces if piece.id not in kept and not _is_host(text, piece)]
    wanted = set().union(*(words[ident] for ident in kept))
    while True:
        named = [
            piece for piece in pending if piece.type == "using_declaration" or _declares(text, piece) & wanted
        ]
        if not named:
            return [piece for piece in pieces if piece.id in kept]
        kept |= {piece.id for piece in named}
        wanted |= set().union(*(words[piece.id] for piece in named))
        pending = [piece for piece in pending if piece.id not in kept]


def _is_root(text: bytes, piece: Node) -> bool:
    body = text[piece.start_byte : piece.end_byte]
    return b"__global__" in body and b"<<<" not in body


def _is_host(text: bytes, piece: Node) -> bool:
    """Whether a piece belongs to the host: torch types, launches, or `using namespace torch`."""
    body = text[piece.start_byte : piece.end_byte]
    if piece.type == "using_declaration":
        return bool(re.search(rb"\b(torch|at|c10)\b", body))
    return not DEVICE.search(body) and (bool(HOST.search(body)) or b"<<<" in body)


def _declares(text: bytes, piece: Node) -> set[bytes]:
    """The names that a declaration may be the declaration of: those before its first body or initialiser."""
    body = text[piece.start_byte : piece.end_byte]
    if piece.type in ("enum_specifier", "type_definition", "declaration", "template_instantiation"):
        return set(WORD.findall(body))
    return set(WORD.findall(re.split(rb"[{;]|(?<![=<>!])=(?!=)", body, maxsplit=1)[0]))


def _name(text: bytes, piece: Node) -> str:
    """The name of the function that a kernel's piece defines."""
    pending = [piece]
    while pending:
        node = pending.pop(0)
        if node.type == "function_declarator":
            declarator = node.child_by_field_name("declarator")
            words = WORD.findall(text, declarator.start_byte, declarator.end_byte) if declarator else []
            return words[-1].decode() if words else ""
        pending.extend(child for child in node.children if child.type != "compound_statement")
    return ""


def _includes(text: bytes, root: Node) -> Iterator[str]:
    for node in _walk(root):
        if node.type == "preproc_include":
            path = node.child_by_field_name("path")
            if path is not None:
                yield text[path.start_byte : path.end_byte].decode().strip('<>"')


def _launches(text: bytes, root: Node) -> Iterator[Launch]:
    for node in _walk(root):
        if node.type == "kernel_call_syntax" and node.parent is not None:
            called = node.parent.children[0]
            words = text[called.start_byte : called.end_byte].decode()
            yield Launch(re.sub(r"\s+", " ", words), called.start_point.row + 1)


def _walk(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))
