"""Operands and variable declarations of PTX, from their spelling.

Invariant: a literal becomes exactly the bits that PTX says it is; what is not understood raises `Unreadable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fuzzers.dirigo.ptx.model import WIDTHS, Address, Group, Immediate, Operand, Register, Symbol, Variable

FLOAT = re.compile(r"^0([fFdD])([0-9a-fA-F]+)$")
INTEGER = re.compile(r"^-?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?$")
NAME = re.compile(r"^[A-Za-z_$%][\w$@.]*$")
SUM = re.compile(r"^(?P<name>[A-Za-z_$%][\w$@.]*)\s*\+\s*(?P<offset>-?\w+)$")
VARIABLE = re.compile(
    r"^\s*(?:\.(?:visible|weak|extern|common)\s+)*\.(?P<space>global|const|shared|local|param)\s+"
    r"(?:\.align\s+(?P<before>\d+)\s+)?(?:\.ptr\s+)?(?:\.(?P<vector>v[248])\s+)?\.(?P<type>\w+)\s+"
    r"(?:\.ptr\s+(?:\.\w+\s+)?(?:\.align\s+\d+\s+)?)?(?P<name>[\w$@.]+)(?P<extents>(?:\[\d*\])*)\s*"
    r"(?:=\s*(?P<initial>.*))?$",
    re.DOTALL,
)


class Unreadable(Exception):
    """A piece of PTX that this parser does not know."""


def operands(text: str) -> tuple[Operand, ...]:
    """The operands of an instruction, in order."""
    return tuple(operand(piece) for piece in _split(text))


def operand(text: str) -> Operand:
    """One operand."""
    text = text.strip()
    if text[:1] in "{(":
        return Group(operands(text[1:-1]))
    if text[:1] == "[":
        return _address(text[1:-1])
    if text[:1] == "!":
        return register(text[1:].strip(), negated=True)
    if "|" in text:
        return Group(operands(text.replace("|", ",")))
    if literal := immediate(text):
        return literal
    if found := SUM.match(text):
        return Symbol(found["name"], int(found["offset"], 0))
    if not NAME.match(text):
        raise Unreadable(text)
    return register(text) if text[0] == "%" or text == "_" else Symbol(text)


def register(name: str, negated: bool = False) -> Register:
    return Register(name, negated)


def immediate(text: str) -> Immediate | None:
    """A literal of PTX: 0f and 0d give the bits of a float, anything else is an integer."""
    if found := FLOAT.match(text):
        return Immediate(int(found[2], 16), 4 if found[1] in "fF" else 8)
    if INTEGER.match(text):
        digits = text.rstrip("U")
        plain = digits.lstrip("-")
        octal = len(plain) > 1 and plain[0] == "0" and plain.isdigit()
        return Immediate((-1 if digits[0] == "-" else 1) * int(plain, 8 if octal else 0))
    return None


def variables(text: str) -> Iterator[Variable]:
    """The variable that a declaration declares, if it is one."""
    found = VARIABLE.match(text)
    if found is None:
        if text.strip():
            raise Unreadable(text.strip())
        return
    unit = WIDTHS[found["type"]] * int((found["vector"] or "v1")[1:])
    extents = [int(extent or 0) for extent in re.findall(r"\[(\d*)\]", found["extents"])]
    size = unit
    for extent in extents:
        size *= extent
    initial, pointers = _initial(found["initial"], WIDTHS[found["type"]])
    yield Variable(found["name"], found["space"], size, int(found["before"] or unit), initial, pointers)


def _initial(text: str | None, unit: int) -> tuple[bytes, dict[int, Symbol]]:
    """The bytes of an initialiser, and where an address of another variable belongs."""
    if text is None:
        return b"", {}
    out = bytearray()
    pointers: dict[int, Symbol] = {}
    for piece in re.findall(r"[^\s{},]+", text):
        literal = immediate(piece)
        if literal is None:
            pointers[len(out)] = Symbol(re.sub(r"^generic\(|\)$", "", piece))
            literal = Immediate(0)
        width = literal.floating or unit
        out += (literal.value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(out), pointers


def _address(text: str) -> Address:
    text = text.strip()
    if found := SUM.match(text):
        base = operand(found["name"])
        offset = int(found["offset"], 0)
    else:
        base, offset = operand(text), 0
    if isinstance(base, Immediate):
        return Address(None, base.value)
    if not isinstance(base, Register | Symbol):
        raise Unreadable(text)
    return Address(base, offset)


def _split(text: str) -> Iterator[str]:
    """Split at the commas that stand in no bracket."""
    depth = start = 0
    for at, letter in enumerate(text):
        depth += (letter in "{([") - (letter in "})]")
        if letter == "," and not depth:
            yield text[start:at]
            start = at + 1
    if text[start:].strip():
        yield text[start:]
