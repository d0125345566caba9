"""Program inputs: how they are drawn, written as source, and what is known of them beforehand.

Invariant: an input is defined by its source alone. `input_source` renders the line that a reproducer
shows, the same line is executed, and `state_of` predicts its state without running it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from fuzzers.flowmut.edge import (
    FLOATING,
    INTEGER_RANGE,
    EdgeState,
    Profile,
    dense_strides,
    self_overlapping,
)
from fuzzers.flowmut.operators.views import span_source
from fuzzers.flowmut.patterns import OF_FLOATS, OF_NUMBERS, Pattern
from fuzzers.flowmut.program import Input, View


@dataclass(frozen=True)
class Fill:
    """One way to draw values. `source(input)` renders the tensor before views; `suits(input)` says
    whether it can be; `profile(input)` is what is known of the values, None when nothing is;
    `random` ones depend on the seed."""

    source: Callable[[Input], str]
    suits: Callable[[Input], bool]
    profile: Callable[[Input], Profile | None] = lambda given: None
    random: bool = False


def sizes_source(sizes: tuple[int, ...]) -> str:
    """A shape as a tuple literal."""
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _rounded(value: float, dtype: str) -> float:
    """The value as the dtype holds it."""
    if dtype == "float64":
        return value
    if dtype == "float16":
        return float(struct.unpack("e", struct.pack("e", value))[0])
    single = struct.pack("f", value)
    if dtype == "float32":
        return float(struct.unpack("f", single)[0])
    bits = struct.unpack("I", single)[0]
    nearest_even = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return float(struct.unpack("f", struct.pack("I", nearest_even & 0xFFFFFFFF))[0])


def shortest(value: float, dtype: str) -> str:
    """The shortest decimal that the dtype reads back as `value`."""
    for digits in range(1, 17):
        text = repr(float(f"{value:.{digits}g}"))
        with suppress(OverflowError):
            if _rounded(float(text), dtype) == value:
                return text
    return repr(value)


def _number(value: float, dtype: str) -> str:
    if dtype == "bool":
        return str(bool(value))
    if dtype not in FLOATING:
        return str(int(value))
    return shortest(value, dtype) if math.isfinite(value) else f'float("{value}")'


def _dtype(given: Input, natural: str = "float32") -> str:
    """The dtype argument, left out where it is what the function gives anyway."""
    return "" if given.dtype == natural else f", dtype=torch.{given.dtype}"


def _spread(given: Input) -> str:
    """The sizes as separate arguments, or `()` for a scalar."""
    return ", ".join(map(str, given.shape)) or "()"


def _called(function: str) -> Callable[[Input], str]:
    return lambda given: f"torch.{function}({_spread(given)}{_dtype(given)})"


def _positive(given: Input) -> str:
    return f"torch.rand({_spread(given)}{_dtype(given)}) + 0.5"


def _randint(given: Input) -> str:
    return f"torch.randint({given.low}, {given.high}, {sizes_source(given.shape)}{_dtype(given, 'int64')})"


def _bool(given: Input) -> str:
    return f"torch.randint(0, 2, {sizes_source(given.shape)}, dtype=torch.bool)"


def _reshaped(flat: str, given: Input) -> str:
    return flat if len(given.shape) == 1 else f"{flat}.reshape({_spread(given)})"


def _count(given: Input) -> int:
    n = 1
    for size in given.shape:
        n *= size
    return n


def _arange(given: Input) -> str:
    return _reshaped(f"torch.arange({_count(given)}{_dtype(given, 'int64')})", given)


def _linspace(given: Input) -> str:
    return _reshaped(f"torch.linspace(-2, 2, {_count(given)}{_dtype(given)})", given)


def _full(given: Input) -> str:
    value = _number(given.values[0] if given.values else given.low, given.dtype)
    natural = {"float": "float32", "bool": "bool"}.get(
        "float" if given.dtype in FLOATING else given.dtype, "int64"
    )
    return f"torch.full({sizes_source(given.shape)}, {value}{_dtype(given, natural)})"


def nested(values: tuple[float, ...], shape: tuple[int, ...], dtype: str) -> str:
    """Row-major values as a nested list literal; a bare number for a scalar."""
    if not shape:
        return _number(values[0], dtype)
    step = len(values) // shape[0] if shape[0] else 0
    rows = (nested(values[k * step : (k + 1) * step], shape[1:], dtype) for k in range(shape[0]))
    return f"[{', '.join(rows)}]"


def _literal(given: Input) -> str:
    if _count(given) == 0:
        return f"torch.empty({_spread(given)}{_dtype(given)})"
    natural = "float32" if given.dtype in FLOATING else "bool" if given.dtype == "bool" else "int64"
    return f"torch.tensor({nested(given.values, given.shape, given.dtype)}{_dtype(given, natural)})"


_SPECIAL = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.0, -1.0)


def _special(given: Input) -> str:
    picked = tuple(_SPECIAL[k % len(_SPECIAL)] for k in range(_count(given)))
    return _literal(Input(given.name, given.shape, given.dtype, "literal", values=picked))


def _patterned(value: Pattern) -> Callable[[Input], str]:
    """`value(k, n, dtype)` is element k of n."""

    def source(given: Input) -> str:
        n = _count(given)
        picked = tuple(value(k, n, given.dtype) for k in range(n))
        return _literal(Input(given.name, given.shape, given.dtype, "literal", values=picked))

    return source


LISTED = 48
"""Elements of an input whose values are written one by one: more are no reproducer."""


def _few_floats(given: Input) -> bool:
    return given.dtype in FLOATING and _count(given) <= LISTED


def _few(given: Input) -> bool:
    return given.dtype != "bool" and _count(given) <= LISTED


def _known(low: float, high: float) -> Callable[[Input], Profile]:
    return lambda given: Profile(low=low, high=high, zeros=float(low <= 0 <= high), constant=low == high)


def _bounds(given: Input) -> Profile:
    """Of `low` up to, but not including, `high`."""
    return Profile(low=given.low, high=given.high - 1, zeros=float(given.low <= 0 < given.high), whole=True)


def _of_values(given: Input) -> Profile | None:
    values = given.values or (given.low,)
    finite = [v for v in values if v == v and abs(v) != float("inf")]
    return Profile(
        low=min(finite, default=0),
        high=max(finite, default=0),
        nans=sum(v != v for v in values),
        infs=sum(abs(v) == float("inf") for v in values),
        zeros=sum(v == 0 for v in values) / len(values),
        constant=len(set(values)) == 1,
        distinct=len(set(values)) == len(values),
    )


def _floating(given: Input) -> bool:
    return given.dtype in FLOATING


def _in_range(given: Input) -> bool:
    """randint's bounds fit the dtype; floats take small integers."""
    low, high = INTEGER_RANGE.get(given.dtype, (-256, 257))
    return given.dtype != "bool" and low <= given.low < given.high <= high + 1


def _arange_fits(given: Input) -> bool:
    return given.dtype != "bool" and _count(given) - 1 <= INTEGER_RANGE.get(given.dtype, (0, 256))[1]


FILLS: dict[str, Fill] = {
    "randn": Fill(_called("randn"), _floating, random=True),
    "rand": Fill(_called("rand"), _floating, _known(0, 1), random=True),
    "positive": Fill(_positive, _floating, _known(0.5, 1.5), random=True),
    "randint": Fill(_randint, _in_range, _bounds, random=True),
    "bool": Fill(_bool, lambda given: given.dtype == "bool", _known(0, 1), random=True),
    "ones": Fill(_called("ones"), lambda given: True, _known(1, 1)),
    "zeros": Fill(_called("zeros"), lambda given: True, _known(0, 0)),
    "arange": Fill(
        _arange,
        _arange_fits,
        lambda given: Profile(
            low=0,
            high=max(_count(given) - 1, 0),
            zeros=float(_count(given) > 0),
            whole=True,
            distinct=True,
            rising=True,
        ),
    ),
    "linspace": Fill(_linspace, _floating, _known(-2, 2)),
    "full": Fill(_full, lambda given: True, _of_values),
    "special": Fill(_special, _floating),
    **{name: Fill(_patterned(pattern), _few_floats) for name, pattern in OF_FLOATS.items()},
    **{name: Fill(_patterned(pattern), _few) for name, pattern in OF_NUMBERS.items()},
    "literal": Fill(_literal, lambda given: len(given.values) == _count(given), _of_values),
}


def suits(given: Input) -> bool:
    """Whether the fill can draw this input. KeyError on an unknown fill."""
    return FILLS[given.fill].suits(given)


VIEWS: dict[str, Callable[[View, int], str]] = {
    "permute": lambda view, rank: f".permute({', '.join(map(str, view.args))})",
    "expand": lambda view, rank: f".expand({', '.join(map(str, view.args))})",
    "slice": lambda view, rank: f"[{span_source(view.args)}]",
}


def tail_source(given: Input) -> str:
    """What follows the fresh storage: views, then `.requires_grad_()`."""
    tail = "".join(VIEWS[v.op](v, len(given.shape)) for v in given.views)
    return tail + (".requires_grad_()" if given.requires_grad else "")


def input_source(given: Input) -> str:
    """`x = torch.randn(4, 3)[:, ::2].requires_grad_()`: one statement."""
    source, tail = FILLS[given.fill].source(given), tail_source(given)
    if tail and " " in source and given.fill == "positive":
        source = f"({source})"
    return f"{given.name} = {source}{tail}"


def _permute(state: EdgeState, args: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    return tuple(state.shape[d] for d in args), tuple(state.strides[d] for d in args), state.offset


def _expand(state: EdgeState, args: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    lead = len(args) - state.rank
    old = (*(1,) * lead, *state.shape)
    strides = (*(0,) * lead, *state.strides)
    shape = tuple(o if a == -1 else a for o, a in zip(old, args, strict=True))
    return (
        shape,
        tuple(st if o == n else 0 for st, o, n in zip(strides, old, shape, strict=True)),
        state.offset,
    )


def _slice(state: EdgeState, args: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    dim, start, stop, step = args
    kept = range(*slice(start, stop, step).indices(state.shape[dim]))
    shape = (*state.shape[:dim], len(kept), *state.shape[dim + 1 :])
    strides = (*state.strides[:dim], state.strides[dim] * step, *state.strides[dim + 1 :])
    return shape, strides, state.offset + kept.start * state.strides[dim]


STEPS: dict[str, Callable[[EdgeState, tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...], int]]] = {
    "permute": _permute,
    "expand": _expand,
    "slice": _slice,
}


def state_of(given: Input) -> EdgeState:
    """The state of an input before anything runs, with a profile where the fill bounds its values."""
    state = EdgeState(given.shape, given.dtype, dense_strides(given.shape))
    for view in given.views:
        shape, strides, offset = STEPS[view.op](state, view.args)
        state = EdgeState(shape, given.dtype, strides, offset)
    return EdgeState(
        state.shape,
        given.dtype,
        state.strides,
        state.offset,
        requires_grad=given.requires_grad,
        storage=given.name,
        on_leaf=given.requires_grad,
        overlaps=self_overlapping(state.shape, state.strides),
        profile=FILLS[given.fill].profile(given),
    )
