"""Attention and distances between rows: products of two sets of rows with something on top."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from fuzzers.dirigo.reference.demand import Demand, Operator, Work
from fuzzers.dirigo.reference.folding import largest, total
from fuzzers.dirigo.reference.operators.reductions import norm
from fuzzers.dirigo.reference.places import places, within


def _attention(d: Demand) -> Work:
    """softmax(q k / sqrt(width) + mask) v, for each asked (batch, head, row, column); a causal mask leaves
    the later rows out."""
    if d["dropout_p"]:
        raise d.unknown("random")
    if d.output:
        raise d.unknown("statistics")
    batch, head, row, column = d.where()
    width, keys = d.shape("query")[-1], d.shape("key")[-2]
    lines, line = np.unique(np.stack([batch, head, row]), axis=1, return_inverse=True)
    line = line.reshape(-1)
    count = lines.shape[1]
    within(count * keys * width)
    b, h, r = (index[:, None] for index in lines)
    key = np.arange(keys)[None, :]
    seen = np.broadcast_to(key <= r if d["is_causal"] else key >= 0, (count, keys))
    b, h, r, key = (np.broadcast_to(index, seen.shape)[seen][:, None] for index in (b, h, r, key))
    inner = np.arange(width)[None, :]
    _, heads, *_ = d.shape("key")
    shared = h // (d.shape("query")[1] // heads)
    asks: list[Any] = [d.ask("query", (b, h, r, inner)), d.ask("key", (b, shared, key, inner))]
    taken = np.broadcast_to(seen[line], (len(d), keys))
    lane, at = np.nonzero(taken)
    group = head // (d.shape("query")[1] // heads)
    asks.append(d.ask("value", (batch[lane], group[lane], at, column[lane])))
    mask = next((name for name in ("attn_mask", "attn_bias") if d.has(name)), "")
    if mask:
        index = (b, h, r, key)[4 - len(d.shape(mask)) :]
        asks.append(d.ask(mask, [one[:, 0] for one in index]))
    q, k, v, *bias = yield tuple(asks)
    scale = d["scale"] if d["scale"] is not None else 1 / math.sqrt(width)
    scores = total(q * k, b.shape[0]) * scale
    if bias and bias[0].type == "pred":
        scores = bias[0].choose(scores, -math.inf)
    elif bias:
        scores = scores + bias[0]
    padded = scores.scattered(seen, -math.inf)
    top = largest(padded, count)
    powers = (padded - top.take(np.repeat(np.arange(count), keys))).call("exp")
    weights = powers.take((line[:, None] * keys + np.arange(keys))[taken])
    return total((weights * v).scattered(taken, 0), len(d)) / total(powers, count).take(line)


def _cdist(d: Demand) -> Work:
    *front, i, j = (index[:, None] for index in d.where())
    inner = np.arange(d.shape("x1")[-1])[None, :]
    lead = len(d.out.shape) - len(d.shape("x1"))
    a, b = yield d.ask("x1", (*front[lead:], i, inner)), d.ask("x2", (*front[lead:], j, inner))
    return norm(a - b, len(d), float(d["p"]))


def _pdist(d: Demand) -> Work:
    """Distances of all pairs of rows i < j, in order."""
    count, width = d.shape("self")
    i, j = (index[d.at][:, None] for index in np.triu_indices(count, 1))
    inner = np.arange(width)[None, :]
    a, b = yield d.ask("self", (i, inner)), d.ask("self", (j, inner))
    return norm(a - b, len(d), float(d["p"]))


def _trilinear(d: Demand) -> Work:
    """The product of three tensors, each with size 1 axes put in, summed over some axes; bilinear layers."""
    rank = len(d.shape("i1")) + len(d["expand1"])
    summed = {int(dim) % rank for dim in d["sumdim"]}
    sizes = [1] * rank
    kept_axes = {}
    for name, expand in (("i1", "expand1"), ("i2", "expand2"), ("i3", "expand3")):
        own = [axis for axis in range(rank) if axis not in {int(dim) % rank for dim in d[expand]}]
        kept_axes[name] = own
        for axis, size in zip(own, d.shape(name), strict=True):
            sizes[axis] = max(sizes[axis], size)
    over = [sizes[axis] for axis in sorted(summed)]
    within(len(d) * math.prod(over))
    inner = iter(places(np.arange(math.prod(over)), tuple(over)))
    outer = iter(d.where())
    where = [next(inner)[None, :] if axis in summed else next(outer)[:, None] for axis in range(rank)]
    shape = (len(d), math.prod(over))
    full = [np.broadcast_to(index, shape) for index in where]
    a, b, c = yield tuple(d.ask(name, [full[axis] for axis in own]) for name, own in kept_axes.items())
    return total(a * b * c, len(d))


ATTENTION = (
    *("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention"),
    *("_scaled_dot_product_efficient_attention", "scaled_dot_product_attention"),
)

TABLE: Mapping[str, Operator] = {
    **{f"aten.{name}.default": Operator(_attention) for name in ATTENTION},
    "aten._cdist_forward.default": Operator(_cdist),
    "aten._pdist_forward.default": Operator(_pdist),
    "aten._trilinear.default": Operator(_trilinear),
}
