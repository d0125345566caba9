"""What the float64 run has to know about aten operators, by name without overload or trailing underscore.

Invariant: an operator in no table is taken to round (its results are perturbed) and to decide nothing
beyond its integer and bool outputs, which is the careful default: it can only widen a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


def words(text: str) -> frozenset[str]:
    """A set of names, written as one text."""
    return frozenset(text.split())


MOVES = words(
    "clone copy cat stack lift_fresh lift_fresh_copy _unsafe_view view_copy alias_copy expand_copy repeat "
    "permute_copy t_copy transpose_copy slice_copy select_copy squeeze_copy unsqueeze_copy unfold_copy "
    "index index_select gather take embedding flip roll rot90 constant_pad_nd reflection_pad1d "
    "reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d index_put "
    "_index_put_impl _unsafe_index _unsafe_index_put slice_scatter select_scatter diagonal_scatter "
    "as_strided_scatter scatter index_copy index_fill masked_fill masked_select masked_scatter tril triu "
    "diag_embed fill zero zeros_like ones_like full_like new_zeros new_ones new_full pixel_shuffle "
    "pixel_unshuffle channel_shuffle _to_copy to convert_element_type split_with_sizes_copy unbind_copy "
    "repeat_interleave _local_scalar_dense slice_backward select_backward resize empty_like "
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d im2col put "
    "contiguous block_diag view_as_real_copy view_as_complex_copy"
)
"""Only moves values: exact in any order, sign of zero kept."""

SELECTS = words(
    "where relu abs neg maximum minimum fmax fmin max min amax amin aminmax clamp clamp_min clamp_max "
    "sort topk kthvalue median nanmedian mode cummax cummin max_pool2d_with_indices "
    "max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d threshold_backward threshold "
    "hardshrink nan_to_num sgn sign floor ceil trunc round relu6 hardtanh copysign positive"
)
"""Chooses among its inputs: exact, but which of two zeros comes out is open."""

EXACT_ON_INTEGERS = words("add sub rsub mul sum cumsum mm bmm addmm dot mv prod square")
"""Exact in any order when all operands are integers and everything stays small enough."""

CASTS: dict[str, int] = {"_to_copy": 0, "copy": 1, "convert_element_type": 0, "to": 0}
"""Rounds to the dtype of its result on purpose: operator -> position of what is cast."""

OVERWRITES = words("copy fill zero uniform normal bernoulli exponential random")
"""Written in place over everything that it is given, whatever was there."""

Decision = Callable[[list[Any]], torch.Tensor]


def _ratio(args: list[Any]) -> torch.Tensor:
    top, bottom = (torch.as_tensor(a, dtype=torch.float64) for a in args[:2])
    return torch.true_divide(top, bottom)


DECIDED: dict[str, Decision] = {
    "floor": lambda a: torch.floor(a[0]),
    "ceil": lambda a: torch.ceil(a[0]),
    "trunc": lambda a: torch.trunc(a[0]),
    "frac": lambda a: torch.trunc(a[0]),
    "round": lambda a: torch.round(a[0], decimals=a[1] if len(a) > 1 else 0),
    "sign": lambda a: torch.sign(a[0]),
    "sgn": lambda a: torch.sgn(a[0]),
    "heaviside": lambda a: torch.sign(a[0]),
    "remainder": lambda a: torch.floor(_ratio(a)),
    "floor_divide": lambda a: torch.floor(_ratio(a)),
    "fmod": lambda a: torch.trunc(_ratio(a)),
    "threshold": lambda a: a[0] > a[1],
    "threshold_backward": lambda a: a[1] > a[2],
    "hardshrink": lambda a: a[0].abs() > (a[1] if len(a) > 1 else 0.5),
    "softshrink_backward": lambda a: a[1].abs() > a[2],
    "hardshrink_backward": lambda a: a[1].abs() > a[2],
    "hardtanh_backward": lambda a: (a[1] > a[2]) & (a[1] < a[3]),
    "leaky_relu_backward": lambda a: a[1] > 0,
    "elu_backward": lambda a: a[-1] > 0,
    "hardswish_backward": lambda a: (a[1] > -3).to(torch.int8) + (a[1] < 3),
    "hardsigmoid_backward": lambda a: (a[1] > -3) & (a[1] < 3),
}
"""Float in, float out, but with a jump: operator -> what it decides, given arguments in the schema's
order. Operators whose result is an integer or a bool need no entry: the result is the decision."""


@dataclass(frozen=True)
class IndexOperator:
    """An operator that returns positions. `output` is which of its results; `distinct` whether no position
    may come twice along the dimension; `spatial` how many trailing dimensions a position counts over (0: one
    dimension); `default_dim` the dimension when the call names none (None: all, flattened)."""

    output: int
    distinct: bool = False
    spatial: int = 0
    default_dim: int | None = -1


INDEX_OPERATORS: dict[str, IndexOperator] = {
    "argmax": IndexOperator(0, default_dim=None),
    "argmin": IndexOperator(0, default_dim=None),
    "max": IndexOperator(1),
    "min": IndexOperator(1),
    "median": IndexOperator(1),
    "nanmedian": IndexOperator(1),
    "mode": IndexOperator(1),
    "kthvalue": IndexOperator(1),
    "cummax": IndexOperator(1),
    "cummin": IndexOperator(1),
    "sort": IndexOperator(1, distinct=True),
    "topk": IndexOperator(1, distinct=True),
    "max_pool2d_with_indices": IndexOperator(1, spatial=2),
    "max_pool3d_with_indices": IndexOperator(1, spatial=3),
    "adaptive_max_pool2d": IndexOperator(1, spatial=2),
    "adaptive_max_pool3d": IndexOperator(1, spatial=3),
}
"""Operators whose integer result says which element was taken, not how much."""


def decision(name: str, given: dict[str, Any]) -> Decision | None:
    """What the call decides besides its integer results, None when nothing."""
    mode = given.get("rounding_mode")
    if mode is not None:
        return DECIDED["floor_divide" if mode == "floor" else "fmod"]
    return DECIDED.get(name)


def plain_name(func: Any) -> str:
    """`aten.add_.Tensor` -> `add`."""
    name = str(func._schema.name).split("::")[-1]
    return name if name.startswith("__") else name.rstrip("_")


def named(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by the schema's names, defaults filled in."""
    found = dict(kwargs)
    for k, formal in enumerate(func._schema.arguments):
        if k < len(args):
            found[formal.name] = args[k]
        elif formal.name not in found and formal.has_default_value():
            found[formal.name] = formal.default_value
    return found
