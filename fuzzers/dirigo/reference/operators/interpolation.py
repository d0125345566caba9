"""Interpolation: nearest, nearest-exact and linear, of one to three axes.

Invariant: a source index and its share are concrete, computed in float32 as torch computes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from fuzzers.dirigo.reference.demand import Ask, Demand, Operator, Work, moving
from fuzzers.dirigo.reference.graph import Array

SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


def _steps(d: Demand, rank: int) -> list[np.float32]:
    """How far the source moves with an output index, an axis."""
    found = []
    for axis, name in enumerate(SCALES[rank]):
        given = d[name]
        size, out = d.shape("self")[axis - rank], d.out.shape[axis - rank]
        found.append(np.float32(1.0 / given if given is not None and given > 0 else size / out))
    return found


def _nearest(rank: int, shift: float) -> Operator:
    def index(d: Demand) -> Ask:
        where = list(d.where())
        for axis, step in enumerate(_steps(d, rank)):
            at = where[axis - rank].astype(np.float32)
            source = np.floor((at + np.float32(shift)) * step).astype(np.int64)
            where[axis - rank] = np.minimum(source, d.shape("self")[axis - rank] - 1)
        return d.ask("self", where)

    return moving(index)


def _corners(at: Array, size: int, out: int, step: np.float32, aligned: bool) -> list[tuple[Array, Array]]:
    """The two source indices of an output index, each with its share."""
    place = at.astype(np.float32)
    if aligned:
        step = np.float32((size - 1) / (out - 1)) if out > 1 else np.float32(0)
        source = place * step
    else:
        source = np.maximum(step * (place + np.float32(0.5)) - np.float32(0.5), np.float32(0))
    low = np.minimum(source.astype(np.int64), size - 1)
    share = np.clip(source - low.astype(np.float32), 0, 1).astype(np.float32)
    return [(low, np.float32(1) - share), (np.minimum(low + 1, size - 1), share)]


def _linear(rank: int) -> Operator:
    def work(d: Demand) -> Work:
        where = d.where()
        axes = [
            _corners(
                where[a - rank], d.shape("self")[a - rank], d.out.shape[a - rank], step, d["align_corners"]
            )
            for a, step in enumerate(_steps(d, rank))
        ]
        corners = list(product(*axes))
        shares = [np.prod([share for _, share in corner], axis=0) for corner in corners]
        held = [np.flatnonzero(share != 0) for share in shares]
        asks = [
            d.ask("self", [index[lanes] for index in (*where[:-rank], *(at for at, _ in corner))])
            for corner, lanes in zip(corners, held, strict=True)
        ]
        answers = yield tuple(asks)
        found = d.number(0).spread(len(d))
        for values, share, lanes in zip(answers, shares, held, strict=True):
            part = values * d.pen.concrete(values.type, share[lanes])
            found = found + part.scattered(share != 0, 0)
        return found

    return Operator(work)


LINEAR = {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}
TABLE: Mapping[str, Operator] = {
    **{f"aten.upsample_nearest{rank}d.default": _nearest(rank, 0.0) for rank in (1, 2, 3)},
    **{f"aten._upsample_nearest_exact{rank}d.default": _nearest(rank, 0.5) for rank in (1, 2, 3)},
    **{f"aten.{name}.default": _linear(rank) for rank, name in LINEAR.items()},
}
