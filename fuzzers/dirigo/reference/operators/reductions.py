"""Reductions over axes, with and without indices, and scans along one axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from fuzzers.dirigo.reference.demand import Demand, Operator, Work
from fuzzers.dirigo.reference.folding import every, extreme, fold, largest, product, scan, smallest, total
from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.places import axes, reduced, rows, within
from fuzzers.dirigo.reference.values import Number, Values

Reduce = Callable[[Demand, Values, int], Values]
FEW = 8
"""So many elements of a row are summed up each for itself; of more, the whole row is scanned."""


def _over(d: Demand, name: str = "self") -> Array:
    """The elements that each asked element reduces, (asked, width)."""
    shape = d.shape(name)
    return reduced(shape, axes(d.call.arguments.get("dim"), len(shape)), d.at)


def _reduction(reduce: Reduce, compares: bool = False) -> Operator:
    """An operator that gives `reduce` of the elements that it reduces, in the result's type."""

    def work(d: Demand) -> Work:
        elements = _over(d)
        (values,) = yield (d.flat("self", elements),)
        return reduce(d, values if compares else values.cast(d.type), len(d))

    return Operator(work)


def _mean(d: Demand, values: Values, count: int) -> Values:
    return total(values, count) / (len(values) // count)


def centred(values: Values, count: int) -> Values:
    """Each row less its mean."""
    width = len(values) // count
    mean = total(values, count) / width
    return values - mean.take(np.repeat(np.arange(count), width))


def variance(values: Values, count: int, correction: Number) -> Values:
    away = centred(values, count)
    return total(away * away, count) / max(len(values) // count - correction, 0)


def _correction(d: Demand) -> Number:
    """The number that the count is lessened by: a flag in the older overloads."""
    if "unbiased" in d.call.arguments:
        return int(d["unbiased"])
    given = d["correction"]
    return 1 if given is None else given


def _var(d: Demand, values: Values, count: int) -> Values:
    return variance(values, count, _correction(d))


def _std(d: Demand, values: Values, count: int) -> Values:
    return _var(d, values, count).sqrt()


def _var_mean(d: Demand, values: Values, count: int) -> Values:
    return _var(d, values, count) if d.output == 0 else _mean(d, values, count)


def _std_mean(d: Demand, values: Values, count: int) -> Values:
    return _std(d, values, count) if d.output == 0 else _mean(d, values, count)


def norm(values: Values, count: int, order: float) -> Values:
    """The vector norm of each row."""
    size = values.abs()
    if order == math.inf:
        return largest(size, count)
    if order == -math.inf:
        return smallest(size, count)
    if order == 0:
        return total(values.compare("ne", 0).choose(1, 0, values.type), count)
    if order == 1:
        return total(size, count)
    if order == 2:
        return total(values * values, count).sqrt()
    return total(size.call("pow", order), count).call("pow", 1 / order)


def _norm(d: Demand, values: Values, count: int) -> Values:
    order = d["ord"] if "ord" in d.call.arguments else d["p"]
    return norm(values, count, 2.0 if order is None else float(order))


def _log_sum(d: Demand, values: Values, count: int) -> Values:
    top = largest(values, count)
    width = len(values) // count
    return top + total((values - top.take(np.repeat(np.arange(count), width))).call("exp"), count).call("log")


def _extreme(how: str, output: int | None) -> Operator:
    """The largest or smallest element (output 0) or its index (output 1)."""

    def work(d: Demand) -> Work:
        (values,) = yield (d.flat("self", _over(d)),)
        wanted = d.output if output is None else output
        if wanted == 0:
            return largest(values, len(d)) if how == "ge" else smallest(values, len(d))
        return extreme(values, len(d), how)[1]

    return Operator(work)


def _whole_extreme(how: str) -> Operator:
    return _reduction(lambda d, v, n: largest(v, n) if how == "ge" else smallest(v, n))


def _aminmax(d: Demand, values: Values, count: int) -> Values:
    return smallest(values, count) if d.output == 0 else largest(values, count)


def _truth(how: str) -> Operator:
    return _reduction(lambda d, v, n: every(v.cast("pred"), n, how), compares=True)


def _count_nonzero(d: Demand, values: Values, count: int) -> Values:
    return total(values.cast("pred").choose(1, 0, "s64"), count)


def _distance(d: Demand) -> Work:
    """dist: the norm of the difference."""
    whole = np.arange(within(d.layout("self").count))
    a, b = yield d.flat("self", whole), d.flat("other", whole)
    return norm(a - b, 1, float(d["p"]))


SCANS: Mapping[str, tuple[Callable[[Values, Values], Values], float]] = {
    "cumsum": (lambda a, b: a + b, 0.0),
    "cumprod": (lambda a, b: a * b, 1.0),
    "cummax": (Values.most, -math.inf),
    "cummin": (Values.least, math.inf),
}


def _scan(name: str) -> Operator:
    """Each element combined with those before it in its row."""
    combine, neutral = SCANS[name]

    def work(d: Demand) -> Work:
        if d.output:
            raise d.unknown("indices")
        shape = d.shape("self")
        if not shape:
            (alone,) = yield (d.flat("self", d.at),)
            return alone.cast(d.type)
        met = rows(shape, axes(d["dim"], len(shape)), d.at)
        most = int(met.column.max()) + 1
        if len(d) > FEW * met.elements.shape[0]:
            (values,) = yield (d.flat("self", met.elements[:, :most]),)
            scanned = scan(values.cast(d.type), met.elements.shape[0], combine)
            return scanned.take(met.row * most + met.column)
        within(most * len(d))
        before = np.arange(most)[None, :] <= met.column[:, None]
        (values,) = yield (d.flat("self", met.elements[met.row, :most][before]),)
        return fold(values.cast(d.type).scattered(before, neutral), len(d), combine)

    return Operator(work)


def _log_scan(d: Demand) -> Work:
    """logcumsumexp, with the largest of the row taken out."""
    shape = d.shape("self")
    met = rows(shape, axes(d["dim"], len(shape)), d.at)
    most = int(met.column.max()) + 1
    within(most * len(d))
    before = np.arange(most)[None, :] <= met.column[:, None]
    (values,) = yield (d.flat("self", met.elements[met.row, :most][before]),)
    top = largest(values.scattered(before, -math.inf), len(d))
    lane = np.broadcast_to(np.arange(len(d))[:, None], before.shape)[before]
    powers = (values - top.take(lane)).call("exp")
    return top + total(powers.scattered(before, 0), len(d)).call("log")


def _named(operator: Operator, *names: str) -> dict[str, Operator]:
    return {f"aten.{name}": operator for name in names}


TABLE: Mapping[str, Operator] = {
    **_named(_reduction(lambda d, v, n: total(v, n)), "sum.default", "sum.dim_IntList"),
    **_named(_reduction(_mean), "mean.default", "mean.dim"),
    **_named(_reduction(lambda d, v, n: product(v, n)), "prod.default", "prod.dim_int"),
    **_named(_whole_extreme("ge"), "amax.default", "max.default"),
    **_named(_whole_extreme("le"), "amin.default", "min.default"),
    **_named(_reduction(_aminmax), "aminmax.default"),
    **_named(_extreme("ge", None), "max.dim"),
    **_named(_extreme("le", None), "min.dim"),
    **_named(_extreme("ge", 1), "argmax.default"),
    **_named(_extreme("le", 1), "argmin.default"),
    **_named(_reduction(_var), "var.default", "var.dim", "var.correction"),
    **_named(_reduction(_std), "std.default", "std.dim", "std.correction"),
    **_named(_reduction(_var_mean), "var_mean.default", "var_mean.dim", "var_mean.correction"),
    **_named(_reduction(_std_mean), "std_mean.default", "std_mean.dim", "std_mean.correction"),
    **_named(
        _reduction(_norm),
        *("norm.Scalar", "norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype", "norm.ScalarOpt_dtype"),
        "linalg_vector_norm.default",
    ),
    **_named(_reduction(_log_sum), "logsumexp.default"),
    **_named(_truth("and"), "all.default", "all.dim", "all.dims"),
    **_named(_truth("or"), "any.default", "any.dim", "any.dims"),
    **_named(_reduction(_count_nonzero, compares=True), "count_nonzero.default", "count_nonzero.dim_IntList"),
    **_named(Operator(_distance), "dist.default"),
    **{f"aten.{name}.default": _scan(name) for name in SCANS},
    "aten.logcumsumexp.default": Operator(_log_scan),
}
