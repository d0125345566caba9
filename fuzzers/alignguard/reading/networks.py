"""The shapes of what networks are made of: convolutions, pooling, padding, tables, losses; and of Fourier
transforms and elementwise functions that live in modules of their own.

Invariant: as in `views`.
"""

from __future__ import annotations

from dataclasses import replace

from fuzzers.alignguard.reading import names, views
from fuzzers.alignguard.reading.call import Call, Result, each, plain
from fuzzers.alignguard.reading.values import Shape, Tensor, Value, broadcast, wrap

LOSSES = """l1_loss mse_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy
    binary_cross_entropy_with_logits kl_div poisson_nll_loss"""


def _ints(value: object, count: int) -> tuple[int, ...] | None:
    """One int for each spatial dimension; None when they are not known."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * count
    if isinstance(value, tuple) and all(isinstance(n, int) for n in value):
        return value if len(value) == count else value * count if len(value) == 1 else None
    return None


def _convolved(call: Call) -> Value:
    """conv1d to conv3d, without transposed ones."""
    weight = call.args[1] if len(call.args) > 1 else call.named.get("weight")
    shape, spatial = call.first.shape, int(call.name[4])
    if not isinstance(weight, Tensor) or weight.shape is None or shape is None:
        return Tensor(None, call.first.dtype)
    options = (call.value(3, "stride", 1), call.value(4, "padding", 0), call.value(5, "dilation", 1))
    stride, padding, dilation = (_ints(o, spatial) for o in options)
    if stride is None or padding is None or dilation is None or len(shape) < spatial + 1:
        return Tensor(None, call.first.dtype)
    kernel, size = weight.shape[2:], shape[-spatial:]
    found = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(size, padding, dilation, kernel, stride, strict=True)
    ]
    return Tensor((*shape[: -spatial - 1], weight.shape[0], *found), call.first.dtype)


def _linear(call: Call) -> Value:
    weight = call.args[1] if len(call.args) > 1 else call.named.get("weight")
    known = isinstance(weight, Tensor) and weight.shape is not None and len(weight.shape) == 2
    if not known or not call.first.shape or not isinstance(weight, Tensor) or weight.shape is None:
        return Tensor(None, call.first.dtype)
    return Tensor((*call.first.shape[:-1], weight.shape[0]), call.first.dtype)


def _padded(call: Call) -> Value:
    shape, amounts = call.first.shape, call.value(1, "pad")
    pairs = amounts if isinstance(amounts, tuple) and all(isinstance(n, int) for n in amounts) else None
    if shape is None or pairs is None or len(pairs) > 2 * len(shape):
        return Tensor(None, call.first.dtype)
    sizes = list(shape)
    for k in range(len(pairs) // 2):
        sizes[-1 - k] += pairs[2 * k] + pairs[2 * k + 1]
    return Tensor(tuple(sizes), call.first.dtype)


def _adaptive(call: Call) -> Value:
    spatial = int(call.name[-2])
    sizes = _ints(call.value(1, "output_size"), spatial)
    asked = [plain(v) for v in (*call.args[2:], *(v for k, v in call.named.items() if k == "return_indices"))]
    if sizes is None or call.first.shape is None or True in asked or "max" in call.name:
        return Tensor(None, call.first.dtype)
    return Tensor((*call.first.shape[:-spatial], *sizes), call.first.dtype)


def _looked_up(call: Call) -> Value:
    table = call.args[1] if len(call.args) > 1 else call.named.get("weight")
    if not isinstance(table, Tensor) or table.shape is None or call.first.shape is None:
        return Tensor()
    return Tensor((*call.first.shape, *table.shape[1:]), table.dtype)


def _selected(call: Call) -> Value:
    """index_select."""
    shape, dim = call.first.shape, call.value(1, "dim")
    index = call.args[2] if len(call.args) > 2 else call.named.get("index")
    at = wrap(dim, len(shape)) if shape else None
    if shape is None or at is None or not isinstance(index, Tensor) or index.count is None:
        return Tensor(None, call.first.dtype)
    return Tensor((*shape[:at], index.count, *shape[at + 1 :]), call.first.dtype)


def _loss(call: Call) -> Value:
    how = call.value(99, "reduction", "mean")
    pair = call.tensors[:2]
    shape = broadcast(pair[0].shape, pair[1].shape) if len(pair) == 2 else None
    return Tensor(() if how in ("mean", "sum") else shape if how == "none" else None)


def _positions(call: Call) -> Value:
    """searchsorted and bucketize: the shape of what is looked for, as far as it is a tensor."""
    at = 0 if call.name == "bucketize" else 1
    sought = call.args[at] if len(call.args) > at else None
    wide = call.value(99, "out_int32", False) is False and len(call.args) < at + 2
    return Tensor(sought.shape if isinstance(sought, Tensor) else None, "int64" if wide else None)


def _same_matrix(call: Call) -> Value:
    return Tensor(call.first.shape, call.first.dtype)


def _without_matrix(call: Call) -> Value:
    shape = call.first.shape
    return Tensor(None if shape is None else shape[:-2], call.first.dtype)


def _outer(call: Call) -> Value:
    pair: list[Shape | None] = [t.shape for t in call.tensors[:2]]
    if len(pair) < 2 or pair[0] is None or pair[1] is None or len(pair[0]) != 1 or len(pair[1]) != 1:
        return Tensor()
    return Tensor((pair[0][0], pair[1][0]))


def _copied(call: Call) -> Value | None:
    """The copying form of a view."""
    rule = views.TABLE[call.name.removesuffix("_copy")]
    return rule(replace(call, name=call.name.removesuffix("_copy")))


def _order(call: Call) -> Value:
    return Tensor(call.first.shape, "int64")


COPIED = names.names("t transpose permute squeeze unsqueeze expand narrow select")
COPIES = " ".join(f"{n}_copy" for n in sorted(COPIED))

TABLE: dict[str, Result] = {
    **each("conv1d conv2d conv3d", _convolved),
    **each("linear", _linear),
    **each("pad constant_pad_nd", _padded),
    **each("adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d", _adaptive),
    **each("embedding", _looked_up),
    **each("index_select", _selected),
    **each(LOSSES, _loss),
    **each("searchsorted bucketize", _positions),
    **each("inverse inv matrix_exp cholesky channel_shuffle prelu dropout2d dropout3d", _same_matrix),
    **each("local_response_norm fftshift ifftshift alias_copy", _same_matrix),
    **each("det logdet", _without_matrix),
    **each("outer ger", _outer),
    **each("argsort", _order),
    **each(COPIES, _copied),
}
"""Plain name -> its rule."""
