"""Values of a test case as source: literals, and tensors as constructions that can be read and varied.

Invariant: what is spelled has the dtype, shape and layout of the value; its numbers are drawn anew from the
range that they were in, unless they are asked for as they are. Whatever cannot be spelled raises `NotSpelled`
with a short reason, which is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import torch


class NotSpelled(ValueError):
    """A value that has no source; the message is the reason."""


class Layout(StrEnum):
    """How a tensor lies in memory."""

    PLAIN = "plain"
    """As the test case has it."""
    TRANSPOSED = "transposed"
    STRIDED = "strided"
    EXPANDED = "expanded"
    CHANNELS_LAST = "channels-last"
    OFFSET = "offset"


MOST_LITERAL = 64
"""Elements of a tensor whose numbers are written out."""

MOST_ELEMENTS = 8192
"""Elements of a tensor at all: tests have a few larger ones, which show nothing that these do not."""

WIDE = 16.0
"""Ranges around zero that reach further than this are no standard normal's."""


def literal(value: Any) -> str:
    """A value that holds no tensor, as an expression."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, torch.device):
        return repr(str(value))
    if value is Ellipsis:
        return "..."
    if isinstance(value, slice):
        return f"slice({literal(value.start)}, {literal(value.stop)}, {literal(value.step)})"
    if isinstance(value, tuple):
        inside = ", ".join(map(literal, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return f"{{{', '.join(f'{key!r}: {literal(item)}' for key, item in value.items())}}}"
    if type(value) in (bool, int, float, complex, str, type(None)):
        return repr(value)
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return str(value)
    raise NotSpelled(f"a {type(value).__name__}")


def tensor(value: torch.Tensor, layout: Layout = Layout.PLAIN, exact: bool = False) -> str:
    """A tensor as one expression. `exact` writes its numbers out."""
    _refuse(value)
    if exact:
        return _written(value)
    shape = tuple(value.shape)
    if layout is Layout.PLAIN or not applies(layout, shape):
        return _as_it_lies(value)
    return LAID_OUT[layout](value, shape)


def applies(layout: Layout, shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape can lie so."""
    if layout is Layout.CHANNELS_LAST:
        return len(shape) in (4, 5)
    if layout is Layout.TRANSPOSED:
        return len(shape) >= 2
    if layout is Layout.EXPANDED:
        return any(n > 1 for n in shape)
    return layout is Layout.PLAIN or len(shape) >= 1


def _refuse(value: torch.Tensor) -> None:
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        raise NotSpelled(f"a tensor subclass {type(value).__name__}")
    if value.layout is not torch.strided:
        raise NotSpelled(f"a tensor with layout {value.layout}")
    if value.is_quantized or value.is_nested:
        raise NotSpelled("a quantised or nested tensor")
    if value.is_conj() or value.is_neg():
        raise NotSpelled("a lazily conjugated or negated tensor")
    if value.numel() > MOST_ELEMENTS:
        raise NotSpelled("a large tensor")


def _as_it_lies(value: torch.Tensor) -> str:
    if value.is_contiguous():
        return drawn(value, tuple(value.shape))
    reach = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True)) if value.numel() else 0
    if reach + 1 > MOST_ELEMENTS:
        raise NotSpelled("a large tensor")
    size, stride = literal(tuple(value.shape)), literal(tuple(value.stride()))
    return f"{drawn(value, (reach + 1,))}.as_strided({size}, {stride})"


def _transposed(value: torch.Tensor, shape: tuple[int, ...]) -> str:
    base = drawn(value, shape[::-1])
    if len(shape) == 2:
        return f"{base}.t()"
    return f"{base}.permute({', '.join(map(str, range(len(shape) - 1, -1, -1)))})"


def _strided(value: torch.Tensor, shape: tuple[int, ...]) -> str:
    return f"{drawn(value, (*shape[:-1], 2 * shape[-1]))}[..., ::2]"


def _expanded(value: torch.Tensor, shape: tuple[int, ...]) -> str:
    dim = next(k for k, n in enumerate(shape) if n > 1)
    base = drawn(value, (*shape[:dim], 1, *shape[dim + 1 :]))
    return f"{base}.expand({', '.join(map(str, shape))})"


def _channels_last(value: torch.Tensor, shape: tuple[int, ...]) -> str:
    name = "channels_last" if len(shape) == 4 else "channels_last_3d"
    return f"{drawn(value, shape)}.contiguous(memory_format=torch.{name})"


def _offset(value: torch.Tensor, shape: tuple[int, ...]) -> str:
    return f"{drawn(value, (shape[0] + 1, *shape[1:]))}[1:]"


LAID_OUT: dict[Layout, Callable[[torch.Tensor, tuple[int, ...]], str]] = {
    Layout.TRANSPOSED: _transposed,
    Layout.STRIDED: _strided,
    Layout.EXPANDED: _expanded,
    Layout.CHANNELS_LAST: _channels_last,
    Layout.OFFSET: _offset,
}


def drawn(value: torch.Tensor, shape: tuple[int, ...]) -> str:
    """A contiguous tensor of that shape, drawn from the range that the value's numbers are in."""
    dtype = value.dtype
    kind = "" if dtype is torch.float32 else f", dtype={dtype}"
    sizes = literal(shape)
    if dtype is torch.bool:
        return f"torch.randint(0, 2, {sizes}{kind})"
    if not value.numel() or 0 in shape:
        return f"torch.zeros({sizes}{kind})"
    if dtype.is_complex:
        return f"torch.randn({sizes}{kind})"
    if not dtype.is_floating_point:
        low, high = int(value.min()), int(value.max())
        if high - low >= 2**62:
            raise NotSpelled("integers over the whole range")
        return f"torch.randint({low}, {high + 1}, {sizes}{kind or ', dtype=torch.int64'})"
    if not bool(torch.isfinite(value).all()):
        return _filled(value, shape)
    return _floating(value.double(), sizes, kind)


def _filled(value: torch.Tensor, shape: tuple[int, ...]) -> str:
    if tuple(value.shape) == shape and value.is_contiguous():
        return _written(value)
    raise NotSpelled("non-finite numbers in another layout")


def _floating(value: torch.Tensor, sizes: str, kind: str) -> str:
    low, high = float(value.min()), float(value.max())
    if low == high:
        return f"torch.full({sizes}, {_short(low)}{kind or ', dtype=torch.float32'})"
    if bool((value == value.round()).all()) and high - low < 1000:
        return f"torch.randint({int(low)}, {int(high) + 1}, {sizes}{kind or ', dtype=torch.float32'})"
    if low < 0 < high and high - low > 2.0 and max(high, -low) <= WIDE:
        return f"torch.randn({sizes}{kind})"
    # Within the range, so that what holds of the value's numbers (a domain, a sign) holds of these.
    return f"torch.rand({sizes}{kind}).mul({_short(high - low)}).add({_short(low)})"


def _short(number: float) -> str:
    return repr(float(f"{number:.3g}"))


def _written(value: torch.Tensor) -> str:
    if value.numel() > MOST_LITERAL:
        raise NotSpelled("numbers that matter, too many to be written out")
    return f"torch.tensor({literal(value.tolist())}, dtype={value.dtype})"
