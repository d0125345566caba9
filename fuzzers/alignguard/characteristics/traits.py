"""How a program is seen to have something: small questions about the operators that reading met.

Invariant: a question is answered from what is known of f and the functions that it calls; where a dtype or
a shape is unknown the answer is no.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from fuzzers.alignguard import form
from fuzzers.alignguard.characteristics.declaration import Detector
from fuzzers.alignguard.reading import names
from fuzzers.alignguard.reading.call import Call, plain, tensors
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.reader import Reading
from fuzzers.alignguard.reading.values import SMALL, DType, Literal, Tensor, Value, made

Holds = Callable[[Step], bool]

TRANSPOSES = names.names("transpose t T H mT mH permute swapaxes swapdims movedim moveaxis adjoint")
SLICES = names.names("slice narrow select")
REDUCTIONS = names.names(
    "sum nansum prod mean nanmean std var amax amin all any logsumexp count_nonzero norm vector_norm max min"
)
ARG_REDUCTIONS = names.names("argmax argmin max min median mode kthvalue sort topk argsort")
SOFTMAXES = names.names(
    "softmax log_softmax softmin logsumexp normalize layer_norm cumsum cumprod logcumsumexp"
)
ARITHMETIC = names.names(
    "add sub rsub mul neg abs square bitwise_not pow floor_divide remainder maximum minimum"
)
COMPARISONS = names.names("eq ne lt le gt ge maximum minimum isin")
JOINS = names.names("cat concat concatenate stack hstack vstack dstack column_stack")
MATMULS = names.names("matmul mm bmm addmm baddbmm linear einsum mv addmv dot inner outer")
FACTORIES = names.names(
    "zeros ones full empty arange tensor as_tensor new_zeros new_ones new_full eye linspace"
)
LIKE = names.LIKE | names.NEW


def calls(*words: str, where: Holds | None = None, places: tuple[str, ...] = (form.F,)) -> Detector:
    """An operator with one of these names (words of texts) for which something holds."""
    wanted = names.names(" ".join(words))

    def detect(reading: Reading) -> bool:
        return any(s.call.name in wanted and (where is None or where(s)) for s in reading.of(*places))

    return detect


def any_step(where: Holds) -> Detector:
    """Any operator of f for which something holds."""
    return lambda reading: any(where(s) for s in reading.of(form.F))


def all_of(*detectors: Detector) -> Detector:
    """All of these."""
    return lambda reading: all(d(reading) for d in detectors)


def one_of(*detectors: Detector) -> Detector:
    """Any of these."""
    return lambda reading: any(d(reading) for d in detectors)


# --- questions about one operator


def given(*keywords: str) -> Holds:
    """One of these keywords is given."""
    return lambda s: any(k in s.call.named for k in keywords)


def given_as(keyword: str, *values: object) -> Holds:
    """A keyword has one of these values."""
    return lambda s: keyword in s.call.named and plain(s.call.named[keyword]) in values


def viewed(words: Iterable[str]) -> Holds:
    """The first tensor is seen through one of these views."""
    wanted = frozenset(words)
    return lambda s: bool(wanted.intersection(s.call.first.views))


def made_by(*words: str) -> Holds:
    """A tensor among the arguments was computed by one of these, at whatever distance."""
    wanted = names.names(" ".join(words))
    return lambda s: any(wanted & made(v) for v in (*s.call.args, *s.call.named.values()))


def straight_from(*words: str) -> Holds:
    """An argument is what one of these gave."""
    wanted = names.names(" ".join(words))
    return lambda s: any(t.by in wanted for t in s.call.tensors)


def of_dtype(*dtypes: str) -> Holds:
    """The first tensor has one of these dtypes."""
    return lambda s: s.call.first.dtype in dtypes


def small(s: Step) -> bool:
    """A tensor among the arguments holds integers of 8 or 16 bits."""
    return any(t.dtype in SMALL for t in s.call.tensors)


def mixed(s: Step) -> bool:
    """Tensors of two dtypes come together."""
    return len({t.dtype for t in s.call.tensors if t.dtype}) > 1


def both(*holds: Holds) -> Holds:
    """All of these hold."""
    return lambda s: all(h(s) for h in holds)


def either(*holds: Holds) -> Holds:
    """One of these holds."""
    return lambda s: any(h(s) for h in holds)


def writes(where: Holds | None = None) -> Detector:
    """Something in f is written in place."""
    return any_step(lambda s: s.call.in_place and (where is None or where(s)))


def not_last(s: Step) -> bool:
    """The dimension that is worked along is known and not the last one."""
    rank = s.call.first.rank
    dims = s.call.value(1, "dim", None)
    each = dims if isinstance(dims, tuple) else (dims,)
    return bool(rank) and any(isinstance(d, int) and d not in (-1, (rank or 0) - 1) for d in each)


def number(call: Call, at: int, name: str) -> int | None:
    """An int among the arguments."""
    value = call.value(at, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# --- questions about the whole


def read_after_write(words: Iterable[str] = ()) -> Detector:
    """A view is taken, its base is written, and the view is read; the view is one of these, if any are
    named."""
    wanted = frozenset(words)

    def detect(reading: Reading) -> bool:
        open_views: dict[tuple[int, tuple[str, ...]], bool] = {}
        for step in reading.of(form.F):
            if step.call.in_place:
                for key in open_views:
                    storage, views = key
                    if storage == step.call.first.storage and views != step.call.first.views:
                        open_views[key] = True
                continue
            if any(open_views.get((t.storage, t.views), False) for t in step.call.tensors):
                return True
            result = step.result
            if isinstance(result, Tensor) and result.views and (not wanted or wanted & set(result.views)):
                open_views.setdefault((result.storage, result.views), False)
        returned = tensors(reading.returned)
        return any(open_views.get((t.storage, t.views), False) for t in returned)

    return detect


def text(*parts: str) -> Detector:
    """The source has one of these parts. For what is spelled one way only."""
    return lambda reading: any(p in reading.source for p in parts)


def nodes(holds: Callable[[ast.AST], bool], place: str = "") -> Detector:
    """A piece of syntax, in one of the entry functions or anywhere but in `inputs` and `again`."""

    def detect(reading: Reading) -> bool:
        for top in reading.tree.body:
            name = getattr(top, "name", "")
            asked = name == place or (not place and name not in (form.INPUTS, form.AGAIN, form.SETUP))
            if asked and any(holds(n) for n in ast.walk(top)):
                return True
        return False

    return detect


def has_again(reading: Reading) -> bool:
    """There is a second call."""
    return reading.form is not None and reading.form.has_again


def second_call(holds: Callable[[ast.AST], bool]) -> Detector:
    """Before the second call something like this is done."""
    return nodes(holds, form.AGAIN)


def cast(s: Step) -> bool:
    """A cast to another dtype."""
    if s.call.name not in (*names.CASTS, "to", "type") or not isinstance(s.result, Tensor):
        return False
    return s.result.dtype is not None and s.result.dtype != s.call.first.dtype


def literal_dtype(value: Value) -> str | None:
    """The dtype that a value names."""
    return value.value.name if isinstance(value, Literal) and isinstance(value.value, DType) else None
