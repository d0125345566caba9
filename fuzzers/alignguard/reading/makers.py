"""Tensors that are made from numbers, joined from others, or multiplied as matrices.

Invariant: as in `views`.
"""

from __future__ import annotations

from dataclasses import replace

from fuzzers.alignguard.reading import names
from fuzzers.alignguard.reading.call import Call, Result, each, plain
from fuzzers.alignguard.reading.values import (
    Several,
    Tensor,
    Value,
    broadcast,
    promote,
    wrap,
)


def _joined(call: Call) -> Value:
    parts = call.args[0].items if call.args and isinstance(call.args[0], Several) else ()
    dim = call.value(1, "dim", 0)
    tensors = [p for p in parts if isinstance(p, Tensor)]
    if not tensors or len(tensors) < len(parts):
        return Tensor()
    dtype = promote([replace(t, shape=(1,)) if t.shape == () else t for t in tensors])
    shapes = [t.shape for t in tensors if t.shape is not None]
    if len(shapes) < len(tensors):
        return Tensor(None, dtype)
    first = shapes[0]
    at = wrap(dim, len(first) + (call.name == "stack"))
    if at is None:
        return Tensor(None, dtype)
    if call.name == "stack":
        return Tensor((*first[:at], len(shapes), *first[at:]), dtype)
    if any(len(s) != len(first) for s in shapes):
        return Tensor(None, dtype)
    return Tensor((*first[:at], sum(s[at] for s in shapes), *first[at + 1 :]), dtype)


def _matmul(call: Call) -> Value:
    pair = [v for v in (*call.args, *call.named.values()) if isinstance(v, Tensor)][:2]
    if len(pair) < 2 or pair[0].shape is None or pair[1].shape is None:
        return Tensor(None, pair[0].dtype if pair else None)
    (a, b), dtype = (pair[0].shape, pair[1].shape), pair[0].dtype
    if len(a) < 2 or len(b) < 2:
        return Tensor(None, dtype)
    batch = broadcast(a[:-2], b[:-2])
    return Tensor(None if batch is None else (*batch, a[-2], b[-1]), dtype)


def _matmul_of_last(call: Call) -> Value:
    return _matmul(replace(call, args=call.args[1:3], named={}))


def _factory(call: Call) -> Value:
    sizes: object = call.numbers(0, "size")
    if call.name == "randint":
        sizes = next(
            (v for v in (plain(a) for a in call.args) if isinstance(v, tuple)), call.value(9, "size")
        )
    if call.name == "full":
        sizes = call.value(0, "size")
    fallback = {"randint": "int64", "full": None}.get(call.name, "float32")
    if call.name == "full":
        fill = call.value(1, "fill_value")
        fallback = {bool: "bool", int: "int64", float: "float32"}.get(type(fill))
    if isinstance(sizes, int):
        sizes = (sizes,)
    shape = sizes if isinstance(sizes, tuple) and all(isinstance(n, int) for n in sizes) else None
    return Tensor(shape, call.dtype(fallback), plain=True)


def _arange(call: Call) -> Value:
    bounds = [plain(a) for a in call.args]
    whole = bool(bounds) and all(isinstance(b, int) and not isinstance(b, bool) for b in bounds)
    numbers = [b for b in bounds if isinstance(b, int)] if whole else []
    length = len(range(*numbers)) if whole and 0 not in numbers[2:] else None
    dtype = call.dtype("int64" if whole else "float32" if ... not in bounds else None)
    return Tensor(None if length is None else (length,), dtype, plain=True)


def _literal_tensor(call: Call) -> Value:
    value = call.value(0, "data", ...)
    shape: list[int] = []
    inner: object = value
    while isinstance(inner, tuple):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    leaves = list(_leaves(value))
    kinds = {type(leaf) for leaf in leaves}
    dtype = next(
        (n for t, n in ((float, "float32"), (int, "int64"), (bool, "bool")) if t in kinds),
        "float32" if value == () else None,
    )
    known = value is not ... and ... not in leaves
    return Tensor(tuple(shape) if known else None, call.dtype(dtype if known else None), plain=True)


def _leaves(value: object) -> list[object]:
    return [leaf for v in value for leaf in _leaves(v)] if isinstance(value, tuple) else [value]


def _like(call: Call) -> Value:
    return Tensor(call.first.shape, call.dtype(call.first.dtype))


def _new(call: Call) -> Value:
    sizes = call.numbers(1, "size") if call.name != "new_full" else call.value(1, "size")
    return Tensor(sizes if isinstance(sizes, tuple) else None, call.dtype(call.first.dtype), plain=True)


TABLE: dict[str, Result] = {
    **each("cat concat concatenate stack", _joined),
    **each("matmul mm bmm", _matmul),
    **each("addmm baddbmm", _matmul_of_last),
    **each("randn rand zeros ones empty full randint", _factory),
    **each("arange", _arange),
    **each("tensor", _literal_tensor),
    **each(names.LIKE, _like),
    **each(names.NEW, _new),
}
"""Plain name -> its rule."""
