"""C++ numbers of host code: types, conversions and arithmetic.

Invariant: a number's value is one that its type can hold; integer arithmetic wraps at the type's width, as
x86 compilers make it, and float arithmetic rounds to the type. A number that comes out of tensor data knows
it (`element`), and one computed from such numbers knows that too (`derived`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fuzzers.dirigo.host.records import View
from fuzzers.dirigo.simt.events import Unknown


@dataclass(frozen=True)
class Type:
    """A scalar type: its C++ name as kernels write it, kind (`i`, `u`, `f`, `b`) and bits."""

    name: str
    kind: str
    bits: int

    @property
    def size(self) -> int:
        return -(-self.bits // 8)


VOID = Type("void", "v", 8)
BOOL = Type("bool", "b", 8)
CHAR = Type("char", "i", 8)
BYTE = Type("unsigned char", "u", 8)
SHORT = Type("short", "i", 16)
USHORT = Type("unsigned short", "u", 16)
INT = Type("int", "i", 32)
UINT = Type("unsigned int", "u", 32)
LONG = Type("int64_t", "i", 64)
ULONG = Type("uint64_t", "u", 64)
FLOAT = Type("float", "f", 32)
DOUBLE = Type("double", "f", 64)
HALF = Type("__half", "f", 16)
BFLOAT = Type("__nv_bfloat16", "f", 15)
"""15 stands for the other format of 16 bits."""

SPELLED: Mapping[str, Type] = {
    "void": VOID,
    "bool": BOOL,
    **dict.fromkeys(("char", "signed char", "int8_t"), CHAR),
    **dict.fromkeys(("unsigned char", "uint8_t", "byte"), BYTE),
    **dict.fromkeys(("short", "int16_t", "short int"), SHORT),
    **dict.fromkeys(("unsigned short", "uint16_t"), USHORT),
    **dict.fromkeys(("int", "int32_t", "signed", "signed int", "cudaError_t"), INT),
    **dict.fromkeys(("unsigned", "unsigned int", "uint32_t", "uint"), UINT),
    **dict.fromkeys(
        ("long", "long long", "int64_t", "long int", "long long int", "ptrdiff_t", "ssize_t", "intptr_t"),
        LONG,
    ),
    **dict.fromkeys(
        ("unsigned long", "unsigned long long", "uint64_t", "size_t", "uintptr_t", "unsigned long int"), ULONG
    ),
    "float": FLOAT,
    "double": DOUBLE,
    **dict.fromkeys(("half", "__half", "Half"), HALF),
    **dict.fromkeys(("nv_bfloat16", "__nv_bfloat16", "BFloat16"), BFLOAT),
}
VECTORS: Mapping[str, tuple[Type, int]] = {
    f"{name}{count}": (type_, count)
    for name, type_ in (
        ("float", FLOAT),
        ("int", INT),
        ("uint", UINT),
        ("double", DOUBLE),
        ("char", CHAR),
        ("uchar", BYTE),
        ("short", SHORT),
        ("longlong", LONG),
    )
    for count in (1, 2, 3, 4)
}
PACKED = {"half2": 4, "__half2": 4, "nv_bfloat162": 4, "__nv_bfloat162": 4}
DTYPES: Mapping[str, Type] = {
    "bool": BOOL,
    "int8": CHAR,
    "uint8": BYTE,
    "int16": SHORT,
    "int32": INT,
    "int64": LONG,
    "float32": FLOAT,
    "float64": DOUBLE,
    "float16": HALF,
    "bfloat16": BFLOAT,
}
"""A tensor's dtype to the type of its elements."""
NAMES = {type_: name for name, type_ in DTYPES.items()}
ROUND: Mapping[int, Callable[[float], float]] = {
    64: float,
    32: lambda value: float(np.float32(value)),
    16: lambda value: float(np.float16(value)),
    15: lambda value: _bfloat(value),
}


def _bfloat(value: float) -> float:
    bits = int(np.float32(value).view(np.uint32))
    if not math.isfinite(value):
        return value
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return float(np.uint32(rounded).view(np.float32))


@dataclass(frozen=True)
class Number:
    """A number and its type."""

    type: Type
    value: int | float
    element: View | None = None
    derived: bool = False

    @property
    def is_data(self) -> bool:
        """Whether it depends on tensor data."""
        return self.derived or self.element is not None


def convert(number: Number, type_: Type) -> Number:
    """The number as another type, as an implicit conversion makes it."""
    if number.type == type_:
        return number
    value = number.value
    if type_.kind == "f":
        with np.errstate(all="ignore"):
            return replace(number, type=type_, value=ROUND[type_.bits](value))
    made = _integer(value, type_)
    return Number(type_, made, None, number.is_data)


def _integer(value: float, type_: Type) -> int:
    if type_.kind == "b":
        return int(bool(value))
    if isinstance(value, float) and not math.isfinite(value):
        return 0
    mask = (1 << type_.bits) - 1
    wrapped = int(value) & mask
    return wrapped - mask - 1 if type_.kind == "i" and wrapped >> (type_.bits - 1) else wrapped


def promoted(type_: Type) -> Type:
    """Integer promotion."""
    return INT if type_.kind in "iub" and type_.bits < 32 else type_


def common(left: Type, right: Type) -> Type:
    """The type in which C++ computes with two numbers."""
    left, right = promoted(left), promoted(right)
    if left.kind == "f" or right.kind == "f":
        return max((t for t in (left, right) if t.kind == "f"), key=lambda t: t.bits)
    if left.bits != right.bits:
        return left if left.bits > right.bits else right
    return left if left.kind == "u" else right


def _divide(left: float, right: float) -> float:
    """Integers truncate towards zero; a float by zero is an infinity or nothing."""
    if isinstance(left, int) and isinstance(right, int):
        if right == 0:
            raise ZeroDivisionError
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    with np.errstate(all="ignore"):
        return float(np.float64(left) / np.float64(right))


def _remainder(left: float, right: float) -> float:
    if isinstance(left, int) and isinstance(right, int):
        return left - int(_divide(left, right)) * right
    raise Unknown("host: % of floats")


ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
}
BITWISE: Mapping[str, Callable[[int, int], int]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def binary(sign: str, left: Number, right: Number) -> Number:
    """`left sign right`; raises ZeroDivisionError for an integer divided by zero, which ends the process."""
    derived = left.is_data or right.is_data
    if sign in ("<<", ">>"):
        type_ = promoted(left.type)
        by = int(right.value) & (type_.bits - 1)
        shifted = int(left.value) << by if sign == "<<" else int(left.value) >> by
        return Number(type_, _integer(shifted, type_), None, derived)
    type_ = common(left.type, right.type)
    one, other = convert(left, type_).value, convert(right, type_).value
    if sign in COMPARED:
        return Number(BOOL, int(COMPARED[sign](one, other)), None, derived)
    if sign in BITWISE:
        return Number(type_, _integer(BITWISE[sign](int(one), int(other)), type_), None, derived)
    value = ARITHMETIC[sign](one, other)
    if type_.kind == "f":
        with np.errstate(all="ignore"):
            return Number(type_, ROUND[type_.bits](value), None, derived)
    return Number(type_, _integer(value, type_), None, derived)


def unary(sign: str, number: Number) -> Number:
    type_ = promoted(number.type)
    if sign == "!":
        return Number(BOOL, int(not number.value), None, number.is_data)
    if sign == "+":
        return convert(number, type_)
    value: float = -number.value if sign == "-" else ~int(number.value)
    made = value if type_.kind == "f" else _integer(value, type_)
    return Number(type_, made, None, number.is_data)


def literal(text: str) -> Number:
    """A number literal: suffixes, hexadecimal, digit separators."""
    plain = text.replace("'", "").lower()
    if plain.startswith(("0x", "0b")):
        digits = plain.rstrip("ul")
        return _sized(int(digits, 0), plain[len(digits) :])
    if any(letter in plain for letter in ".e") or plain.endswith("f"):
        type_ = FLOAT if plain.endswith("f") else DOUBLE
        return convert(Number(DOUBLE, float(plain.rstrip("fl"))), type_)
    digits = plain.rstrip("uzl")
    octal = len(digits) > 1 and digits.startswith("0")
    return _sized(int(digits, 8 if octal else 10), plain[len(digits) :])


def _sized(value: int, suffix: str) -> Number:
    if "l" in suffix or "z" in suffix:
        return Number(ULONG if "u" in suffix or value >> 63 else LONG, value)
    if "u" in suffix:
        return Number(UINT if value < 1 << 32 else ULONG, value)
    return Number(INT if value < 1 << 31 else LONG if value < 1 << 63 else ULONG, value)
