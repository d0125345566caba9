"""The predicates that operators require of their arguments.

Invariant: a predicate reads states and attributes only, may assume the requirements listed before it, and
where it needs values that are not known (a state without a profile) it answers True: undecided counts as
met.

Three reasons put a predicate here: the framework rejects the call; the contract leaves the result
undefined (oracle.md's table: signed overflow, shifts past the width, division by zero, out-of-range
casts, duplicate writes, writes to memory that overlaps itself); or, for soft ones, the result is extreme.
"""

from __future__ import annotations

from collections.abc import Callable

from fuzzers.flowmut.edge import FLOATING, INTEGER_RANGE, SIGNED, WIDTH, EdgeState, broadcast
from fuzzers.flowmut.operators.declaration import Attrs, Requirement, States

_CATEGORY = {"bool": 0, **dict.fromkeys(("uint8", *SIGNED), 1), **dict.fromkeys(FLOATING, 2)}
_ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def promoted(*dtypes: str) -> str:
    """The result dtype of tensors of rank 1 or more, by the framework's promotion lattice."""
    out = dtypes[0]
    for dtype in dtypes[1:]:
        pair = {out, dtype}
        if pair == {"float16", "bfloat16"}:
            out = "float32"
        elif pair == {"uint8", "int8"}:
            out = "int16"
        else:
            out = max(out, dtype, key=_ORDER.index)
    return out


def number(attrs: Attrs, name: str, default: float = 0) -> float:
    """A numeric attribute; `default` when it is None or absent."""
    value = attrs.get(name)
    return value if isinstance(value, int | float) else default


def sizes(attrs: Attrs, name: str) -> tuple[int, ...]:
    """A tuple attribute; an int counts as one entry, None as none."""
    value = attrs.get(name)
    if isinstance(value, tuple):
        return value
    return (int(value),) if isinstance(value, int) else ()


def _all(name: str, test: Callable[[EdgeState], bool]) -> Requirement:
    return Requirement(name, lambda states, attrs: all(map(test, states)))


def _first(name: str, test: Callable[[EdgeState], bool]) -> Requirement:
    return Requirement(name, lambda states, attrs: test(states[0]))


def argument(position: int, inner: Requirement) -> Requirement:
    """The requirement, of one argument alone."""
    name = f"argument {position}: {inner.name}"
    return Requirement(name, lambda s, a: inner.holds(s[position : position + 1], a), inner.soft)


def rank_between(low: int, high: int = 8) -> Requirement:
    """The first argument has a rank in [low, high]."""
    name = f"rank {low}" if low == high else f"rank at least {low}" if high == 8 else f"rank {low} to {high}"
    return _first(name, lambda s: low <= s.rank <= high)


SAME_DTYPE = Requirement("same dtype", lambda s, a: len({x.dtype for x in s}) == 1)
SAME_SHAPE = Requirement("same shape", lambda s, a: len({x.shape for x in s}) == 1)
FLOATING_ONLY = _all("floating", lambda s: s.floating)
NOT_FLOATING = _all("integer or bool", lambda s: not s.floating)
INTEGRAL_ONLY = _all("integer", lambda s: s.integral)
NOT_BOOL = _all("not bool", lambda s: s.dtype != "bool")
NOT_ALL_BOOL = Requirement("not all bool", lambda s, a: any(x.dtype != "bool" for x in s))
NONEMPTY = _first("not empty", lambda s: s.numel > 0)
INDEX = _all("index dtype", lambda s: s.dtype == "int64")
MASK = _all("bool", lambda s: s.dtype == "bool")
NO_NANS = Requirement("no NaN", lambda s, a: all(x.profile is None or not x.profile.nans for x in s))
BROADCASTABLE = Requirement("broadcastable", lambda s, a: broadcast(*(x.shape for x in s)) is not None)
POSITIVE = Requirement(
    "positive", lambda s, a: s[0].profile is None or not s[0].numel or s[0].profile.low > 0, soft=True
)


def within(state: EdgeState, low: float, high: float) -> bool:
    """Whether every value is known to lie in [low, high], or nothing is known."""
    if state.profile is None or state.numel == 0:
        return True
    return state.profile.finite and low <= state.profile.low and state.profile.high <= high


def bounded(magnitude: float) -> Requirement:
    """Soft: absolute values at most `magnitude`, so that the result stays ordinary."""
    return Requirement(
        f"magnitude at most {magnitude:g}", lambda s, a: within(s[0], -magnitude, magnitude), True
    )


def value_range(low: float, high: float, *, soft: bool = True) -> Requirement:
    """Values within [low, high]."""
    return Requirement(f"values in [{low:g}, {high:g}]", lambda s, a: within(s[0], low, high), soft)


def nonzero(position: int) -> Requirement:
    """No zero in an integer divisor: division by zero is undefined there."""

    def holds(states: States, attrs: Attrs) -> bool:
        if any(x.floating for x in states):
            return True
        divisor = states[position].profile
        return divisor is None or not divisor.zeros

    return Requirement(f"argument {position} not zero", holds)


def shift_in_width(position: int) -> Requirement:
    """Shift counts in [0, width): others are undefined."""

    def holds(states: States, attrs: Attrs) -> bool:
        width = min(WIDTH.get(x.dtype, 64) for x in states)
        return within(states[position], 0, width - 1)

    return Requirement("shift within width", holds)


def no_overflow(bound: Callable[[States, Attrs], float], result: Callable[[States], str]) -> Requirement:
    """The largest magnitude that the result may take fits a signed result dtype. `bound` is computed from
    the magnitudes of the arguments; unsigned and floating results are not limited."""

    def holds(states: States, attrs: Attrs) -> bool:
        if any(x.profile is None for x in states):
            return True
        dtype = result(states)
        return dtype not in SIGNED or bound(states, attrs) <= INTEGER_RANGE[dtype][1]

    return Requirement("no signed overflow", holds)


def magnitude(state: EdgeState) -> float:
    """The largest absolute value known, 0 when none is."""
    return state.profile.magnitude if state.profile and state.numel else 0.0


def joint(states: States) -> str:
    """Result dtype of an elementwise operation on all arguments; scalars (rank 0) yield to tensors of
    the same category."""
    dims = [x for x in states if x.rank]
    top = max(_CATEGORY[x.dtype] for x in states)
    if dims and max(_CATEGORY[x.dtype] for x in dims) == top:
        return promoted(*(x.dtype for x in dims))
    return promoted(*(x.dtype for x in states))


def accumulated(states: States) -> str:
    """Result dtype of a sum or product: integers are widened to int64."""
    return states[0].dtype if states[0].floating else "int64"


def indices_in_range(position: int, of: int = 0) -> Requirement:
    """Argument `position` holds indices into dimension `dim` of argument `of`."""

    def holds(states: States, attrs: Attrs) -> bool:
        target = states[of]
        axis = int(number(attrs, "dim"))
        size = target.shape[axis] if -target.rank <= axis < target.rank else 1
        return within(states[position], 0, size - 1)

    return Requirement("indices in range", holds)


def distinct_indices(position: int) -> Requirement:
    """No index occurs twice: which write wins is undefined."""

    def holds(states: States, attrs: Attrs) -> bool:
        profile = states[position].profile
        return profile is None or states[position].numel < 2 or profile.distinct

    return Requirement("distinct indices", holds)


def _valid_dims(states: States, attrs: Attrs) -> bool:
    dims = sizes(attrs, "dim")
    rank = max(states[0].rank, 1)
    return all(-rank <= d < rank for d in dims) and len({d % rank for d in dims}) == len(dims)


DIM_IN_RANGE = Requirement("dim in range", _valid_dims)


def _reduces_some(states: States, attrs: Attrs) -> bool:
    if states[0].numel:
        return True
    reduced = sizes(attrs, "dim")
    return bool(reduced) and all(states[0].shape[d] for d in reduced)


SIZED_DIM = Requirement("reduced dims not empty", _reduces_some)

WRITABLE = _first("writable: no internal overlap", lambda s: not s.overlaps)
NO_GRAD_LEAF = _first("no grad leaf in place", lambda s: not s.on_leaf)


def _no_partial_overlap(states: States, attrs: Attrs) -> bool:
    """All of the same memory, or ranges of one storage that do not meet."""

    def place(x: EdgeState) -> tuple[object, ...]:
        return (x.shape, x.strides, x.offset)

    def last(x: EdgeState) -> int:
        return x.offset + sum((size - 1) * stride for size, stride in zip(x.shape, x.strides, strict=True))

    def apart(x: EdgeState) -> bool:
        return last(x) < target.offset or last(target) < x.offset

    target = states[0]
    others = [x for x in states[1:] if x.storage and x.storage == target.storage]
    return all(place(x) == place(target) or apart(x) for x in others)


APART = Requirement("argument apart from what is written", _no_partial_overlap)
FITS_TARGET = Requirement(
    "broadcasts to what is written", lambda s, a: broadcast(*(x.shape for x in s)) == s[0].shape
)
CASTABLE = Requirement(
    "result castable to what is written", lambda s, a: _CATEGORY[joint(s)] <= _CATEGORY[s[0].dtype]
)
IN_PLACE = (WRITABLE, NO_GRAD_LEAF)


def cast_in_range(target: Callable[[States, Attrs], str], source: int = 0) -> Requirement:
    """Floats that become integers lie in the integer's range, and integers in a narrower signed one: the
    rest is undefined. Bool takes anything."""

    def holds(states: States, attrs: Attrs) -> bool:
        dtype = target(states, attrs)
        state = states[source]
        if dtype not in INTEGER_RANGE or dtype == "bool" or (state.integral and dtype == "uint8"):
            return True
        low, high = INTEGER_RANGE[dtype]
        return within(state, low, high)

    return Requirement("cast in range", holds)
