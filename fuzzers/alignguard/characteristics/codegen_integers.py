"""Generated code: integers at the ends of their range, shifts, divisions and bits."""

from __future__ import annotations

import ast

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    any_step,
    calls,
    nodes,
)
from fuzzers.alignguard.needs import floating, integer, known, numeric, real
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.variants import Variant, any_of

SMALLS = {"n": "torch.randint(0, 100, {shape}, dtype={small})"}
"""Small integers of the tensor's shape."""
EXTREMES = {
    "n": "torch.tensor([-2147483648, 2147483647, -2147483647, -1, 0, 1, 7], dtype=torch.int32)",
}
LONGS = {
    "n": "torch.tensor([9007199254740993, -9007199254740993, 4611686018427387905, 4294967297, "
    "-2147483649, 3])",
}
SIGNED = {"n": "torch.tensor([-7, -4, -3, -1, 1, 3, 4, 7], dtype=torch.{signed})"}


def _large(n: ast.AST) -> bool:
    return isinstance(n, ast.Constant) and isinstance(n.value, int) and abs(n.value) > 2**32


def _at_the_end(n: ast.AST) -> bool:
    return isinstance(n, ast.Constant) and n.value in (128, 32768, 2**31, 2**31 - 1, 2**63)


def _divides_signed(s: Step) -> bool:
    return s.call.name in ("floor_divide", "remainder", "fmod", "floordiv") or (
        s.call.name in ("div", "divide") and "rounding_mode" in s.call.named
    )


CODEGEN_INTEGERS: tuple[Characteristic, ...] = (
    Characteristic(
        "ends of the integer range",
        Stage.CODEGEN,
        "The smallest or largest integer of a dtype is compared, clamped, divided, or reduced.",
        "Identities of reductions, clamps and comparisons are chosen by hand for each dtype.",
        "n = torch.tensor([-2147483648, 2147483647], dtype=torch.int32)\n"
        "return n.amin(), n.clamp(max=-1), n // 3",
        nodes(_at_the_end, "inputs"),
        any_of(
            Variant("{also} = {n}.amin()\n{also2} = {n}.amax()\n{also3} = {n}.{arg32}()", inputs=EXTREMES),
            Variant("{also} = {n} // 3\n{also2} = {n} % 7\n{also3} = {n}.clamp(-5, 5)", inputs=EXTREMES),
            Variant(
                "{also} = {n}.to(torch.int64).neg()\n{also2} = {n}.sign() * 2\n{also3} = {n} ^ 5",
                inputs=EXTREMES,
            ),
            Variant(
                "{also} = torch.minimum({n}, {n}.flip(0))\n{also2} = {n} {compare} {n}.flip(0)",
                inputs=EXTREMES,
            ),
            Variant(
                "{also} = {n}.to(torch.float64) * 0.5\n{also2} = {n}.cummin(0)\n{also3} = {n} >> 3",
                inputs=EXTREMES,
            ),
            Variant(
                "{also} = {n}.to(torch.int32).neg()\n{also2} = {n}.amax()\n{also3} = {n} // 3",
                inputs={
                    "n": "torch.tensor([-128, 127, -127, -1, 0, 1, 100], dtype=torch.int8)[[0, "
                    "1, 2, 3, 4, 5, 6]]"
                }
                | {"m": "torch.full((9,), -128, dtype=torch.int8)"},
            ),
        ),
    ),
    Characteristic(
        "integers beyond a float",
        Stage.CODEGEN,
        "64-bit integers that no double holds exactly are divided, compared, reduced or averaged.",
        "A detour through floating point, or a 32-bit index, loses their low bits.",
        "n = torch.tensor([2**53 + 1, -(2**53) - 1])\nreturn n // 3, n % 7, n.amax(), n == n + 1",
        nodes(_large, "inputs"),
        any_of(
            Variant("{also} = {n} // {divisor}\n{also2} = {n} % {divisor}", inputs=LONGS),
            Variant(
                "{also} = {n}.amax()\n{also2} = {n}.sum()\n{also3} = {n}.sort(stable=True).values",
                inputs=LONGS,
            ),
            Variant(
                "{also} = {n} {compare} {n} + 1\n{also2} = {n}.sign()\n{also3} = {n}.abs()", inputs=LONGS
            ),
            Variant(
                "{also} = torch.div({n}, {divisor}, rounding_mode='{rounding}')\n{also2} = {n} * 3",
                inputs=LONGS,
            ),
            Variant(
                "{also} = torch.where({n} > 0, {n}, 1)\n{also2} = {n}.clamp(min=-4294967296)\n"
                "{also3} = {n} >> 2",
                inputs=LONGS,
            ),
        ),
    ),
    Characteristic(
        "shifts",
        Stage.CODEGEN,
        "Integers are shifted by amounts within their width, negative and small ones too.",
        "The width that a shift happens in, and whether it keeps the sign, is a matter of C++ promotion.",
        "return (x << 7) >> 3, x >> torch.tensor([0, 1, 2])  # x is uint8 or negative",
        calls("bitwise_left_shift bitwise_right_shift"),
        any_of(
            Variant("{y} = ({x} << {k}) >> {k}", (integer,)),
            Variant("{also} = ({n} << 3) >> 2\n{also2} = {n} >> 1", (known,), inputs=SMALLS),
            Variant(
                "{also} = {n} >> torch.tensor([0, 1, 2, 3, 0, 1, 2, 3], dtype=torch.{signed})\n"
                "{also2} = {n} >> {k}",
                inputs=SIGNED,
            ),
            Variant("{y} = ({x} > 0).to(torch.uint8) << 7 >> {k}", (real,)),
        ),
    ),
    Characteristic(
        "division and remainder of both signs",
        Stage.CODEGEN,
        "Floor division, remainder or `fmod` meets negative operands, integers and floats.",
        "C rounds towards zero and Python towards minus infinity; every dtype has a kernel of its own.",
        "return x // -3, x % -3, torch.fmod(x, 2)",
        any_step(_divides_signed),
        any_of(
            Variant("{y} = {x} // {divisor}", (numeric,), same=True),
            Variant("{y} = {x} % {divisor}", (numeric,), same=True),
            Variant("{y} = torch.fmod({x}, {divisor})", (numeric,), same=True),
            Variant("{y} = torch.div({x}, {divisor}, rounding_mode='{rounding}')", (numeric,), same=True),
            Variant(
                "{also} = {n} // {n}.flip(0)\n{also2} = {n} % {n}.flip(0)\n"
                "{also3} = torch.fmod({n}, {n}.roll(1))",
                inputs=SIGNED,
            ),
            Variant("{y} = torch.remainder({x}, -2.5) - {x} // 0.75", (floating,), same=True),
        ),
    ),
    Characteristic(
        "bits",
        Stage.CODEGEN,
        "Integers or booleans are combined bit by bit, negative ones too.",
        "`not` of a boolean is not `not` of a byte, and promotion must come before, not after.",
        "return ~x & 3, x ^ (x >> 1), ~(x > 0)",
        calls("bitwise_and bitwise_or bitwise_xor bitwise_not"),
        any_of(
            Variant("{y} = ~{x} & 3", (integer,), same=True),
            Variant(
                "{also} = ~{n} ^ ({n} & 5)\n{also2} = ({n} | 1).to(torch.int64)", (known,), inputs=SMALLS
            ),
            Variant("{b} = {x} > 0\n{y} = ({b} & ~{b}) | ({x} < 1)", (real,)),
            Variant("{also} = ~{n}\n{also2} = {n} ^ -1\n{also3} = {n} & 255", inputs=SIGNED),
        ),
    ),
    Characteristic(
        "wide unsigned integers",
        Stage.CODEGEN,
        "Unsigned integers of 16, 32 or 64 bits are cast, compared or viewed.",
        "They came late: promotion, constants and vector code were written for the signed ones.",
        "return x.to(torch.uint16).to(torch.int32) + 1",
        any_step(
            lambda s: any(
                t.dtype in ("uint16", "uint32", "uint64")
                for t in (*s.call.tensors, *([s.result] if hasattr(s.result, "dtype") else []))
            )
        ),
        any_of(
            Variant(
                "{also} = {n}.to(torch.int64) + 1\n{also2} = {n} == {n}",
                inputs={"n": "torch.tensor([0, 1, 65535, 40000, 7], dtype=torch.uint16)"},
            ),
            Variant(
                "{also} = {n}.to(torch.float64) * 0.5\n{also2} = {n}.to(torch.int64) % 7",
                inputs={"n": "torch.tensor([0, 1, 4294967295, 2147483648, 7], dtype=torch.uint32)"},
            ),
            Variant(
                "{also} = {n}.view(torch.int32).to(torch.int64)\n{also2} = {n}.to(torch.float32)",
                inputs={"n": "torch.tensor([0, 1, 4294967295, 2147483648, 7], dtype=torch.uint32)"},
            ),
            Variant("{y} = {x}.abs().to(torch.uint16).to({dtype})", (integer,)),
        ),
    ),
)
