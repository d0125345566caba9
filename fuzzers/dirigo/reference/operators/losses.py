"""Losses: a formula an element, then none, the mean or the sum of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fuzzers.dirigo.reference.demand import Demand, Operator, Work
from fuzzers.dirigo.reference.folding import total
from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.places import places, within
from fuzzers.dirigo.reference.values import Number, Values

NONE, MEAN, SUM = 0, 1, 2
LOG_FLOOR = -100.0
"""binary_cross_entropy takes no logarithm as smaller than this."""


def _loss(formula: Callable[..., Values], names: str = "self target", options: str = "") -> Operator:
    """An elementwise loss: `formula` on the tensors that were given (None for others) and the options."""

    def work(d: Demand) -> Work:
        shape = np.broadcast_shapes(*(d.shape(name) for name in names.split() if d.has(name)))
        count = int(np.prod(shape, dtype=np.int64))
        each = d["reduction"] == NONE
        where = places(d.at if each else np.arange(within(count)), shape)
        given = [name for name in names.split() if d.has(name)]
        asks = tuple(d.ask(name, where[len(where) - len(d.shape(name)) :]) for name in given)
        answers = dict(zip(given, (yield asks), strict=True))
        sides = [answers[name].cast(d.type) if name in answers else None for name in names.split()]
        lanes = formula(*sides, *(d[name] for name in options.split())).spread(len(d) if each else count)
        if each:
            return lanes
        summed = total(lanes, 1)
        return summed / count if d["reduction"] == MEAN else summed

    return Operator(work)


def squared(x: Values, y: Values) -> Values:
    away = x - y
    return away * away


def huber(x: Values, y: Values, delta: Number) -> Values:
    away = (x - y).abs()
    return away.compare("lt", delta).choose(away * away * 0.5, (away - 0.5 * delta) * delta)


def smooth(x: Values, y: Values, beta: Number) -> Values:
    away = (x - y).abs()
    if beta == 0:
        return away
    return away.compare("lt", beta).choose(away * away * 0.5 / beta, away - 0.5 * beta)


def cross_entropy(x: Values, y: Values, weight: Values | None) -> Values:
    """binary_cross_entropy."""
    logs = x.call("log").most(LOG_FLOOR), (1 - x).call("log").most(LOG_FLOOR)
    found = (y - 1) * logs[1] - y * logs[0]
    return found if weight is None else found * weight


def cross_entropy_of_logits(x: Values, y: Values, weight: Values | None, positive: Values | None) -> Values:
    """binary_cross_entropy_with_logits: (1 - y) x + w log(1 + exp(-x)), the logarithm taken stably."""
    log_one = (-x.abs()).call("exp").call("log1p") + (-x).most(0)
    share = log_one if positive is None else log_one * ((positive - 1) * y + 1)
    found = (1 - y) * x + share
    return found if weight is None else found * weight


def soft_margin(x: Values, y: Values) -> Values:
    return (-y * x).call("exp").call("log1p")


def divergence(x: Values, y: Values, log_target: bool) -> Values:
    """kl_div; where a probability is 0 it adds nothing."""
    if log_target:
        return y.call("exp") * (y - x)
    return y.compare("eq", 0).choose(y.constant(0), y * y.call("log")) - y * x


def _likelihood(d: Demand) -> Work:
    """nll_loss: minus the input at the target's class, weighted; the mean is over the weights."""
    target = d.known("target")
    shape = d.shape("self")
    classes = 1 if len(shape) > 1 else 0
    flat = target.reshape(-1)
    lanes: Array = d.at if d["reduction"] == NONE and not d.output else np.arange(flat.shape[0])
    counted = flat[lanes] != d["ignore_index"]
    kept, label = lanes[counted], flat[lanes][counted]
    where = list(places(kept, target.shape))
    where.insert(classes, label)
    asks = [d.ask("self", where if target.shape else [label])]
    if d.has("weight"):
        asks.append(d.flat("weight", label))
    values, *weights = yield tuple(asks)
    weight = weights[0] if weights else d.number(1).spread(kept.shape[0])
    found = -(values * weight)
    if d["reduction"] == NONE:
        return d.number(0) if d.output else found.scattered(counted, 0)
    whole = total(weight, 1)
    if d.output:
        return whole
    return total(found, 1) / whole if d["reduction"] == MEAN else total(found, 1)


def _multi_margin(d: Demand) -> Work:
    """Mean over the classes of max(0, margin - x[target] + x[class]) to a power, for all but the target."""
    target = d.known("target").reshape(-1)
    shape = d.shape("self")
    classes = shape[-1]
    lanes = d.at if d["reduction"] == NONE else np.arange(target.shape[0])
    label = target[lanes]
    other = np.tile(np.arange(classes), (lanes.shape[0], 1))
    other = other[other != label[:, None]].reshape(lanes.shape[0], classes - 1)
    own, rest = yield (
        d.flat("self", lanes * classes + label),
        d.flat("self", lanes[:, None] * classes + other),
    )
    if d.has("weight"):
        raise d.unknown("weights")
    lane: Array = np.repeat(np.arange(lanes.shape[0]), classes - 1)
    short = (rest - own.take(lane) + d["margin"]).most(0)
    found = total(short if d["p"] == 1 else short * short, lanes.shape[0]) / classes
    if d["reduction"] == NONE:
        return found
    summed = total(found, 1)
    return summed / lanes.shape[0] if d["reduction"] == MEAN else summed


TABLE: Mapping[str, Operator] = {
    "aten.mse_loss.default": _loss(squared),
    "aten.l1_loss.default": _loss(lambda x, y: (x - y).abs()),
    "aten.huber_loss.default": _loss(huber, options="delta"),
    "aten.smooth_l1_loss.default": _loss(smooth, options="beta"),
    "aten.binary_cross_entropy.default": _loss(cross_entropy, "self target weight"),
    "aten.binary_cross_entropy_with_logits.default": _loss(
        cross_entropy_of_logits, "self target weight pos_weight"
    ),
    "aten.soft_margin_loss.default": _loss(soft_margin),
    "aten.kl_div.default": _loss(divergence, options="log_target"),
    "aten.nll_loss_forward.default": Operator(_likelihood),
    "aten.nll_loss2d_forward.default": Operator(_likelihood),
    "aten.multi_margin_loss.default": Operator(_multi_margin),
}
