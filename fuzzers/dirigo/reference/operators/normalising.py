"""Normalisations and the softmax family.

Invariant: a row's statistics are computed once for all asked elements of the row; a variance is the mean of
squared distances from the mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fuzzers.dirigo.reference.demand import Demand, Operator, Work
from fuzzers.dirigo.reference.folding import largest, total
from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.operators.reductions import variance
from fuzzers.dirigo.reference.places import axes, reduced, rows
from fuzzers.dirigo.reference.values import Values

EPS = {"f32": 1.1920928955078125e-07, "f64": 2.220446049250313e-16}
"""The machine epsilon, which rms_norm takes where none is given."""


def _softmax(log: bool) -> Operator:
    def work(d: Demand) -> Work:
        shape = d.shape("self")
        met = rows(shape, axes(d["dim"], len(shape)), d.at)
        count, width = met.elements.shape
        (values,) = yield (d.flat("self", met.elements),)
        values = values.cast(d.type)
        away = values - largest(values, count).take(np.repeat(np.arange(count), width))
        powers = away.call("exp")
        sums = total(powers, count)
        if log:
            return away.take(met.flat()) - sums.call("log").take(met.row)
        return powers.take(met.flat()) / sums.take(met.row)

    return Operator(work)


def _scaled(values: Values, extra: Sequence[Values], weighted: bool, biased: bool) -> Values:
    """Times a weight and plus a bias, where there are such, in this order."""
    given = iter(extra)
    if weighted:
        values = values * next(given)
    return values + next(given) if biased else values


def _affine(d: Demand, index: Array) -> list[Any]:
    """What to ask of weight and bias for asked elements, at one index each."""
    return [d.flat(name, index) for name in ("weight", "bias") if d.has(name)]


def _rows_normalised(d: Demand, values: Values, count: int, flat: Array, row: Array, eps: float) -> Values:
    """The asked lanes of rows, less the mean, over the deviation."""
    mean = total(values, count) / (len(values) // count)
    deviation = (variance(values, count, 0) + eps).sqrt()
    return (values.take(flat) - mean.take(row)) / deviation.take(row)


def _statistic(d: Demand, values: Values) -> Values:
    """The mean (output 1) or one over the deviation (output 2) of each asked row."""
    if d.output == 1:
        return total(values, len(d)) / (len(values) // len(d))
    return (variance(values, len(d), 0) + float(d["eps"])).rsqrt()


def _layer_norm(d: Demand) -> Work:
    shape = d.shape("input")
    dims = range(len(shape) - len(d["normalized_shape"]), len(shape))
    if d.output:
        (values,) = yield (d.flat("input", reduced(shape, dims, d.at)),)
        return _statistic(d, values)
    met = rows(shape, dims, d.at)
    values, *extra = yield (d.flat("input", met.elements), *_affine(d, met.column))
    found = _rows_normalised(d, values, met.elements.shape[0], met.flat(), met.row, d["eps"])
    return _scaled(found, extra, d.has("weight"), d.has("bias"))


def _group_norm(d: Demand) -> Work:
    """A row is a group: its channels and all places of a sample; elements of a row are neighbours."""
    shape = d.shape("input")
    count, groups = d.layout("input").count, int(d["group"])
    batch, channels = shape[0], int(d["C"])
    as_rows = (batch * groups, count // (batch * groups))
    if d.output:
        (values,) = yield (d.flat("input", reduced(as_rows, (1,), d.at)),)
        return _statistic(d, values)
    met = rows(as_rows, (1,), d.at)
    channel = d.at // (count // (batch * channels)) % channels
    values, *extra = yield (d.flat("input", met.elements), *_affine(d, channel))
    found = _rows_normalised(d, values, met.elements.shape[0], met.flat(), met.row, d["eps"])
    return _scaled(found, extra, d.has("weight"), d.has("bias"))


def _batch_norm(d: Demand) -> Work:
    """With the statistics of the batch, or with running ones."""
    shape = d.shape("input")
    training = d["training"] if "training" in d.call.arguments else d.call.operator.count("no_training") == 0
    if d.output:
        raise d.unknown("statistics")
    channel = d.where()[1]
    if not training:
        names = ("running_mean", "running_var")
        x, mean, var, *extra = yield (
            d.flat("input", d.at),
            *(d.flat(name, channel) for name in names),
            *_affine(d, channel),
        )
        found = (x - mean) / (var + d["eps"]).sqrt()
    else:
        met = rows(shape, [axis for axis in range(len(shape)) if axis != 1], d.at)
        values, *extra = yield (d.flat("input", met.elements), *_affine(d, channel))
        found = _rows_normalised(d, values, met.elements.shape[0], met.flat(), met.row, d["eps"])
    return _scaled(found, extra, d.has("weight"), d.has("bias"))


def _rms_norm(d: Demand) -> Work:
    shape = d.shape("input")
    dims = range(len(shape) - len(d["normalized_shape"]), len(shape))
    met = rows(shape, dims, d.at)
    count, width = met.elements.shape
    values, *extra = yield (d.flat("input", met.elements), *_weight(d, met.column))
    eps = EPS[values.type] if d["eps"] is None else d["eps"]
    root = (total(values * values, count) / width + eps).rsqrt()
    if d.output:
        raise d.unknown("statistics")
    return _scaled(values.take(met.flat()) * root.take(met.row), extra, d.has("weight"), False)


def _weight(d: Demand, index: Array) -> list[Any]:
    return [d.flat("weight", index)] if d.has("weight") else []


TABLE: Mapping[str, Operator] = {
    "aten._softmax.default": _softmax(False),
    "aten.softmax.int": _softmax(False),
    "aten._safe_softmax.default": _softmax(False),
    "aten._log_softmax.default": _softmax(True),
    "aten.log_softmax.int": _softmax(True),
    "aten.native_layer_norm.default": Operator(_layer_norm),
    "aten.native_group_norm.default": Operator(_group_norm),
    "aten.native_batch_norm.default": Operator(_batch_norm),
    "aten._native_batch_norm_legit.default": Operator(_batch_norm),
    "aten._native_batch_norm_legit.no_stats": Operator(_batch_norm),
    "aten._native_batch_norm_legit_functional.default": Operator(_batch_norm),
    "aten._native_batch_norm_legit_no_training.default": Operator(_batch_norm),
    "aten.rms_norm.default": Operator(_rms_norm),
    "aten._fused_rms_norm.default": Operator(_rms_norm),
}
