"""Functionalization: writes through every kind of view."""

from __future__ import annotations

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    TRANSPOSES,
    viewed,
    writes,
)
from fuzzers.alignguard.needs import (
    complex_,
    elements,
    filled,
    floating,
    known,
    last,
    ordinary,
    rank,
    typed,
)
from fuzzers.alignguard.reading import names
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.variants import Variant, any_of


def _deep(s: Step) -> bool:
    return len(s.call.first.views) > 2


AOT_VIEWS: tuple[Characteristic, ...] = (
    Characteristic(
        "write through a slice",
        Stage.AOT,
        "A slice, `narrow` or `select` of a tensor is written in place, and the whole tensor is read later.",
        "The write has to become a scatter into a new tensor; a wrong start, step or size puts it elsewhere.",
        "v = x[:, ::2]\nv.add_(1)\nreturn x * 2",
        writes(viewed(("slice", "narrow", "select"))),
        any_of(
            Variant("{x}[..., ::{step}].{write}", (rank(1), filled), writes=True),
            Variant("{v} = {x}.narrow({some}, 0, 1)\n{v}.{write}", (filled,), writes=True),
            Variant("{v} = {x}.select({some}, -1)\n{v}.{write}", (filled,), writes=True),
            Variant("{x}[..., 1:] = {x}[..., :-1].clone()", (last(2),), writes=True),
            Variant("{x}[{negative}:].{write}", (rank(1), filled), writes=True),
        ),
    ),
    Characteristic(
        "write through a transpose",
        Stage.AOT,
        "A transposed or permuted view is written in place, and the base is read later.",
        "The inverse of the permutation has to be applied to the written values, which is easy to get wrong "
        "when views are chained.",
        "v = x.permute(1, 0)\nv[0].mul_(3)\nreturn x",
        writes(viewed(TRANSPOSES)),
        any_of(
            Variant("{v} = {x}.transpose({dim}, {other})\n{v}.{write}", (rank(2),), writes=True),
            Variant("{x}.permute{perm}[0].{write}", (rank(2), filled), writes=True),
            Variant("{v} = {x}.movedim(0, -1)\n{v}[..., :1].{write}", (rank(2), filled), writes=True),
            Variant("{x}.mT.{write}", (rank(2),), writes=True),
        ),
    ),
    Characteristic(
        "write through a diagonal",
        Stage.AOT,
        "The diagonal of a tensor is written in place.",
        "Its strides are the sum of two others, and its inverse is a scatter that few programs exercise.",
        "torch.diagonal(x, 0, 0, 1).fill_(2)\nreturn x.sum(0)",
        writes(viewed(("diagonal",))),
        any_of(
            Variant("torch.diagonal({x}, 0, {dim}, {other}).{write}", (rank(2), filled), writes=True),
            Variant("{v} = {x}.diagonal(1, -2, -1)\n{v}.{write}", (rank(2), last(2)), writes=True),
        ),
    ),
    Characteristic(
        "write through an alias",
        Stage.AOT,
        "A second tensor over the same memory (`view_as`, `detach`, `view`, `[...]`) is written in place.",
        "Both names have to see the write; a compiler that forgets that they share memory keeps "
        "the old value.",
        "v = x.view_as(x)\nv.mul_(2)\nreturn x, v",
        writes(viewed(("view_as", "detach", "view", "alias", "unsqueeze", "squeeze", "unflatten"))),
        any_of(
            Variant("{v} = {x}.view_as({x})\n{v}.{write}\n{also} = {v} * {value}", (typed,), writes=True),
            Variant("{v} = {x}.detach()\n{v}.{write}", writes=True),
            Variant("{v} = {x}.unsqueeze(0)\n{v}.{write}\n{also} = {v}.clone()", writes=True),
            Variant("{v} = {x}.contiguous().view(-1)\n{v}[:1].{write}\n{also} = {v}.clone()", writes=True),
        ),
    ),
    Characteristic(
        "write through as_strided",
        Stage.AOT,
        "A gapped `as_strided` view is written in place, and its base is read.",
        "It reaches memory by number, past every view that the compiler keeps account of.",
        "v = torch.as_strided(x, (3,), (2,))\nv.fill_(0)\nreturn x",
        writes(viewed(("as_strided",))),
        any_of(
            Variant(
                "{c} = {x}.flatten().clone()\n{v} = torch.as_strided({c}, ({count} // 2,), (2,))\n"
                "{v}.{write}\n"
                "{y} = {c}.reshape({shape})",
                (elements(2),),
                same=True,
            ),
            Variant(
                "{c} = {x}.flatten().clone()\n{v} = {c}.as_strided(({count} - 1,), (1,), 1)\n{v}.{write}\n"
                "{y} = {c}.reshape({shape})",
                (elements(2),),
                same=True,
            ),
            Variant(
                "{c} = {x}.transpose(0, -1).clone()\n{v} = {c}.as_strided((1, {count}), (1, 1))\n"
                "{v}[0, :1].{write}\n"
                "{y} = {c}.transpose(0, -1)",
                (elements(1),),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "an operator that hands out its input, written",
        Stage.AOT,
        "An operator that changes nothing here (dropout outside training, `contiguous`, `to` its own dtype, "
        "`reshape` to its own shape) returns its input, and the result is written in place.",
        "Eager writes the input too; a compiler that made a copy, or dropped the operator, does not.",
        "v = torch.nn.functional.dropout(x, 0.5, training=False)\nv.add_(1)\nreturn x, v",
        writes(viewed(names.MAY_VIEW)),
        any_of(
            Variant(
                "{v} = torch.nn.functional.dropout({x}, 0.5, training=False)\n"
                "{v}.{write}\n{also} = {v}.clone()",
                (floating,),
                writes=True,
            ),
            Variant("{v} = {x}.contiguous()\n{v}.{write}\n{also} = {v}.clone()", writes=True),
            Variant("{v} = {x}.to({dtype})\n{v}.{write}\n{also} = {v}.clone()", (typed,), writes=True),
            Variant("{v} = {x}.reshape({shape})\n{v}.{write}\n{also} = {v}.clone()", (known,), writes=True),
            Variant("{v} = {x}.flatten()\n{v}[:1].{write}\n{also} = {v}.clone()", writes=True),
        ),
    ),
    Characteristic(
        "chain of views written",
        Stage.AOT,
        "A view of a view of a view is written in place, and views in the middle of the chain are read.",
        "Each link has to be undone in turn, and every other view of the base made again.",
        "v = x.t()[:, ::2]\nw = v.unsqueeze(0)\nw.add_(1)\nreturn v, x",
        writes(_deep),
        any_of(
            Variant(
                "{v} = {x}.transpose({dim}, {other})[..., ::2]\n{w} = {v}.unsqueeze(0)\n{w}.{write}\n"
                "{also} = {v}.clone()",
                (rank(2),),
                writes=True,
            ),
            Variant(
                "{v} = {x}.unsqueeze(0).transpose(0, -1)\n{w} = {v}[..., :1]\n"
                "{w}.{write}\n{also} = {v}.clone()",
                (filled,),
                writes=True,
            ),
            Variant(
                "{v} = {x}.unsqueeze(-1).movedim(-1, 0).squeeze(0)\n{v}.{write}\n{also} = {v} * {value}",
                (typed,),
                writes=True,
            ),
        ),
    ),
    Characteristic(
        "write through a part of a complex tensor",
        Stage.AOT,
        "A complex tensor is written through `view_as_real`, `real` or `imag`.",
        "The view has another dtype and shape than its base, and complex tensors take paths of their own.",
        "z = torch.complex(x, x)\ntorch.view_as_real(z)[..., 0].mul_(2)\nreturn z.real",
        writes(viewed(("view_as_real", "real", "imag"))),
        any_of(
            Variant(
                "{z} = torch.complex({x}, {x})\n{r} = torch.view_as_real({z})\n"
                "{r}[..., 0].mul_(2)\n{y} = {z}.real",
                (ordinary,),
                same=True,
            ),
            Variant(
                "{z} = torch.complex({x}, {x} + 1)\n{z}.imag.add_(1)\n{y} = {z}.imag - {z}.real",
                (ordinary,),
                same=True,
            ),
            Variant("{c} = {x}.clone()\n{c}.real.mul_(2)\n{y} = {c}", (complex_,), same=True),
        ),
    ),
)
