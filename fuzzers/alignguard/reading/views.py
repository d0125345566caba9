"""The shapes of views, and of operators that only move elements.

Invariant: a shape is given only when every number that it hangs on is known.
"""

from __future__ import annotations

from fuzzers.alignguard.reading.call import Call, Result, each
from fuzzers.alignguard.reading.values import (
    FLOATS,
    UNKNOWN,
    DType,
    Shape,
    Tensor,
    Value,
    volume,
    wrap,
)

PARTS = {"complex64": "float32", "complex128": "float64", "complex32": "float16"}
"""Complex dtype -> the dtype of its parts."""


def _transposed(call: Call) -> Value | None:
    shape = call.first.shape
    if shape is None:
        return _view(call, None)
    if call.name in ("T", "t", "H"):
        pair: tuple[object, object] = (0, -1)
    elif call.name in ("mT", "mH", "adjoint"):
        pair = (-2, -1)
    else:
        pair = (call.value(1, "dim0"), call.value(2, "dim1"))
    one, two = (wrap(d, len(shape)) for d in pair)
    if one is None or two is None:
        return _view(call, None)
    if not shape:
        return _view(call, ())
    order = list(shape)
    order[one], order[two] = order[two], order[one]
    return _view(call, tuple(order))


def _view(call: Call, shape: Shape | None) -> Tensor:
    return Tensor(shape, call.first.dtype)


def _permuted(call: Call) -> Value:
    shape, dims = call.first.shape, call.numbers(1, "dims")
    if shape is None or dims is None or len(dims) != len(shape):
        return _view(call, None)
    wrapped = [wrap(d, len(shape)) for d in dims]
    return _view(call, tuple(shape[d] for d in wrapped if d is not None))


def _moved(call: Call) -> Value:
    shape, source, target = call.first.shape, call.value(1, "source"), call.value(2, "destination")
    if shape is None or not isinstance(source, int) or not isinstance(target, int):
        return _view(call, None)
    one, two = wrap(source, len(shape)), wrap(target, len(shape))
    if one is None or two is None or not shape:
        return _view(call, shape if not shape else None)
    order = list(shape)
    order.insert(two, order.pop(one))
    return _view(call, tuple(order))


def _reshaped(call: Call) -> Value:
    dtype = call.value(1, "dtype")
    if call.name == "view" and isinstance(dtype, DType):
        return Tensor(
            call.first.shape if _width(dtype.name) == _width(call.first.dtype) else None, dtype.name
        )
    sizes = call.numbers(1, "shape")
    return _view(call, None if sizes is None else _filled(sizes, call.first.count))


def _width(dtype: str | None) -> int | None:
    digits = "".join(c for c in (dtype or "") if c.isdigit())
    return 8 if dtype == "bool" else int(digits) if digits and "float8" not in (dtype or "") else None


def _filled(sizes: Shape, count: int | None) -> Shape | None:
    if -1 not in sizes:
        return sizes
    known = volume(tuple(n for n in sizes if n != -1))
    if count is None or known == 0 or sizes.count(-1) > 1:
        return None
    return tuple(count // known if n == -1 else n for n in sizes)


def _flattened(call: Call) -> Value:
    shape, start, end = call.first.shape, call.value(1, "start_dim", 0), call.value(2, "end_dim", -1)
    if shape is None:
        return _view(call, None)
    one, two = wrap(start, len(shape)), wrap(end, len(shape))
    if one is None or two is None:
        return _view(call, None)
    return _view(call, (*shape[:one], volume(shape[one : two + 1]), *shape[two + 1 :]))


def _unsqueezed(call: Call) -> Value:
    shape, dim = call.first.shape, call.value(1, "dim")
    at = wrap(dim, len(shape) + 1) if shape is not None else None
    if shape is None or at is None:
        return _view(call, None)
    return _view(call, (*shape[:at], 1, *shape[at:]))


def _squeezed(call: Call) -> Value:
    shape, dims = call.first.shape, call.value(1, "dim", None)
    if shape is None or dims is ...:
        return _view(call, None)
    if dims is None:
        return _view(call, tuple(n for n in shape if n != 1))
    over = {wrap(d, len(shape)) for d in (dims if isinstance(dims, tuple) else (dims,))}
    return _view(call, tuple(n for k, n in enumerate(shape) if n != 1 or k not in over))


def _expanded(call: Call) -> Value:
    sizes, shape = call.numbers(1, "size"), call.first.shape
    if call.name == "expand_as" or sizes is None:
        other = call.args[1] if len(call.args) > 1 else UNKNOWN
        return _view(call, other.shape if isinstance(other, Tensor) else None)
    if -1 not in sizes:
        return _view(call, sizes)
    if shape is None or len(shape) > len(sizes):
        return _view(call, None)
    padded = (1,) * (len(sizes) - len(shape)) + shape
    return _view(call, tuple(p if n == -1 else n for n, p in zip(sizes, padded, strict=True)))


def _repeated(call: Call) -> Value:
    counts, shape = call.numbers(1, "repeats" if call.name == "repeat" else "dims"), call.first.shape
    if counts is None or shape is None:
        return Tensor(None, call.first.dtype)
    size = max(len(counts), len(shape))
    if call.name == "repeat" and len(counts) < len(shape):
        return Tensor(None, call.first.dtype)
    pairs = zip((1,) * (size - len(counts)) + counts, (1,) * (size - len(shape)) + shape, strict=True)
    return Tensor(tuple(a * b for a, b in pairs), call.first.dtype)


def _narrowed(call: Call) -> Value:
    shape, dim, length = call.first.shape, call.value(1, "dim"), call.value(3, "length")
    at = wrap(dim, len(shape)) if shape is not None else None
    if shape is None or at is None or not isinstance(length, int):
        return _view(call, None)
    return _view(call, (*shape[:at], length, *shape[at + 1 :]))


def _selected(call: Call) -> Value:
    shape, dim = call.first.shape, call.value(1, "dim")
    at = wrap(dim, len(shape)) if shape is not None else None
    if shape is None or at is None:
        return _view(call, None)
    return _view(call, (*shape[:at], *shape[at + 1 :]))


def _strided(call: Call) -> Value:
    size = call.value(1, "size")
    return _view(call, size if isinstance(size, tuple) else None)


def _complex_part(call: Call) -> Value:
    part = PARTS.get(call.first.dtype or "")
    keeps = call.first.dtype in FLOATS and call.name == "real"
    return Tensor(call.first.shape, call.first.dtype if keeps else part)


TABLE: dict[str, Result] = {
    **each("transpose t T H mT mH adjoint swapaxes swapdims", _transposed),
    **each("permute", _permuted),
    **each("movedim moveaxis", _moved),
    **each("view reshape", _reshaped),
    **each("view_as reshape_as expand expand_as broadcast_to", _expanded),
    **each("flatten ravel", _flattened),
    **each("unsqueeze", _unsqueezed),
    **each("squeeze", _squeezed),
    **each("repeat tile", _repeated),
    **each("narrow", _narrowed),
    **each("select", _selected),
    **each("as_strided", _strided),
    **each("diagonal unfold", lambda call: _view(call, None)),
    **each("real imag", _complex_part),
}
"""Plain name -> its rule."""
