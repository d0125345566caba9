"""Generated code: integers of 8 and 16 bits, and booleans."""

from __future__ import annotations

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    ARITHMETIC,
    COMPARISONS,
    JOINS,
    REDUCTIONS,
    any_step,
    both,
    cast,
    small,
)
from fuzzers.alignguard.needs import boolean, filled, floating, integer, known, numeric, rank, real
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.values import SMALL
from fuzzers.alignguard.variants import Variant, any_of

SMALLS = {"n": "torch.randint(0, 100, {shape}, dtype={small})"}
"""Small integers of the tensor's shape."""
BYTES = {"n": "torch.randint(0, 256, {shape}, dtype=torch.uint8)"}


def _first_small(s: Step) -> bool:
    return s.call.first.dtype in SMALL


def _computed(s: Step) -> bool:
    """An operand was computed, not given."""
    return any(t.made & ARITHMETIC for t in s.call.tensors)


def _on_booleans(s: Step) -> bool:
    logical = s.call.name in ("logical_not", "logical_and", "logical_or", "where", "masked_fill", "index")
    return any(t.dtype == "bool" for t in s.call.tensors) and not logical


CODEGEN_SMALL: tuple[Characteristic, ...] = (
    Characteristic(
        "small integers in a reduction",
        Stage.CODEGEN,
        "Integers of 8 or 16 bits, as they are or computed, go into a sum, product, minimum or maximum.",
        "They are kept in wider registers between operators and must wrap where eager's would.",
        "return x.abs().neg().sum(0)  # x is uint8",
        any_step(both(lambda s: s.call.name in REDUCTIONS, _first_small)),
        any_of(
            Variant("{y} = {x}.to({small}).neg().{reduce}({dim})", (integer, rank(1), filled)),
            Variant(
                "{also} = {n}.{u8}().sum({dim})\n{y} = {x} + {n}.prod()",
                (numeric, rank(1), filled),
                inputs=SMALLS,
                same=True,
            ),
            Variant("{also} = torch.cat([{n}.abs().neg(), {n}]).sum()", (filled, rank(1)), inputs=BYTES),
            Variant("{y} = ({x} != 0).to(torch.uint8).neg().sum({dim})", (rank(1), filled)),
            Variant(
                "{also} = ({n} + {n}).amax({dim})\n{also2} = ({n} * 3).sum({dim})",
                (rank(1), filled),
                inputs=SMALLS,
            ),
            Variant("{y} = {x}.{unary}().{reduce}()", (lambda t: t.dtype in SMALL, filled)),
        ),
    ),
    Characteristic(
        "small integers in arithmetic, then cast",
        Stage.CODEGEN,
        "Arithmetic on integers of 8 or 16 bits wraps, and the result is cast to a wider dtype.",
        "A compiler that computes in the wider dtype from the beginning does not wrap.",
        "return (x * 3 + 200).to(torch.int32)  # x is uint8",
        any_step(both(cast, _first_small, _computed)),
        any_of(
            Variant("{y} = {x}.to({small}).neg().to({wide})", (integer,)),
            Variant("{also} = ({n} * 3 + {n}).to({wide})", (known,), inputs=SMALLS),
            Variant(
                "{y} = {x} + {n}.neg().to({dtype})",
                (numeric, lambda t: t.dtype != "uint8"),
                inputs=BYTES,
                same=True,
            ),
            Variant("{also} = {n}.square().to(torch.float32) * 2", (known,), inputs=SMALLS),
            Variant("{y} = (({x} > 0).to(torch.uint8) - 1).to({wide})", (real,)),
            Variant("{y} = {x}.{unary}().neg().to({wide})", (lambda t: t.dtype in SMALL,)),
        ),
    ),
    Characteristic(
        "small integers in a comparison",
        Stage.CODEGEN,
        "Integers of 8 or 16 bits are computed, and the result is compared or its extreme is taken.",
        "Whether it wraps before the comparison decides the answer.",
        "return (x - y < 0) | (x + y > 200)  # uint8",
        any_step(both(lambda s: s.call.name in COMPARISONS, small, _computed)),
        any_of(
            Variant("{also} = ({n} - 50) {compare} 60", (known,), inputs=SMALLS),
            Variant("{also} = torch.maximum({n}.neg(), {n})", (known,), inputs=BYTES),
            Variant(
                "{y} = torch.where({n} + {n} {compare} {n}, {x}, {x} * 2)",
                (numeric,),
                inputs=SMALLS,
                same=True,
            ),
            Variant("{y} = ({x} * 3) {compare} ({x} + 100)", (lambda t: t.dtype in SMALL,)),
            Variant("{b} = {x}.to({small})\n{y} = torch.minimum({b} - 3, {b} * 2)", (integer,)),
        ),
    ),
    Characteristic(
        "booleans and small integers joined or padded",
        Stage.CODEGEN,
        "Booleans or small integers go through `cat`, `stack`, `pad` or `where` together with arithmetic.",
        "Masked loads fill in a value of the wrong dtype, and promotion is decided piece by piece.",
        "return torch.cat([x.neg(), x]).to(torch.int32)  # x is uint8",
        any_step(
            both(
                lambda s: s.call.name in (*JOINS, "pad", "where", "constant_pad_nd"),
                lambda s: (
                    small(s) or any(t.dtype == "bool" for t in s.call.tensors[:2] if s.call.name != "where")
                ),
            )
        ),
        any_of(
            Variant(
                "{also} = torch.cat([{n}.neg(), {n}], {some}).to(torch.int32)",
                (filled, rank(1)),
                inputs=BYTES,
            ),
            Variant("{y} = torch.nn.functional.pad({x} > 0, (1, 1), value=True)", (real, rank(1))),
            Variant(
                "{also} = torch.nn.functional.pad({n} + 200, (1, 2), value=3) + 1", (rank(1),), inputs=BYTES
            ),
            Variant("{y} = torch.cat([{x} > 0, {x} < 0], -1).sum(-1)", (real, rank(1))),
            Variant("{also} = torch.where({n} > 50, {n} * 2, {n}.neg())", (known,), inputs=SMALLS),
            Variant(
                "{y} = torch.stack([{x}.to(torch.uint8), ~({x}.to(torch.uint8))]).amax(0)",
                (lambda t: t.integer or t.dtype == "bool",),
            ),
        ),
    ),
    Characteristic(
        "arithmetic on booleans",
        Stage.CODEGEN,
        "Booleans are added, multiplied, compared, reduced or scanned.",
        "They are stored as bytes: a sum that is not counted in a wider dtype, or a true that is "
        "not 1, goes wrong.",
        "b = x > 0\nreturn (b + b).sum(0), b * x, b.cumsum(0), ~b",
        any_step(_on_booleans),
        any_of(
            Variant("{b} = {x} > 0\n{also} = {b} + {b}\n{y} = {b} * {x}", (numeric,), same=True),
            Variant("{b} = {x} != 0\n{y} = {b}.cumsum({dim})", (rank(1),)),
            Variant(
                "{b} = {x} > 0\n{y} = ({b} ^ {b}.logical_not()).sum({dim}) + {b}.prod()", (real, rank(1))
            ),
            Variant(
                "{b} = {x} > 0\n{also} = {b}.amax({some})\n{also2} = {b}.to(torch.uint8) - 1\n"
                "{y} = {b}.{truth}()",
                (real, filled),
            ),
            Variant("{b} = {x} > 0\n{y} = torch.where({b}, {x}, {x} * 3) * {b}", (numeric,), same=True),
            Variant("{y} = ({x} | {x}) + {x} * {x}", (boolean,)),
            Variant(
                "{b} = {x} > 0\n{y} = ({b} == ({b} <= {b})).to({dtype}) - {b}.to({dtype})",
                (numeric,),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "several dtypes in one kernel",
        Stage.CODEGEN,
        "Tensors of different widths meet in one operator: doubles and bytes, 64-bit integers and halves.",
        "Vectors of different lengths must be converted and paired lane by lane.",
        "return x.double() + y * z  # y is int8, z is int64",
        any_step(
            lambda s: (
                s.call.name in (*ARITHMETIC, *COMPARISONS, "div", "where")
                and len({t.dtype for t in s.call.tensors if t.dtype and t.shape}) > 1
            )
        ),
        any_of(
            Variant("{y} = {x} + {n} * {x}", (floating, rank(1)), inputs=SMALLS, same=True),
            Variant("{y} = {x}.to(torch.float64) - ({x} > 0).to(torch.int8)", (numeric, rank(1))),
            Variant(
                "{y} = torch.where({x} > 0, {n}, {x})",
                (numeric, rank(1)),
                inputs={"n": "torch.randint(-9, 9, {shape})"},
            ),
            Variant(
                "{y} = {x} / {n}.add(1)",
                (numeric, rank(1)),
                inputs={"n": "torch.randint(0, 9, {shape}, dtype=torch.{signed})"},
            ),
            Variant(
                "{y} = torch.maximum({x}, {n})",
                (numeric, rank(1)),
                inputs={"n": "torch.randn({shape}, dtype={floats})"},
            ),
        ),
    ),
)
