"""Functionalization: what is read after a write, and what is written where."""

from __future__ import annotations

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    all_of,
    calls,
    either,
    made_by,
    mixed,
    read_after_write,
    straight_from,
    writes,
)
from fuzzers.alignguard.needs import (
    elements,
    filled,
    first,
    floating,
    integer,
    numeric,
    ordinary,
    rank,
    typed,
)
from fuzzers.alignguard.reading import names
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.variants import Variant, any_of


def _other_shape(s: Step) -> bool:
    return any(t.shape != s.call.first.shape for t in s.call.tensors[1:])


AOT_WRITES: tuple[Characteristic, ...] = (
    Characteristic(
        "base written, view read",
        Stage.AOT,
        "A view is taken, then its base is written in place, then the view is read.",
        "The view has to be made again from the new base; a view that was materialised early keeps "
        "old values.",
        "v = x.t()\nx.add_(1)\nreturn v * 1",
        read_after_write(),
        any_of(
            Variant("{v} = {x}.transpose(0, -1)\n{x}.{write}\n{also} = {v}.clone()", writes=True),
            Variant("{v} = {x}[..., ::2]\n{x}.{write}\n{also} = {v}.clone()", (rank(1),), writes=True),
            Variant("{v} = {x}.unsqueeze(-1)\n{x}.{write}\n{also} = {v}.sum(-1)", writes=True),
            Variant("{v} = {x}.select({some}, 0)\n{x}.{write}\n{also} = {v}.clone()", (filled,), writes=True),
        ),
    ),
    Characteristic(
        "source of an expanded view written",
        Stage.AOT,
        "A tensor is expanded, then written in place, and the expanded view is read.",
        "One write has to show up in every repetition.",
        "v = x.unsqueeze(0).expand(3, 4)\nx.mul_(2)\nreturn v + 1",
        read_after_write(("expand", "expand_as", "broadcast_to")),
        any_of(
            Variant(
                "{v} = {x}.unsqueeze(0).expand(3, *{x}.shape)\n{x}.{write}\n{also} = {v}.clone()", writes=True
            ),
            Variant(
                "{v} = {x}[..., :1].expand({shape})\n{x}.{write}\n{also} = {v}.clone()",
                (rank(1), filled),
                writes=True,
            ),
            Variant(
                "{v} = torch.broadcast_to({x}, (2, *{x}.shape))\n{x}.{write}\n{also} = {v}.sum(0)",
                writes=True,
            ),
        ),
    ),
    Characteristic(
        "overlapping windows read after a write",
        Stage.AOT,
        "Windows that overlap (`unfold`, `as_strided`) are taken, the memory under them is written, and the "
        "windows are read.",
        "One write shows up in several windows; views that are not one to one cannot be inverted.",
        "v = x.unfold(0, 3, 1)\nx.add_(1)\nreturn v.sum(1)",
        read_after_write(("unfold", "as_strided")),
        any_of(
            Variant(
                "{c} = {x}.clone().flatten()\n{v} = {c}.unfold(0, 2, 1)\n{c}.{write}\n{y} = {v}.sum(0)",
                (elements(2),),
            ),
            Variant(
                "{c} = {x}.clone()\n{v} = {c}.unfold({two}, 2, 1)\n{c}.{write}\n{y} = {v}.clone()", (filled,)
            ),
            Variant(
                "{c} = {x}.flatten().clone()\n{v} = torch.as_strided({c}, ({count} - 1, 2), (1, 1))\n"
                "{c}.{write}\n{y} = {v}.sum(1)",
                (elements(2),),
            ),
        ),
    ),
    Characteristic(
        "write with promotion or broadcasting",
        Stage.AOT,
        "What is written has another dtype or a smaller shape than what it is written into.",
        "The written value must be cast to the target's dtype and spread over its shape, in that order.",
        "x.copy_(x.double() * 0.3)\nx.mul_(x[:1])\nreturn x",
        writes(either(mixed, _other_shape)),
        any_of(
            Variant("{x}.copy_({x}.to(torch.float64) * 0.5)", (floating,), writes=True),
            Variant("{x}.mul_({x}[:1].clone())", (numeric, rank(1), first(2)), writes=True),
            Variant("{x}.add_(torch.tensor(3, dtype=torch.uint8))", (numeric,), writes=True),
            Variant("{x}.copy_({x}.sum({dim}, keepdim=True))", (numeric, rank(1), filled), writes=True),
            Variant("{x}[...] = torch.ones((), dtype={small})", writes=True),
            Variant("{x}.add_({x}.to({half}))", (floating,), writes=True),
        ),
    ),
    Characteristic(
        "write at chosen places",
        Stage.AOT,
        "Elements that a mask or an index tensor chooses are written in place.",
        "Such writes become scatters or selections, whose shapes and dtypes are worked out twice.",
        "x[x > 0] = 1\nx[:, [0, 2]] += 1\nreturn x",
        writes(
            either(
                straight_from("index"),
                lambda s: (
                    s.call.name
                    in names.names(
                        "masked_fill index_fill index_copy index_put masked_scatter scatter "
                        "index_add scatter_add"
                    )
                ),
            )
        ),
        any_of(
            Variant("{x}.masked_fill_({x} > 0, 2)", (numeric,), writes=True),
            Variant("{x}[{x} > 0] = 1", (numeric,), writes=True),
            Variant("{x}[..., [0, -1]] = {value}", (rank(1), filled, typed), writes=True),
            Variant(
                "{x}.index_fill_({some}, torch.tensor([0]), {value})", (rank(1), filled, typed), writes=True
            ),
            Variant(
                "{x}.scatter_({some}, torch.zeros_like({x}, dtype=torch.int64), 1)", (filled,), writes=True
            ),
            Variant(
                "{x}.index_add_(0, torch.tensor([0, 0]), {x}[:2].clone())", (first(2), numeric), writes=True
            ),
        ),
    ),
    Characteristic(
        "copy written while the original lives",
        Stage.AOT,
        "A copy of a tensor is written in place, and the original is used afterwards.",
        "Undoing functionalization turns copies back into writes; one too many destroys the original.",
        "t = x.clone()\nt[0] = 0\nreturn t + x",
        all_of(writes(made_by("clone", "zeros_like", "detach")), calls("clone")),
        any_of(
            Variant("{t} = {x}.clone()\n{t}.{write}\n{y} = {t} - {x}", (numeric,), same=True),
            Variant(
                "{t} = {x}.clone()\n{t}[..., :1].{write}\n{y} = torch.cat([{t}, {x}], -1)",
                (rank(1), filled, typed),
            ),
            Variant(
                "{t} = torch.zeros_like({x})\n{t}.copy_({x})\n{c} = {t}.clone()\n"
                "{t}.{write}\n{y} = {t} + {c}",
                (numeric,),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "buffer of an extern kernel written or viewed",
        Stage.AOT,
        "The result of a matrix product, a sort or another operator that the compiler does not generate is "
        "written in place or viewed.",
        "Its memory is allocated by somebody else, and reuse in place is decided by other rules.",
        "m = x @ x.mT\nm.t().add_(1)\nreturn m + m.sum()",
        writes(made_by("matmul", "mm", "bmm", "cumsum", "sort", "fft", "convolution", "addmm")),
        any_of(
            Variant(
                "{m} = {x} @ {x}.mT\n{m}.add_(1)\n{y} = {m}.transpose(-1, -2) + {m}.sum()",
                (ordinary, rank(2, 3)),
            ),
            Variant("{m} = {x}.sort({dim}).values\n{m}.{write}\n{y} = {m}", (numeric, rank(1)), same=True),
            Variant(
                "{m} = {x}.cumsum({dim})\n{m}[..., ::2].{write}\n{y} = {m}", (floating, rank(1)), same=True
            ),
            Variant("{m} = {x}.cumsum({dim})\n{m}.neg_()\n{y} = {m}.clone()", (integer, rank(1))),
        ),
    ),
)
