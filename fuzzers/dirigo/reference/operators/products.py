"""The matmul family: sums of products over one axis.

Invariant: one product and one sum of a row and a column, `inner` products each, as a tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fuzzers.dirigo.reference.demand import Demand, Operator, Work
from fuzzers.dirigo.reference.folding import total
from fuzzers.dirigo.reference.graph import Array
from fuzzers.dirigo.reference.places import Places
from fuzzers.dirigo.reference.values import Values


def _inner(d: Demand, left: str) -> tuple[Places, Array]:
    """The asked elements with an axis to sum over, and that axis."""
    return tuple(index[:, None] for index in d.where()), np.arange(d.shape(left)[-1])[None, :]


def _mm(d: Demand) -> Work:
    (i, j), k = _inner(d, "self")
    a, b = yield d.ask("self", (i, k)), d.ask("mat2", (k, j))
    return total(a * b, len(d))


def _bmm(d: Demand) -> Work:
    (n, i, j), k = _inner(d, "self")
    a, b = yield d.ask("self", (n, i, k)), d.ask("mat2", (n, k, j))
    return total(a * b, len(d))


def _mv(d: Demand) -> Work:
    (i,), k = _inner(d, "self")
    a, b = yield d.ask("self", (i, k)), d.ask("vec", (np.broadcast_to(k, (len(d), k.size)),))
    return total(a * b, len(d))


def _dot(d: Demand) -> Work:
    k = np.arange(d.shape("self")[0])
    a, b = yield d.ask("self", (k,)), d.ask("tensor" if "tensor" in d.call.arguments else "other", (k,))
    return total(a * b, 1)


def _plus(d: Demand, product: Values, base: Values) -> Values:
    """beta * base + alpha * product; a beta of 0 ignores the base."""
    alpha, beta = d["alpha"], d["beta"]
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    return scaled + (base if beta == 1 else base * beta)


def _addmm(d: Demand) -> Work:
    (i, j), k = _inner(d, "mat1")
    a, b, base = yield d.ask("mat1", (i, k)), d.ask("mat2", (k, j)), d.alike(d["self"])
    return _plus(d, total(a * b, len(d)), base)


def _addmv(d: Demand) -> Work:
    (i,), k = _inner(d, "mat")
    vector = np.broadcast_to(k, (len(d), k.size))
    a, b, base = yield d.ask("mat", (i, k)), d.ask("vec", (vector,)), d.alike(d["self"])
    return _plus(d, total(a * b, len(d)), base)


def _baddbmm(d: Demand) -> Work:
    (n, i, j), k = _inner(d, "batch1")
    a, b, base = yield d.ask("batch1", (n, i, k)), d.ask("batch2", (n, k, j)), d.alike(d["self"])
    return _plus(d, total(a * b, len(d)), base)


def _addbmm(d: Demand) -> Work:
    i, j = (index[:, None, None] for index in d.where())
    batch, _, inner = d.shape("batch1")
    n, k = np.arange(batch)[None, :, None], np.arange(inner)[None, None, :]
    a, b, base = yield d.ask("batch1", (n, i, k)), d.ask("batch2", (n, k, j)), d.alike(d["self"])
    return _plus(d, total(a * b, len(d)), base)


def _outer(d: Demand) -> Work:
    i, j = d.where()
    a, b = yield d.ask("self", (i,)), d.ask("vec2", (j,))
    return a * b


def _addr(d: Demand) -> Work:
    i, j = d.where()
    a, b, base = yield d.ask("vec1", (i,)), d.ask("vec2", (j,)), d.alike(d["self"])
    return _plus(d, a * b, base)


def _linear(d: Demand) -> Work:
    *front, out = (index[:, None] for index in d.where())
    k = np.arange(d.shape("input")[-1])[None, :]
    asks: list[Any] = [d.ask("input", (*front, k)), d.ask("weight", (out, k))]
    if d.has("bias"):
        asks.append(d.ask("bias", (out[:, 0],)))
    a, b, *bias = yield tuple(asks)
    found = total(a * b, len(d))
    return found + bias[0] if bias else found


TABLE: Mapping[str, Operator] = {
    "aten.mm.default": Operator(_mm),
    "aten.bmm.default": Operator(_bmm),
    "aten.mv.default": Operator(_mv),
    "aten.dot.default": Operator(_dot),
    "aten.vdot.default": Operator(_dot),
    "aten.addmm.default": Operator(_addmm),
    "aten.addmv.default": Operator(_addmv),
    "aten.baddbmm.default": Operator(_baddbmm),
    "aten.addbmm.default": Operator(_addbmm),
    "aten.outer.default": Operator(_outer),
    "aten.ger.default": Operator(_outer),
    "aten.addr.default": Operator(_addr),
    "aten.linear.default": Operator(_linear),
}
