"""Decompositions: where a result's dtype comes from."""

from __future__ import annotations

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    ARITHMETIC,
    JOINS,
    any_step,
    both,
    calls,
    cast,
    given,
)
from fuzzers.alignguard.needs import (
    filled,
    floating,
    integer,
    numeric,
    ordinary,
    rank,
    real,
    typed,
    ungraded,
)
from fuzzers.alignguard.reading import names
from fuzzers.alignguard.reading.call import plain
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.values import FLOATS, INTEGERS, Literal, Several, Tensor
from fuzzers.alignguard.variants import Variant, any_of

DTYPED = "sum mean prod cumsum cumprod softmax log_softmax softmin nansum norm vector_norm"


def _dtypes_joined(s: Step) -> bool:
    items = s.call.args[0] if s.call.args else None
    found = {t.dtype for t in items.items if isinstance(t, Tensor)} if isinstance(items, Several) else set()
    return s.call.name in JOINS and len(found - {None}) > 1


def _empty_joined(s: Step) -> bool:
    items = s.call.args[0] if s.call.args else None
    every = items.items if isinstance(items, Several) else ()
    return s.call.name in JOINS and (
        len(every) == 1 or any(isinstance(t, Tensor) and t.count == 0 for t in every)
    )


def _number_of_another_kind(s: Step) -> bool:
    """A Python number, or a tensor without dimensions, that is of another kind than the tensor."""
    if s.call.name not in (*ARITHMETIC, "div", "where", "eq", "lt", "gt"):
        return False
    tensors = [t for t in s.call.tensors if t.shape]
    scalars = {t.dtype for t in s.call.tensors if t.shape == ()}
    if any(t.integer or t.dtype == "bool" for t in tensors):
        kinds = {type(a.value) for a in s.call.args if isinstance(a, Literal)}
        if float in kinds or (bool in kinds and any(t.integer for t in tensors)):
            return True
    return any(t.dtype and d and t.dtype != d for t in tensors for d in scalars)


def _scaled_integers(s: Step) -> bool:
    return any(plain(s.call.named[k]) not in (0, 1) for k in ("alpha", "value") if k in s.call.named) and (
        s.call.name in ("add", "sub", "rsub", "addcmul", "addcdiv")
    )


PROMOTION: tuple[Characteristic, ...] = (
    Characteristic(
        "explicit dtype",
        Stage.DECOMPOSITIONS,
        "A reduction, scan or softmax is given a `dtype` other than its input's.",
        "The cast comes before the computation and decides its result; decompositions add their own casts.",
        "return x.sum(0, dtype=torch.int32), torch.softmax(x, 1, dtype=torch.float64)",
        calls(DTYPED, where=given("dtype")),
        any_of(
            Variant("{y} = {x}.sum({dim}, dtype={wide})", (real, ungraded)),
            Variant("{y} = torch.cumsum({x}, {dim}, dtype={wide})", (real, ungraded)),
            Variant("{y} = torch.softmax({x}, {dim}, dtype=torch.float64)", (real,)),
            Variant("{y} = {x}.mean({dim}, dtype={floats})", (real, filled)),
            Variant("{y} = torch.log_softmax({x}.to({half}), {dim}, dtype=torch.float32)", (real,)),
            Variant("{y} = {x}.prod({dim}, dtype=torch.float64).to({dtype})", (real,)),
            Variant("{y} = {x}.sum({dim}, dtype={small})", (lambda t: t.integer or t.dtype == "bool",)),
            Variant("{y} = torch.sum({x}, dtype={half})", (floating,)),
        ),
    ),
    Characteristic(
        "numbers and single values of another kind",
        Stage.DECOMPOSITIONS,
        "A tensor meets a Python number of another kind, or a tensor without dimensions of another dtype.",
        "Such operands take part in promotion by rules of their own, which every decomposition repeats.",
        "return n + 1.5, n * True, x + torch.tensor(2.5, dtype=torch.float64)  # n is int",
        any_step(_number_of_another_kind),
        any_of(
            Variant("{y} = {x} + torch.tensor(2.5, dtype=torch.float64)", (floating, rank(1)), same=True),
            Variant("{y} = {x} * torch.tensor(3, dtype={small})", (numeric, rank(1)), same=True),
            Variant("{y} = {x} * 1.5", (lambda t: t.integer or t.dtype == "bool",)),
            Variant("{y} = {x} * True", (integer,), same=True),
            Variant(
                "{y} = torch.where({x} > 0, {x}, torch.tensor(0.5, dtype=torch.float64))", (numeric, rank(1))
            ),
            Variant("{y} = {x}.sum().to(torch.float64) * {x}", (numeric, rank(1))),
            Variant("{y} = {x} - torch.ones((), dtype={small})", (numeric, rank(1))),
        ),
    ),
    Characteristic(
        "join of different dtypes",
        Stage.DECOMPOSITIONS,
        "Tensors of different dtypes are concatenated or stacked.",
        "The pieces are promoted, in order, before they are joined.",
        "return torch.cat([x, x.double(), x > 0])",
        any_step(_dtypes_joined),
        any_of(
            Variant("{y} = torch.cat([{x}, {x}.to({floats})], {dim})", (numeric, rank(1))),
            Variant(
                "{y} = torch.cat([{x}.flatten(), torch.ones(3, dtype={small}), {x}.flatten() > 0])",
                (numeric,),
            ),
            Variant("{y} = torch.stack([{x}, {x} != 0])", (numeric,)),
            Variant("{y} = torch.hstack([{x}.flatten(), torch.arange(3, dtype={wide})])", (real,)),
        ),
    ),
    Characteristic(
        "join with nothing, or of one",
        Stage.DECOMPOSITIONS,
        "An empty tensor is joined to others, perhaps of another rank, or a single tensor is joined alone.",
        "These joins do nothing and are removed, with their dtype and their copy.",
        "return torch.cat([torch.empty(0, dtype=torch.float64), x.flatten()]), torch.cat([x])",
        any_step(_empty_joined),
        any_of(
            Variant("{y} = torch.cat([{x}])", (rank(1),), same=True),
            Variant("{y} = torch.cat([torch.empty(0, dtype=torch.float64), {x}.flatten()])", (rank(0),)),
            Variant("{y} = torch.cat([{x}, {x}[:0]])", (rank(1),), same=True),
            Variant("{y} = torch.cat([torch.empty(0, dtype={dtype}), {x}], 0)", (rank(1), typed), same=True),
            Variant("{v} = torch.cat([{x}])\n{v}.{write}\n{also} = {x}.clone()\n{also2} = {v}", (rank(1),)),
        ),
    ),
    Characteristic(
        "scaled second operand",
        Stage.DECOMPOSITIONS,
        "`add`, `sub`, `rsub` or `addcmul` has a factor, on integers or between dtypes.",
        "The product is taken in the common dtype, not in the second operand's.",
        "return torch.sub(n, 3, alpha=2), torch.rsub(n, n, alpha=-1)",
        any_step(_scaled_integers),
        any_of(
            Variant("{y} = torch.sub({x}, {x}, alpha=3)", (numeric,), same=True),
            Variant("{y} = torch.rsub({x}, 3, alpha=2)", (numeric,), same=True),
            Variant("{y} = torch.add({x}, {x}.to({small}), alpha=100)", (integer,)),
            Variant("{y} = torch.add({x}, {x} > 0, alpha=2)", (numeric,), same=True),
            Variant("{y} = torch.addcmul({x}, {x}, {x}, value=2)", (numeric,), same=True),
        ),
    ),
    Characteristic(
        "cast there and back",
        Stage.DECOMPOSITIONS,
        "A tensor is cast to a narrower dtype and back.",
        "Pairs of casts are removed by pattern, but the narrower one changes the value.",
        "return x.to(torch.float16).to(torch.float32), n.to(torch.int8).to(torch.int64)",
        any_step(both(cast, lambda s: s.call.first.by in (*names.CASTS, "to", "type"))),
        any_of(
            Variant("{y} = {x}.to({half}).to({dtype})", (ordinary,), same=True),
            Variant(
                "{y} = {x}.to({small}).to({dtype})", (integer, lambda t: t.dtype in INTEGERS[3:]), same=True
            ),
            Variant("{y} = {x}.to(torch.bool).to({dtype})", (numeric,), same=True),
            Variant(
                "{y} = {x}.to(torch.float64).to({half}).to({dtype})",
                (lambda t: t.dtype in FLOATS[:3],),
                same=True,
            ),
            Variant("{y} = {x}.to(torch.float32).to({dtype})", (integer,), same=True),
            Variant(
                "{y} = {x}.to({dtype}).to(torch.float16).to(torch.bfloat16).to({dtype})",
                (ordinary,),
                same=True,
            ),
        ),
    ),
)
