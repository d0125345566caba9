"""Views: the same storage with another shape, stride or offset; and the operators that may make one."""

from __future__ import annotations

import math
from random import Random

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Requirement, States
from fuzzers.flowmut.program import Attr

END = 2**31
"""A slice's stop at or past this is its dimension's end."""


def _view(
    name: str,
    template: str,
    attributes: dict[str, AttrDomain] | None = None,
    *requirements: Requirement,
    certain: bool = True,
) -> Operator:
    return Operator(
        name,
        "view",
        template,
        attributes=attributes or {},
        requirements=requirements,
        views=certain,
        may_view=not certain,
    )


def _permutation(rng: Random, state: EdgeState) -> Attr:
    return tuple(rng.sample(range(state.rank), state.rank))


def other_shapes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Shapes of the same number of elements: flattened, a pair merged, a size split, a 1 added."""
    count = math.prod(shape)
    found = [(count,), (1, *shape), (*shape, 1)]
    found += [(*shape[:k], shape[k] * shape[k + 1], *shape[k + 2 :]) for k in range(len(shape) - 1)]
    for k, size in enumerate(shape):
        found += [(*shape[:k], f, size // f, *shape[k + 1 :]) for f in (2, 3) if size and size % f == 0]
    return [s for s in found if s != shape and len(s) <= 5] or [shape]


def _reshaped(rng: Random, state: EdgeState) -> Attr:
    return rng.choice(other_shapes(state.shape))


def _same_count(states: States, attrs: Attrs) -> bool:
    return math.prod(need.sizes(attrs, "shape")) == states[0].numel


def _viewable(states: States, attrs: Attrs) -> bool:
    return states[0].contiguous and _same_count(states, attrs)


def _expanded(rng: Random, state: EdgeState) -> Attr:
    grown = tuple(rng.choice((2, 3)) if size == 1 and rng.random() < 0.8 else size for size in state.shape)
    return (rng.choice((2, 3)), *grown) if grown == state.shape else grown


def _expands(states: States, attrs: Attrs) -> bool:
    sizes, shape = need.sizes(attrs, "sizes"), states[0].shape
    tail = sizes[len(sizes) - len(shape) :]
    return len(sizes) >= len(shape) and all(old in (1, new) for old, new in zip(shape, tail, strict=True))


def _span(rng: Random, state: EdgeState) -> Attr:
    """(dim, start, stop, step) of a slice that is not everything where that can be."""
    if not state.rank:
        return (0, 0, END, 1)
    dim = rng.randrange(state.rank)
    size = state.shape[dim]
    start = rng.choice((0, 0, 1)) if size > 1 else 0
    stop = rng.choice((END, size - 1)) if size - 1 > start else END
    return (dim, start, stop, rng.choice((1, 2, 2, 3)))


def span_source(value: Attr) -> str:
    """`:, 1:5:2` of (dim, start, stop, step)."""
    dim, start, stop, step = value if isinstance(value, tuple) else (0, 0, END, 1)
    inner = f"{start or ''}:{'' if stop >= END else stop}" + (f":{step}" if step != 1 else "")
    return ", ".join([":"] * dim + [inner])


def _spans(states: States, attrs: Attrs) -> bool:
    span = need.sizes(attrs, "span")
    return len(span) == 4 and 0 <= span[0] < states[0].rank and span[3] > 0


def _size(state: EdgeState, attrs: Attrs) -> int:
    return state.shape[int(need.number(attrs, "dim"))]


def _start(rng: Random, state: EdgeState) -> Attr:
    return rng.choice((0, 0, 1))


def _two_rows(rng: Random, state: EdgeState) -> Attr:
    return (2, state.numel // 2)


def _row_strides(rng: Random, state: EdgeState) -> Attr:
    """Of two rows: one after the other, one element further, every second element, or the same row twice."""
    return rng.choice(((state.numel // 2, 1), (1, 1), (1, 2), (0, 1)))


def _inside(states: States, attrs: Attrs) -> bool:
    size, stride = need.sizes(attrs, "size"), need.sizes(attrs, "stride")
    if len(size) != len(stride) or not states[0].contiguous or min((*size, 1)) < 1:
        return False
    return sum((n - 1) * st for n, st in zip(size, stride, strict=True)) < states[0].numel


_RANKED = (need.rank_between(1), need.DIM_IN_RANGE)
_DIM = domains.dim()
_PAIR = Requirement(
    "two dims in range",
    lambda s, a: all(-s[0].rank <= need.number(a, k) < s[0].rank for k in ("dim0", "dim1")),
)
_DISTINCT_PAIR = Requirement(
    "two distinct dims",
    lambda s, a: s[0].rank > 1 and (need.number(a, "dim0") - need.number(a, "dim1")) % s[0].rank != 0,
)
_INSERTED = AttrDomain(lambda rng, s: rng.randrange(-s.rank - 1, s.rank + 1), plain=(0,))

OPERATORS = (
    _view(
        "transpose",
        "{0}.transpose({dim0}, {dim1})",
        {"dim0": _DIM, "dim1": _DIM},
        need.rank_between(1),
        _PAIR,
    ),
    _view("t", "{0}.t()", None, need.rank_between(0, 2)),
    _view(
        "permute",
        "{0}.permute({dims})",
        {"dims": AttrDomain(_permutation, source=domains.listed)},
        Requirement("a permutation", lambda s, a: sorted(need.sizes(a, "dims")) == list(range(s[0].rank))),
    ),
    _view(
        "movedim",
        "{0}.movedim({dim0}, {dim1})",
        {"dim0": _DIM, "dim1": _DIM},
        need.rank_between(1),
        _PAIR,
    ),
    _view(
        "view",
        "{0}.view({shape})",
        {"shape": AttrDomain(_reshaped, source=domains.listed)},
        Requirement("contiguous, same count", _viewable),
    ),
    _view(
        "reshape",
        "{0}.reshape({shape})",
        {"shape": AttrDomain(_reshaped, source=domains.listed)},
        Requirement("same count", _same_count),
        certain=False,
    ),
    _view("flatten", "{0}.flatten()", certain=False),
    _view("contiguous", "{0}.contiguous()", certain=False),
    _view(
        "unsqueeze",
        "{0}.unsqueeze({dim})",
        {"dim": _INSERTED},
        Requirement("dim in range", lambda s, a: -s[0].rank - 1 <= need.number(a, "dim") <= s[0].rank),
    ),
    _view("squeeze", "{0}.squeeze({dim})", {"dim": _DIM}, *_RANKED),
    _view("mt", "{0}.mT", None, need.rank_between(2)),
    _view(
        "unflatten",
        "{0}.unflatten(-1, (-1, {size}))",
        {"size": domains.natural(1, 2, 3)},
        need.rank_between(1),
        Requirement(
            "last size divisible, not empty",
            lambda s, a: s[0].numel > 0 and s[0].shape[-1] % int(need.number(a, "size", 1)) == 0,
        ),
    ),
    _view(
        "tensor_split_pick",
        "{0}.tensor_split({sections}, {dim})[0]",
        {"sections": domains.natural(2, 3), "dim": _DIM},
        *_RANKED,
    ),
    _view("squeeze_all", "{0}.squeeze()"),
    _view(
        "expand",
        "{0}.expand({sizes})",
        {"sizes": AttrDomain(_expanded, source=domains.listed)},
        Requirement("expands", _expands),
    ),
    _view(
        "narrow",
        "{0}.narrow({dim}, {start}, {length})",
        {"dim": _DIM, "start": AttrDomain(_start, plain=(0,)), "length": domains.natural(1, 2, 3)},
        *_RANKED,
        Requirement(
            "within dim",
            lambda s, a: (
                need.number(a, "start") >= 0
                and need.number(a, "start") + need.number(a, "length") <= _size(s[0], a)
            ),
        ),
    ),
    _view(
        "slice",
        "{0}[{span}]",
        {"span": AttrDomain(_span, source=span_source)},
        Requirement("a slice of a dim", _spans),
    ),
    _view(
        "select",
        "{0}.select({dim}, {index})",
        {"dim": _DIM, "index": domains.choice(0, -1, 1)},
        *_RANKED,
        Requirement("within dim", lambda s, a: -_size(s[0], a) <= need.number(a, "index") < _size(s[0], a)),
    ),
    _view(
        "unfold",
        "{0}.unfold({dim}, {size}, {step})",
        {"dim": _DIM, "size": domains.natural(2, 1, 3), "step": domains.natural(1, 2)},
        *_RANKED,
        Requirement("window fits", lambda s, a: need.number(a, "size") <= _size(s[0], a)),
    ),
    _view(
        "diagonal",
        "{0}.diagonal({offset}, {dim0}, {dim1})",
        {"offset": domains.choice(0, 1, -1), "dim0": _DIM, "dim1": _DIM},
        need.rank_between(2),
        _PAIR,
        _DISTINCT_PAIR,
    ),
    _view(
        "chunk_pick",
        "{0}.chunk({chunks}, {dim})[0]",
        {"chunks": domains.natural(2, 3), "dim": _DIM},
        *_RANKED,
    ),
    _view(
        "split_pick",
        "{0}.split({size}, {dim})[-1]",
        {"size": domains.natural(1, 2, 3), "dim": _DIM},
        *_RANKED,
    ),
    _view(
        "unbind_pick",
        "{0}.unbind({dim})[0]",
        {"dim": _DIM},
        *_RANKED,
        Requirement("dim not empty", lambda s, a: _size(s[0], a) > 0),
    ),
    _view(
        "as_strided",
        "{0}.as_strided({size}, {stride})",
        {"size": AttrDomain(_two_rows), "stride": AttrDomain(_row_strides, plain=((1, 1),))},
        Requirement("dense, and inside of it", _inside),
    ),
    _view("detach", "{0}.detach()"),
)
