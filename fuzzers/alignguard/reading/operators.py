"""What an operator's result is, from what is known of its arguments.

Invariant: a table from names to small functions; one that cannot tell returns None, and the result is then a
tensor of unknown shape or, for names that may give something else, unknown altogether.
"""

from __future__ import annotations

from fuzzers.alignguard.reading import makers, names, networks, views
from fuzzers.alignguard.reading.call import Call, Result, each, plain
from fuzzers.alignguard.reading.values import (
    DTYPES,
    INTEGERS,
    UNKNOWN,
    DType,
    Literal,
    Several,
    Shape,
    Tensor,
    Value,
    broadcast,
    promote,
    wrap,
)
from fuzzers.alignguard.reading.views import PARTS


def result(call: Call) -> Value:
    """What the call gives. `storage`, `views` and `made` are the reader's business."""
    if call.name in names.NOT_TENSORS and not (call.method and call.name in names.CASTS):
        return UNKNOWN
    known = TABLE.get(call.name)
    found = known(call) if known else None
    if found is not None:
        return found
    if call.name in names.POOLS:
        asked = [plain(v) for v in (*call.args[1:], call.named.get("return_indices", Literal(False)))]
        return (
            UNKNOWN if True in [a for a in asked if isinstance(a, bool)] or len(call.args) > 6 else Tensor()
        )
    if call.name in names.PAIRS or call.name in names.SEVERAL or call.name in names.NOT_STRIDED:
        return UNKNOWN
    return Tensor(dtype=_complex_of(call.first.dtype) if call.name in names.TO_COMPLEX else None)


def _complex_of(dtype: str | None) -> str | None:
    """The complex dtype that a real one becomes a part of."""
    known = {
        "float16": "complex32",
        "float64": "complex128",
        "complex32": "complex32",
        "complex128": "complex128",
    }
    return known.get(dtype, "complex64") if dtype else None


def _same(call: Call) -> Value:
    return Tensor(call.first.shape, call.first.dtype)


def _absolute(call: Call) -> Value:
    return Tensor(call.first.shape, PARTS.get(call.first.dtype or "", call.first.dtype))


def _to_float(call: Call) -> Value:
    return Tensor(call.first.shape, _floating(call.first.dtype))


def _floating(dtype: str | None) -> str | None:
    return "float32" if dtype in INTEGERS or dtype == "bool" else dtype


def _operands(call: Call) -> list[Value]:
    given = list(call.args[:2])
    return given + [call.named[k] for k in ("input", "other", "exponent") if k in call.named]


def _common_shape(values: list[Value]) -> Shape | None:
    shape: Shape | None = ()
    for value in values:
        if isinstance(value, Tensor):
            shape = broadcast(shape, value.shape)
        elif not isinstance(plain(value), bool | int | float | complex):
            return None
    return shape


def _broadcast(call: Call) -> Value:
    shape: Shape | None = ()
    for tensor in call.tensors:
        shape = broadcast(shape, tensor.shape)
    dtypes = {t.dtype for t in call.tensors if t.dtype != "bool"}
    numbers = {type(plain(v)) for v in (*call.args, *call.named.values())} & {float, complex}
    whole = call.first.integer or call.first.dtype == "bool"
    return Tensor(shape, None if len(dtypes) > 1 or (whole and numbers) else call.first.dtype)


def _binary(call: Call) -> Value:
    operands = _operands(call)
    dtype = promote(operands)
    return Tensor(_common_shape(operands), None if dtype == "bool" and call.name == "pow" else dtype)


def _binary_float(call: Call) -> Value:
    operands = _operands(call)
    mode = call.value(2, "rounding_mode")
    return Tensor(_common_shape(operands), promote(operands) if mode else _floating(promote(operands)))


def _compare(call: Call) -> Value:
    return Tensor(_common_shape(_operands(call)), "bool")


def _unary_bool(call: Call) -> Value:
    return Tensor(call.first.shape, "bool")


def _widened(dtype: str | None) -> str | None:
    return "int64" if dtype in INTEGERS or dtype == "bool" else dtype


def _softmax(call: Call) -> Value:
    return Tensor(call.first.shape, call.dtype(call.first.dtype))


def _scan(call: Call) -> Value:
    return Tensor(call.first.shape, call.dtype(_widened(call.first.dtype)))


def reduced(shape: Shape | None, dims: object, keep: object) -> Shape | None:
    """A shape after a reduction over `dims` (None or (): all)."""
    if shape is None or dims is ... or not isinstance(keep, bool):
        return None
    given = dims if isinstance(dims, tuple) else (dims,)
    if dims is None or dims == ():
        return (1,) * len(shape) if keep else ()
    over = {wrap(d, len(shape)) for d in given}
    if None in over:
        return None
    kept = [(1 if k in over else n) for k, n in enumerate(shape) if keep or k not in over]
    return tuple(kept)


_DTYPE_OF_REDUCTION = {
    **dict.fromkeys(("sum", "nansum", "prod"), _widened),
    **dict.fromkeys(("all", "any"), lambda _: "bool"),
    **dict.fromkeys(("argmax", "argmin", "count_nonzero"), lambda _: "int64"),
    "logsumexp": _floating,
}


def _reduction(call: Call) -> Value:
    at = {"logsumexp": 1, "norm": 2, "vector_norm": 2}.get(call.name, 1)
    dims, keep = call.value(at, "dim", None), call.value(at + 1, "keepdim", False)
    if call.name in ("std", "var") and (isinstance(dims, bool) or "unbiased" in call.named):
        return Tensor()
    if "axis" in call.named:
        return Tensor()
    if call.first.dtype in PARTS and call.name not in ("sum", "nansum", "prod", "mean", "nanmean"):
        return Tensor(reduced(call.first.shape, dims, keep))
    kind = _DTYPE_OF_REDUCTION.get(call.name)
    dtype = kind(call.first.dtype) if kind else call.first.dtype
    return Tensor(reduced(call.first.shape, dims, keep), call.dtype(dtype))


def _pair(call: Call) -> Value | None:
    """max, min, median...: one tensor over everything, two values along a dimension."""
    whole = len(call.args) == 1 and not call.named
    if call.name in ("max", "min", "median", "nanmedian"):
        if whole:
            return Tensor((), call.first.dtype)
        second = call.args[1] if len(call.args) > 1 else call.named.get("other")
        if isinstance(second, Tensor):
            return _binary(call)
    elif call.name in ("topk", "kthvalue", "mode"):
        return Several((Tensor(None, call.first.dtype), Tensor(None, "int64")))
    elif call.name not in ("cummax", "cummin", "sort"):
        return None
    dims, keep = call.value(1, "dim", -1), call.value(2, "keepdim", False)
    scan = call.name in ("cummax", "cummin", "sort")
    shape = call.first.shape if scan else reduced(call.first.shape, dims, keep)
    return Several((Tensor(shape, call.first.dtype), Tensor(shape, "int64")))


def _cast(call: Call) -> Value:
    return Tensor(call.first.shape, names.CASTS[call.name]) if call.method else Tensor()


def _to(call: Call) -> Value:
    given = [plain(v) for v in (*call.args[1:], *(v for k, v in call.named.items() if k == "dtype"))]
    target = next((g.name for g in given if isinstance(g, DType)), None)
    if target is None and len(call.args) > 1 and isinstance(call.args[1], Tensor):
        target = call.args[1].dtype
    device = not given or isinstance(given[0], str)
    return Tensor(call.first.shape, call.first.dtype if target is None and device else target)


def _where(call: Call) -> Value:
    if len(call.args) < 3:
        return UNKNOWN
    shape = _common_shape(list(call.args[:3]))
    return Tensor(shape, promote(list(call.args[1:3])))


def _index_like(call: Call) -> Value:
    index = next((t for t in call.tensors[1:] if t.dtype == "int64"), Tensor())
    return Tensor(index.shape, call.first.dtype)


TABLE: dict[str, Result] = {
    **each(names.SAME, _same),
    **each("abs absolute", _absolute),
    **each(names.TO_FLOAT, _to_float),
    **each(names.TO_BOOL, _compare),
    **each("isfinite isinf isnan isneginf isposinf isreal logical_not signbit isin", _unary_bool),
    **each(names.BROADCAST, _broadcast),
    **each(names.BINARY, _binary),
    **each(names.BINARY_FLOAT, _binary_float),
    **each(names.SOFTMAX, _softmax),
    **each(names.SCANS, _scan),
    **each(names.REDUCTIONS, _reduction),
    **each(names.PAIRS, _pair),
    **each(frozenset(names.CASTS), _cast),
    **each("to type", _to),
    **each("where", _where),
    **each("gather", _index_like),
    **views.TABLE,
    **makers.TABLE,
    **networks.TABLE,
}
"""Plain name -> what comes out."""


def is_dtype(name: str) -> bool:
    """Whether `torch.<name>` is a dtype."""
    return name in DTYPES
