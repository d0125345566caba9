"""What the framework leaves undefined or open (gate 5), seen in the eager run's dispatch trace.

Invariant: a contract is found in what eager *did*, with its actual values, never in the program's text; a
result that it reaches carries its name, and a result that it does not reach is judged as usual. Every
entry says why the framework owes nothing there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from fuzzers.oracle.operators import named, plain_name, words
from fuzzers.oracle.overlap import writes_overlap

Arguments = dict[str, Any]
Holds = Callable[[Arguments], bool]


@dataclass(frozen=True)
class Contract:
    """An open contract: `operators` it concerns (empty: any), and when it `holds` for actual arguments,
    which are read before the operator runs."""

    label: str
    reason: str
    operators: frozenset[str]
    holds: Holds


def _is_int(value: Any) -> bool:
    if not isinstance(value, torch.Tensor):
        return isinstance(value, int) and not isinstance(value, bool)
    return not (value.is_floating_point() or value.is_complex() or value.dtype == torch.bool)


def _cast(args: Arguments) -> tuple[torch.Tensor, torch.dtype] | None:
    """(what is cast, to which integer dtype) when a float becomes an integer."""
    if "src" in args and isinstance(args["src"], torch.Tensor) and isinstance(args.get("self"), torch.Tensor):
        source, target = args["src"], args["self"].dtype
    else:
        source, target = args.get("self", args.get("a")), args.get("dtype")
    if not isinstance(source, torch.Tensor) or not isinstance(target, torch.dtype):
        return None
    integer = not (target.is_floating_point or target.is_complex or target == torch.bool)
    return (source, target) if source.is_floating_point() and integer else None


def _negative_to_unsigned(args: Arguments) -> bool:
    cast = _cast(args)
    if cast is None or torch.iinfo(cast[1]).min < 0:
        return False
    return bool((torch.trunc(cast[0]) < 0).any())


def _out_of_range(args: Arguments) -> bool:
    cast = _cast(args)
    if cast is None:
        return False
    info, values = torch.iinfo(cast[1]), torch.trunc(cast[0].to(torch.float64))
    inside = values < float(info.max) + 1
    if info.min < 0:
        inside &= values >= float(info.min)
    return not bool((inside & torch.isfinite(values)).all())


def _shift_out_of_width(args: Arguments) -> bool:
    value, by = args.get("self"), args.get("other")
    if not isinstance(value, torch.Tensor) or by is None:
        return False
    amount = torch.as_tensor(by)
    return bool(((amount < 0) | (amount >= 8 * value.element_size())).any())


def _divides_by_zero(args: Arguments) -> bool:
    value, by = args.get("self"), args.get("other")
    return _is_int(value) and _is_int(by) and bool((torch.as_tensor(by) == 0).any())


def _negative_power(args: Arguments) -> bool:
    base, power = args.get("self"), args.get("exponent")
    return _is_int(base) and _is_int(power) and bool((torch.as_tensor(power) < 0).any())


def _scalar_does_not_fit(args: Arguments) -> bool:
    tensors = [a for a in args.values() if isinstance(a, torch.Tensor)]
    scalars = [args[k] for k in ("other", "value", "exponent") if _is_int(args.get(k))]
    scalars = [s for s in scalars if not isinstance(s, torch.Tensor)]
    if not scalars or not tensors or not _is_int(tensors[0]):
        return False
    info = torch.iinfo(tensors[0].dtype)
    return any(not info.min <= s <= info.max for s in scalars)


def _repeats_along(index: torch.Tensor, dim: int) -> bool:
    if index.dim() == 0 or index.size(dim) < 2:
        return False
    ordered = index.sort(dim).values
    return bool((ordered.diff(dim=dim) == 0).any())


def _scatter_repeats(args: Arguments) -> bool:
    if args.get("reduce") is not None or "src" not in args:
        return False
    return _repeats_along(args["index"], args["dim"])


def _index_copy_repeats(args: Arguments) -> bool:
    return _repeats_along(args["index"], 0)


def _index_put_repeats(args: Arguments) -> bool:
    if args.get("accumulate") or args["values"].numel() <= 1:
        return False
    given = [i for i in args["indices"] if i is not None]
    if any(i.dtype in (torch.bool, torch.uint8) for i in given):
        given = [
            part for i in given for part in (i.nonzero(as_tuple=True) if i.dtype == torch.bool else (i,))
        ]
    places = torch.stack([i.long().flatten() for i in torch.broadcast_tensors(*given)], 1)
    sizes = [n for n, i in zip(args["self"].shape, args["indices"], strict=False) if i is not None]
    if len(sizes) == places.size(1):
        places = places.remainder(torch.tensor(sizes, device=places.device))
    return bool(torch.unique(places, dim=0).size(0) < places.size(0))


def _put_repeats(args: Arguments) -> bool:
    return not args.get("accumulate") and _repeats_along(args["index"].flatten(), 0)


def _always(args: Arguments) -> bool:
    return True


def _to_bool_bits(args: Arguments) -> bool:
    value, target = args.get("self"), args.get("dtype")
    return target == torch.bool and isinstance(value, torch.Tensor) and value.dtype != torch.bool


CASTING = words("_to_copy copy convert_element_type sum prod cumsum cumprod mean to")
WRITES = words("index_put _index_put_impl _unsafe_index_put")

CONTRACTS: tuple[Contract, ...] = (
    Contract(
        "uninitialised memory",
        "its content is whatever was there",
        words("empty new_empty empty_strided empty_like new_empty_strided empty_permuted resize"),
        _always,
    ),
    Contract(
        "negative float to unsigned",
        "undefined in C++, and differs between vector and scalar code",
        CASTING,
        _negative_to_unsigned,
    ),
    Contract(
        "float out of the integer's range", "undefined in C++; NaN and infinity too", CASTING, _out_of_range
    ),
    Contract(
        "shift past the width",
        "undefined in C++ for a negative or too large amount",
        words("__lshift__ __rshift__ __ilshift__ __irshift__ bitwise_left_shift bitwise_right_shift"),
        _shift_out_of_width,
    ),
    Contract(
        "integer division by zero",
        "raises on some devices and returns anything on others",
        words("div floor_divide remainder fmod divide"),
        _divides_by_zero,
    ),
    Contract("integer to a negative power", "has no integer value", frozenset({"pow"}), _negative_power),
    Contract(
        "scalar that the integer dtype cannot hold",
        "scalars do not promote within a category, so how it wraps is open",
        frozenset(),
        _scalar_does_not_fit,
    ),
    Contract(
        "write with duplicate indices",
        "documented: which of the values is written is undefined",
        WRITES,
        _index_put_repeats,
    ),
    Contract(
        "scatter with duplicate indices",
        "documented: one of the values is picked arbitrarily",
        frozenset({"scatter"}),
        _scatter_repeats,
    ),
    Contract(
        "index_copy with duplicate indices",
        "documented: the value that is left is undefined",
        frozenset({"index_copy"}),
        _index_copy_repeats,
    ),
    Contract(
        "put with duplicate indices",
        "documented: undefined unless it accumulates",
        frozenset({"put"}),
        _put_repeats,
    ),
    Contract(
        "signs or order of a decomposition",
        "singular and eigen vectors, and QR, are unique only up to sign, phase or rotation",
        words(
            "_linalg_svd linalg_svd svd _linalg_eigh linalg_eigh _linalg_eigvals linalg_eig linalg_eigvals "
            "linalg_qr geqrf linalg_ldl_factor_ex lobpcg linalg_lstsq"
        ),
        _always,
    ),
    Contract("mode", "which of several most frequent values is open", frozenset({"mode"}), _always),
    Contract(
        "bits that are no bool",
        "a bool holds 0 or 1; other bits are undefined",
        frozenset({"view"}),
        _to_bool_bits,
    ),
)

RANDOM = "random operator"
"""Numbers drawn: a script that runs stock settings gets other ones from the compiler, by design."""

OVERLAP = "write into memory that overlaps itself"
"""Documented as undefined: the order of the writes is open in eager too."""

OVERFLOW = "signed overflow"
"""Undefined in C++; eager happens to wrap, generated code is free not to."""


LABELS = frozenset({*(c.label for c in CONTRACTS), RANDOM, OVERLAP, OVERFLOW})
"""Everything that `inspect` and `overflows` can find."""

MAY_ALIAS = words("reshape reshape_as contiguous flatten ravel einsum dropout alpha_dropout")
"""Functions that return a view or a copy as they see fit, by the name Python calls them."""


def inspect(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> set[str]:
    """The contracts that one operator call leaves open, before it runs."""
    name, given = plain_name(func), named(func, args, kwargs)
    labels = {c.label for c in CONTRACTS if (name in c.operators or not c.operators) and c.holds(given)}
    if torch.Tag.nondeterministic_seeded in func.tags:
        labels.add(RANDOM)
    if func._schema.is_mutable and writes_overlap(func, given):
        labels.add(OVERLAP)
    return labels


OVERFLOWING = words(
    "add sub rsub mul neg abs sum prod cumsum cumprod dot mv mm bmm addmm addmv baddbmm pow square "
    "bitwise_left_shift __lshift__ addcmul"
)


def exact_magnitude(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor | None:
    """What an operator that can overflow would give in float64, when all its tensors are integers."""
    if plain_name(func) not in OVERFLOWING:
        return None
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    if not tensors or any(not (_is_int(t) or t.dtype == torch.bool) for t in tensors):
        return None
    if "shift" in plain_name(func):
        return tensors[0].to(torch.float64) * 2.0 ** torch.as_tensor(args[1]).clamp(0, 63)
    wide = [a.to(torch.float64) if isinstance(a, torch.Tensor) else a for a in args]
    options = {k: v for k, v in kwargs.items() if k != "dtype"}
    functional = getattr(torch.ops.aten, plain_name(func))
    magnitude: torch.Tensor = functional(*wide, **options)
    return magnitude


def overflows(exact: torch.Tensor | None, result: Any) -> bool:
    """Whether `result` is a signed integer that could not hold what it should have been."""
    if exact is None or not isinstance(result, torch.Tensor) or not _is_int(result):
        return False
    info = torch.iinfo(result.dtype)
    if info.min == 0:
        return False
    return bool(((exact < float(info.min)) | (exact >= float(info.max) + 1)).any())
