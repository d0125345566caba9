"""Generated code: sizes at the edges of vectors, and long sums."""

from __future__ import annotations

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    ARITHMETIC,
    COMPARISONS,
    REDUCTIONS,
    any_step,
    both,
)
from fuzzers.alignguard.needs import elements, filled, floating, known, numeric, ordinary, rank, real
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.values import Tensor
from fuzzers.alignguard.variants import Variant, any_of

RAGGED = {"v": "torch.randn(3, {ragged}).to({dtype})"}


def _ragged(s: Step) -> bool:
    shapes = [
        t.shape for t in (*s.call.tensors, *([s.result] if isinstance(s.result, Tensor) else [])) if t.shape
    ]
    return any(n[-1] > 8 and n[-1] % 8 for n in shapes)


def _empty(s: Step) -> bool:
    return any(t.count == 0 for t in s.call.tensors)


def _one(s: Step) -> bool:
    """A dimension of size 1 meets a larger one."""
    shapes = {t.shape for t in s.call.tensors if t.shape}
    return len(shapes) > 1 and any(1 in n for n in shapes)


def _long_sum(s: Step) -> bool:
    return s.call.name in (*REDUCTIONS, "cumsum") and (s.call.first.count or 0) >= 2048


CODEGEN_SIZES: tuple[Characteristic, ...] = (
    Characteristic(
        "size that is no multiple of the vector width",
        Stage.CODEGEN,
        "The innermost size is a little more than a multiple of 8 or 16: 9, 17, 33, 65.",
        "The rest of a row runs through a second loop or a masked load, which must do the same.",
        "return (x * 2).sum(-1)  # x is (3, 17)",
        any_step(_ragged),
        any_of(
            Variant("{y} = {x}.flatten().repeat({ragged})[:{ragged}] * {value}", (filled, numeric)),
            Variant("{also} = ({v} * 2).sum(-1)\n{also2} = {v}.amax(0)", (numeric,), inputs=RAGGED),
            Variant(
                "{also} = {v}.t().contiguous() + 1\n{also2} = torch.softmax({v}, -1)",
                (floating,),
                inputs=RAGGED,
            ),
            Variant("{y} = {x}.flatten()[:1].expand(2, {ragged}).{reduce}(-1)", (filled,)),
            Variant("{y} = {x}.sum() * {v}.transpose(0, 1)", (floating,), inputs=RAGGED),
        ),
    ),
    Characteristic(
        "nothing in it",
        Stage.CODEGEN,
        "A tensor without elements is computed with, reduced, or joined to others.",
        "Empty loops are special cases in sizes, reductions and joins, and may be left out with "
        "their effects.",
        "e = x[:0]\nreturn e.sum(0), torch.cat([e, x]), e.prod(), e.all()",
        any_step(_empty),
        any_of(
            Variant(
                "{t} = {x}[:0]\n{also} = {t}.sum(0)\n{also2} = {t}.prod()\n{y} = torch.cat([{t}, {x}])",
                (rank(1),),
                same=True,
            ),
            Variant(
                "{t} = {x}.flatten()[:0]\n{also} = {t}.sum()\n{also2} = {t}.all()\n{also3} = {t} * {value}",
                (numeric,),
            ),
            Variant("{y} = torch.cat([{x}.new_empty(0), {x}.flatten()]) * {value}", (known, numeric)),
            Variant("{also} = {x}[..., :0].sum(-1)\n{also2} = {x}[..., :0].mean(-1)", (floating, rank(1))),
        ),
    ),
    Characteristic(
        "sizes of one",
        Stage.CODEGEN,
        "Dimensions of size 1 meet larger ones, or are reduced, scanned or squeezed.",
        "Strides of such dimensions mean nothing, and loops over them are removed.",
        "return x[:, :1] * x + x.mean(0, keepdim=True)",
        any_step(both(lambda s: s.call.name in (*ARITHMETIC, "div", "where"), _one)),
        any_of(
            Variant("{y} = {x}[..., :1] * {x}", (numeric, filled, rank(1)), same=True),
            Variant("{y} = {x}.sum({dim}, keepdim=True) * {x}", (floating, rank(1)), same=True),
            Variant("{y} = {x}.unsqueeze(-1) + {x}.unsqueeze({dim})[..., :1]", (numeric, rank(1, 1), filled)),
            Variant("{y} = {x} - {x}[:1].cumsum(0)", (floating, filled, rank(1)), same=True),
        ),
    ),
    Characteristic(
        "long accumulation",
        Stage.CODEGEN,
        "Thousands of values are summed, averaged or scanned.",
        "The reduction is split over threads, vectors and levels, whose ends are where elements get lost.",
        "return x.flatten().repeat(700).sum(), x.expand(5000, 4).mean(0)",
        any_step(_long_sum),
        any_of(
            Variant(
                "{t} = {x}.flatten()[:1].expand(5003)\n{y} = {t}.sum() + {t}.cumsum(0)[-1]", (filled, numeric)
            ),
            Variant(
                "{t} = {x}.flatten().repeat(-(-4099 // {count}))[:4099]\n{y} = {t}.{reduce}()",
                (elements(1, 4000), lambda t: t.dtype is not None),
            ),
            Variant(
                "{also} = {v}.sum(0)\n{also2} = {v}.amax(1)\n{also3} = {v}.mean()",
                (numeric,),
                inputs={"v": "torch.randn(67, 65)"},
            ),
            Variant(
                "{t} = torch.arange(4101, dtype={dtype}) % 7\n{y} = {x} + {t}.sum() - {t}.amax()",
                (ordinary,),
                same=True,
            ),
            Variant(
                "{also} = {v}.sum(-1)\n{also2} = {v}.var(0)",
                (floating,),
                inputs={"v": "torch.randn(3, 2051).to({half})"},
            ),
        ),
    ),
    Characteristic(
        "mask stored and used",
        Stage.CODEGEN,
        "A comparison's result is returned, or read by another kernel, and also selects in the same kernel.",
        "In registers a mask is all ones or zeros; in memory it is a byte that has to be 0 or 1.",
        "m = x > 0\nreturn m, torch.where(m, x, -x), m.sum()",
        any_step(
            lambda s: (
                s.call.name in ("where", "sum", "any", "all", "logical_not")
                and any(
                    t.dtype == "bool" and t.by in (*COMPARISONS, "isnan", "isinf", "logical_and")
                    for t in s.call.tensors
                )
            )
        ),
        any_of(
            Variant(
                "{m} = {x} > 0\n{also} = {m}\n{y} = torch.where({m}, {x}, {x} * 2)", (numeric,), same=True
            ),
            Variant(
                "{m} = {x} {compare} {x}.flip({dim})\n{also} = {m}.sum({dim})\n"
                "{y} = torch.where({m}, {x}, {value})",
                (numeric, rank(1)),
                same=True,
            ),
            Variant(
                "{m} = {x} > 0\n{also} = {m}.any({dim})\n{also2} = {m}.all()\n{y} = {m}.logical_not()",
                (real, rank(1)),
            ),
        ),
    ),
)
