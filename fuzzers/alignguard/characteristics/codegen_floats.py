"""Generated code: special values, half precision, powers, and the edges of floating point."""

from __future__ import annotations

import ast

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    ARITHMETIC,
    all_of,
    any_step,
    calls,
    cast,
    nodes,
    one_of,
    text,
)
from fuzzers.alignguard.needs import filled, integer, numeric, ordinary, rank
from fuzzers.alignguard.reading.call import plain
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.values import COMPLEX, INTEGERS, Tensor
from fuzzers.alignguard.variants import Variant, any_of

NAN = "{t} = torch.where({x} > 0, {x}, float('nan'))\n"
PICKING = (
    "max min amax amin maximum minimum fmax fmin clamp relu clip argmax argmin sort nan_to_num aminmax cummax"
)


def _half(s: Step) -> bool:
    halves = ("float16", "bfloat16")
    return s.call.first.dtype in halves and any(t.made & ARITHMETIC for t in s.call.tensors)


def _to_integer(s: Step) -> bool:
    return cast(s) and s.call.first.floating and isinstance(s.result, Tensor) and s.result.dtype in INTEGERS


def _itself(n: ast.AST) -> bool:
    """`x != x`, `x - x`."""
    if isinstance(n, ast.Compare):
        return ast.dump(n.left) == ast.dump(n.comparators[0])
    return isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) and ast.dump(n.left) == ast.dump(n.right)


def _special_power(s: Step) -> bool:
    return s.call.name in ("pow", "float_power") and any(
        isinstance(plain(a), int | float) for a in s.call.args
    )


def _eight_bits(s: Step) -> bool:
    return isinstance(s.result, Tensor) and (s.result.dtype or "").startswith("float8")


CODEGEN_FLOATS: tuple[Characteristic, ...] = (
    Characteristic(
        "NaN through minimum, maximum or clamp",
        Stage.CODEGEN,
        "NaN goes into `max`, `min`, `clamp`, `relu`, `sort` or a comparison.",
        "Vector instructions, C++ and Python disagree on what the larger of a number and NaN is.",
        "y = torch.where(x > 0, x, float('nan'))\nreturn y.amax(0), y.clamp(min=0), torch.maximum(y, x)",
        all_of(calls(PICKING), text("nan')", 'nan")', "math.nan", "0 / 0")),
        any_of(
            Variant(NAN + "{also} = torch.maximum({t}, {x})\n{y} = {t}.clamp(min=0)", (ordinary,), same=True),
            Variant(NAN + "{also} = {t}.amax({dim})\n{y} = {t}.max({dim})", (ordinary, rank(1), filled)),
            Variant(
                NAN + "{also} = {t}.argmax({dim})\n{y} = torch.relu({t})",
                (ordinary, rank(1), filled),
                same=True,
            ),
            Variant(
                NAN + "{also} = torch.fmin({t}, {x})\n{also2} = torch.nan_to_num({t}, nan=3.0)\n"
                "{y} = torch.minimum({x}, {t})",
                (ordinary,),
                same=True,
            ),
            Variant(
                NAN + "{also} = {t}.amin()\n{y} = torch.clamp({t}, -0.5, 0.5)", (ordinary, filled), same=True
            ),
            Variant(
                "{t} = torch.where({x} > 1, float('nan'), {x})\n{y} = {t}.sort(dim={dim}, "
                "stable=True).values",
                (ordinary, rank(1)),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "NaN and infinity found by comparison",
        Stage.CODEGEN,
        "A value is compared with itself or subtracted from itself, or infinities are looked for.",
        "Simplifiers assume that `x == x` and `x - x` are constants.",
        "y = x / 0\nreturn y != y, y - y, torch.isinf(y)",
        one_of(nodes(_itself), calls("isnan isinf isfinite isneginf isposinf")),
        any_of(
            Variant(
                "{t} = {x} / 0\n{also} = {t} != {t}\n{y} = torch.where(torch.isinf({t}), {x}, {t})",
                (ordinary,),
                same=True,
            ),
            Variant("{t} = {x}.log()\n{y} = torch.where({t} == {t}, {t}, {x})", (ordinary,), same=True),
            Variant(
                "{t} = {x} / {x}.abs().sub({x}.abs())\n{also} = torch.isnan({t} - {t})\n"
                "{also2} = {t}.isfinite()",
                (ordinary,),
            ),
        ),
    ),
    Characteristic(
        "signs and zeros",
        Stage.CODEGEN,
        "The sign of a value matters: `copysign`, `signbit`, `atan2`, `sign`, division by a zero.",
        "Several of these are built from comparisons, which do not see the sign of a zero or a NaN.",
        "return torch.copysign(x, y), torch.atan2(y, -x.abs()), torch.signbit(x)",
        calls("copysign signbit atan2 sign sgn nextafter hypot heaviside ldexp frexp"),
        any_of(
            Variant("{y} = torch.copysign({x}, {x}.flip({dim}))", (ordinary, rank(1)), same=True),
            Variant(
                "{also} = torch.signbit({x})\n{y} = torch.atan2({x}, -{x}.abs())", (ordinary,), same=True
            ),
            Variant("{y} = torch.hypot({x}, {x} * 2) * torch.sign({x})", (ordinary,), same=True),
            Variant("{also} = {x}.sign()\n{also2} = {x}.sgn() * 2", (numeric,)),
            Variant(
                "{y} = torch.heaviside({x}, torch.full_like({x}, 0.5)) + torch.ldexp({x}, torch.tensor(2))",
                (ordinary,),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "half precision in a chain",
        Stage.CODEGEN,
        "Several operators in float16 or bfloat16 follow one another, with reductions or casts between.",
        "Eager rounds after each operator and fused code may not; sums are kept in another dtype.",
        "h = x.to(torch.bfloat16)\nreturn ((h * 1.5 + 0.1).sum(0) * h).float()",
        any_step(_half),
        any_of(
            Variant("{h} = {x}.to({half})\n{y} = ({h} * 1.5 + 0.25).to({dtype})", (ordinary,), same=True),
            Variant("{h} = {x}.to({half})\n{y} = ({h}.{unary}() * 2).sum({dim})", (ordinary, rank(1))),
            Variant(
                "{h} = {x}.to({half}) - 1\n{y} = torch.softmax({h}, -1).to({dtype}) * {x}",
                (ordinary, rank(1)),
                same=True,
            ),
            Variant(
                "{h} = {x}.to({half}) * {x}.to({half})\n{y} = {h}.amax({dim}) + {h}.mean()",
                (ordinary, rank(1), filled),
            ),
            Variant(
                "{y} = ({x} * 2 + 1).mean({dim}) * {x}.abs().sum()",
                (lambda t: t.dtype in ("float16", "bfloat16"), rank(1), filled),
            ),
        ),
    ),
    Characteristic(
        "float to integer",
        Stage.CODEGEN,
        "Values with fractions are cast to integers, or rounded by `round`, `trunc`, `floor` or `ceil`.",
        "Half goes to even in one and away from zero in another; a cast cuts towards zero.",
        "return (x * 2).round() / 2, x.to(torch.int32), torch.trunc(-x)",
        one_of(any_step(_to_integer), calls("round trunc floor ceil frac fix")),
        any_of(
            Variant("{y} = ({x} * 2).round() / 2", (ordinary,), same=True),
            Variant("{t} = torch.nan_to_num({x}).clamp(-99, 99)\n{y} = {t}.to({signedint}) * 2", (ordinary,)),
            Variant(
                "{also} = torch.frac({x})\n{y} = torch.trunc({x}) + torch.floor(-{x})", (ordinary,), same=True
            ),
            Variant(
                "{y} = (torch.arange(8) * 0.5 - 2).round().to(torch.int8).sum() + {x}", (ordinary,), same=True
            ),
            Variant("{t} = {x}.clamp(0, 200)\n{y} = torch.nan_to_num({t}).to(torch.uint8)", (ordinary,)),
        ),
    ),
    Characteristic(
        "powers",
        Stage.CODEGEN,
        "A power has a special exponent (0, 1, 2, 0.5, -1, 3), a special base, or integer operands.",
        "Each is expanded by hand into products, roots or reciprocals, with its own dtype and "
        "special values.",
        "return x ** 3, 2 ** x, x.pow(0.5), torch.pow(n, 2)  # n is int",
        any_step(_special_power),
        any_of(
            Variant("{y} = {x} ** {exponent}", (ordinary,), same=True),
            Variant("{y} = 2 ** {x}", (ordinary,), same=True),
            Variant("{y} = torch.pow({x}, {whole})", (numeric,), same=True),
            Variant("{y} = torch.float_power({x}, {whole})", (numeric,)),
            Variant("{y} = torch.pow({whole}, {x}.abs() % 5)", (integer,)),
            Variant("{y} = {x}.to({half}).pow({exponent})", (ordinary,)),
        ),
    ),
    Characteristic(
        "complex numbers",
        Stage.CODEGEN,
        "Complex tensors are computed with, conjugated, and taken apart.",
        "They fall back in part, carry conjugation as a bit, and are views of pairs of floats.",
        "z = torch.complex(x, -x)\nreturn (z * z.conj()).real, z.abs(), torch.view_as_real(z).sum(0)",
        any_step(lambda s: any(t.dtype in COMPLEX for t in s.call.tensors)),
        any_of(
            Variant("{z} = torch.complex({x}, -{x})\n{y} = ({z} * {z}.conj()).real", (ordinary,), same=True),
            Variant(
                "{z} = torch.complex({x}, {x}.flip({dim}))\n{also} = {z}.abs()\n{y} = {z}.conj().imag",
                (ordinary, rank(1)),
                same=True,
            ),
            Variant(
                "{z} = torch.complex({x}, {x})\n{y} = torch.view_as_real({z} * 1j).sum(-1)",
                (ordinary,),
                same=True,
            ),
            Variant(
                "{z} = torch.polar({x}.abs(), {x})\n{y} = {z}.sum().real + {z}.real", (ordinary,), same=True
            ),
        ),
    ),
    Characteristic(
        "cast to an eight-bit float",
        Stage.CODEGEN,
        "Values are cast to a float of eight bits and back.",
        "Rounding and what happens beyond the range are written out by hand.",
        "return x.to(torch.float8_e4m3fn).to(torch.float32)",
        any_step(_eight_bits),
        any_of(
            Variant("{y} = {x}.clamp(-100, 100).to({eight}).to({dtype})", (ordinary,), same=True),
            Variant(
                "{t} = torch.tanh({x}).to({eight})\n{y} = {t}.to(torch.bfloat16).to({dtype}) + {x}",
                (ordinary,),
                same=True,
            ),
        ),
    ),
)
