"""Joining tensors, and rearranging the elements of one into fresh storage."""

from __future__ import annotations

from random import Random

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators import domains
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Requirement, States
from fuzzers.flowmut.operators.indexing import replaced
from fuzzers.flowmut.program import Attr, Input

_DIM = domains.dim()
_RANKED = (need.rank_between(1), need.DIM_IN_RANGE)


def _joinable(states: States, attrs: Attrs) -> bool:
    axis = int(need.number(attrs, "dim")) % states[0].rank
    return len({replaced(s.shape, axis, 0) for s in states}) == 1


def _joined(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    axis = int(need.number(attrs, "dim")) % state.rank
    sizes = [rng.choice(domains.SIZES[:5]) for _ in range(rng.choice((1, 1, 2)))]
    return tuple(
        domains.like(replaced(state.shape, axis, size), state.dtype, f"p{k}") for k, size in enumerate(sizes)
    )


def _stacked(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
    return tuple(domains.like(state.shape, state.dtype, f"p{k}") for k in range(rng.choice((1, 1, 2))))


def _padding(rng: Random, state: EdgeState) -> Attr:
    """Amounts for the last one or two dimensions, front and back."""
    return tuple(rng.choice((0, 1, 2)) for _ in range(2 * min(state.rank, rng.choice((1, 2)))))


def _turns(rng: Random, state: EdgeState) -> Attr:
    return tuple(sorted(rng.sample(range(state.rank), rng.randint(1, state.rank)))) if state.rank else ()


def _repeats(rng: Random, state: EdgeState) -> Attr:
    lead = (rng.choice((1, 2)),) if rng.random() < 0.3 else ()
    return (*lead, *(rng.choice((1, 2, 3)) for _ in state.shape))


_REFLECTS = Requirement(
    "padding below size, rank fits",
    lambda s, a: (
        s[0].rank in (2, 3)
        and len(need.sizes(a, "pad")) == 2
        and max(need.sizes(a, "pad")) < s[0].shape[-1]
        and s[0].numel > 0
    ),
)
_OFFSET = domains.choice(0, 1, -1, default=0)


def _rearrangement(
    name: str, template: str, attributes: dict[str, AttrDomain], *requirements: Requirement
) -> Operator:
    return Operator(name, "combine", template, attributes=attributes, requirements=requirements)


OPERATORS = (
    Operator(
        "cat",
        "combine",
        "torch.cat([{args}]{rest})",
        arity=2,
        variadic=True,
        attributes={"dim": domains.dim(default=0)},
        requirements=(*_RANKED, Requirement("same sizes but for dim", _joinable)),
        partners=domains.from_rank(1, _joined),
    ),
    Operator(
        "stack",
        "combine",
        "torch.stack([{args}]{rest})",
        arity=2,
        variadic=True,
        attributes={"dim": domains.dim(default=0)},
        requirements=(
            need.SAME_SHAPE,
            Requirement("dim in range", lambda s, a: -s[0].rank - 1 <= need.number(a, "dim") <= s[0].rank),
        ),
        partners=_stacked,
    ),
    _rearrangement(
        "flip",
        "{0}.flip({dims})",
        {"dims": AttrDomain(_turns, plain=((0,),), source=domains.listed)},
        need.rank_between(1),
        Requirement("dims in range", lambda s, a: all(0 <= d < s[0].rank for d in need.sizes(a, "dims"))),
    ),
    _rearrangement(
        "roll",
        "{0}.roll({shifts}, {dim})",
        {"shifts": domains.choice(1, -1, 2), "dim": _DIM},
        *_RANKED,
    ),
    _rearrangement(
        "repeat",
        "{0}.repeat({repeats})",
        {"repeats": AttrDomain(_repeats, source=domains.listed)},
        Requirement(
            "at least as many repeats as dims", lambda s, a: len(need.sizes(a, "repeats")) >= s[0].rank
        ),
    ),
    _rearrangement(
        "repeat_interleave",
        "{0}.repeat_interleave({repeats}, dim={dim})",
        {"repeats": domains.natural(2, 1, 3), "dim": _DIM},
        *_RANKED,
    ),
    _rearrangement("tril", "{0}.tril({diagonal})", {"diagonal": _OFFSET}, need.rank_between(2)),
    _rearrangement("triu", "{0}.triu({diagonal})", {"diagonal": _OFFSET}, need.rank_between(2)),
    _rearrangement(
        "pad",
        "F.pad({0}, {pad}{rest})",
        {"pad": AttrDomain(_padding), "value": domains.scalar((0, 1), (0.5,), default=0)},
        need.rank_between(1),
        Requirement("pads existing dims", lambda s, a: 0 < len(need.sizes(a, "pad")) <= 2 * s[0].rank),
        Requirement("value in dtype", lambda s, a: s[0].floating or a["value"] in (0, 1)),
    ),
    _rearrangement(
        "pad_reflect",
        'F.pad({0}, {pad}, mode="reflect")',
        {"pad": AttrDomain(_padding)},
        need.FLOATING_ONLY,
        _REFLECTS,
    ),
    _rearrangement(
        "pad_replicate",
        'F.pad({0}, {pad}, mode="replicate")',
        {"pad": AttrDomain(_padding)},
        need.FLOATING_ONLY,
        _REFLECTS,
    ),
    _rearrangement("tile", "{0}.tile({repeats})", {"repeats": AttrDomain(_repeats)}),
    _rearrangement(
        "pad_circular",
        'F.pad({0}, {pad}, mode="circular")',
        {"pad": AttrDomain(_padding)},
        need.FLOATING_ONLY,
        _REFLECTS,
    ),
    Operator(
        "hstack",
        "combine",
        "torch.hstack([{args}])",
        arity=2,
        variadic=True,
        requirements=(need.SAME_SHAPE,),
        partners=_stacked,
    ),
    Operator(
        "vstack",
        "combine",
        "torch.vstack([{args}])",
        arity=2,
        variadic=True,
        requirements=(need.SAME_SHAPE,),
        partners=_stacked,
    ),
    Operator(
        "block_diag",
        "combine",
        "torch.block_diag({args})",
        arity=2,
        variadic=True,
        requirements=(need.rank_between(0, 2), need.SAME_SHAPE),
        partners=_stacked,
    ),
    _rearrangement("diag_embed", "torch.diag_embed({0})", {}, need.rank_between(1, 4)),
    _rearrangement("rot90", "torch.rot90({0})", {}, need.rank_between(2)),
)
