"""Shadow memory: for every storage of the eager run, what it holds in each float64 lane.

Invariant: a lane's tensor has the sizes, strides and offset of the eager tensor, over a shadow storage
that is shared exactly when the eager storage is shared. So views, in-place writes and aliases need no
rules of their own. Integers that no float decided are not shadowed: they are the same in every lane.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from fuzzers.oracle.perturb import Lane, Move, Purpose
from fuzzers.oracle.thresholds import EXACT_BITS


@dataclass
class Indices:
    """Where an index tensor came from: positions into `source` along `dim` (None: flattened), or over
    the last `spatial` dimensions."""

    tensor: torch.Tensor
    source: torch.Tensor
    dim: int | None
    spatial: int
    distinct: bool
    labels: frozenset[str]


@dataclass
class Shadow:
    """One eager storage. `keep` keeps it alive, so that its address stays its name. `lanes` is None when
    it is the same everywhere. `reference` is empty while every value in it has a float64 counterpart,
    else it says why not. `exact` means integers that any order of evaluation gives."""

    keep: torch.Tensor
    dtype: torch.dtype
    nbytes: int
    lanes: list[torch.UntypedStorage] | None
    labels: set[str] = field(default_factory=set)
    exact: bool = False
    reference: str = ""
    indices: Indices | None = None


def inexact(dtype: torch.dtype) -> bool:
    """Floating or complex."""
    return bool(dtype.is_floating_point or dtype.is_complex)


def widened(dtype: torch.dtype) -> torch.dtype:
    """The dtype of a lane: float64, complex128, or what it is."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """All of the storage behind a tensor, as one dimension of its dtype."""
    storage = tensor.untyped_storage()
    whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return whole.set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))


def integral(tensor: torch.Tensor) -> bool:
    """Whether every value is an integer that the dtype holds with room to spare."""
    if not inexact(tensor.dtype):
        return True
    if tensor.is_complex() or tensor.dtype not in EXACT_BITS:
        return False
    limit = 2.0 ** EXACT_BITS[tensor.dtype]
    return bool(((tensor == tensor.round()) & (tensor.abs() <= limit)).all())


def has_headroom(tensors: list[torch.Tensor]) -> bool:
    """Whether sums and products of the operands stay within what their dtype holds exactly, whatever the
    order: a coarse product of the largest values and the largest size."""
    floats = [t.detach() for t in tensors if t.is_floating_point() and t.numel()]
    if not floats:
        return True
    size = float(max(t.numel() for t in floats))
    for t in floats:
        size *= max(1.0, float(t.abs().max()))
    return size <= 2.0 ** min(EXACT_BITS.get(t.dtype, 0) for t in floats)


class Memory:
    """The shadows of one run, by eager storage."""

    def __init__(self, lanes: tuple[Lane, ...]) -> None:
        self.plan = lanes
        self.shadows: dict[int, Shadow] = {}
        self.generators = [torch.Generator().manual_seed(k) for k in range(len(lanes))]

    def find(self, tensor: torch.Tensor) -> Shadow | None:
        """The shadow of a tensor's storage, None when it is new."""
        return self.shadows.get(tensor.untyped_storage()._cdata)

    def take(self, tensor: torch.Tensor, reference: str = "") -> Shadow:
        """The shadow of a storage that comes from outside, made on first sight; made again, without a
        reference, when it is seen under another dtype or has been resized."""
        shadow = self.find(tensor)
        storage = tensor.untyped_storage()
        if shadow is not None:
            if shadow.dtype == tensor.dtype.to_real() and shadow.nbytes == storage.nbytes():
                return shadow
            reason = "bits seen as another dtype" if shadow.nbytes == storage.nbytes() else "resized"
            return self._renew(tensor, shadow, reason)
        with torch.no_grad():
            whole = flat(tensor.detach())
            exact = integral(whole)
            lanes = None
            if inexact(tensor.dtype):
                wide = whole.to(widened(whole.dtype))
                lanes = [
                    self.moved(wide, whole.dtype, incoming(lane, exact), k).clone().untyped_storage()
                    for k, lane in enumerate(self.plan)
                ]
        shadow = Shadow(
            tensor, tensor.dtype.to_real(), storage.nbytes(), lanes, exact=exact, reference=reference
        )
        self.shadows[storage._cdata] = shadow
        return shadow

    def _renew(self, tensor: torch.Tensor, old: Shadow, reason: str) -> Shadow:
        del self.shadows[tensor.untyped_storage()._cdata]
        shadow = self.take(tensor, old.reference or reason)
        shadow.labels |= old.labels
        return shadow

    def moved(self, values: torch.Tensor, dtype: torch.dtype, move: Move | None, lane: int) -> torch.Tensor:
        """`values` of lane `lane` after its move."""
        return move(values, dtype, self.generators[lane]) if move is not None else values

    def view(self, tensor: torch.Tensor, lane: int) -> torch.Tensor:
        """The lane's counterpart of an eager tensor; the tensor itself where all lanes agree."""
        shadow = self.take(tensor)
        if shadow.lanes is None:
            return tensor.detach()
        fresh = torch.empty(0, dtype=widened(tensor.dtype), device=tensor.device)
        fresh.set_(shadow.lanes[lane], tensor.storage_offset(), tensor.size(), tensor.stride())
        if tensor.is_conj():
            fresh = torch._conj(fresh)
        return torch._neg_view(fresh) if tensor.is_neg() else fresh

    def split(self, tensor: torch.Tensor) -> None:
        """Give every lane its own copy of an integer storage, because floats are about to decide it."""
        shadow = self.take(tensor)
        if shadow.lanes is None:
            whole = flat(tensor.detach())
            shadow.lanes = [whole.clone().untyped_storage() for _ in self.plan]

    def adopt(self, tensor: torch.Tensor, values: list[torch.Tensor] | None) -> Shadow:
        """Shadow a storage that an operator has just made. `values` has one tensor a lane in the shape
        of `tensor`, or is None when all lanes agree with eager."""
        shadow = self.find(tensor)
        if shadow is None:
            storage = tensor.untyped_storage()
            shadow = Shadow(tensor, tensor.dtype.to_real(), storage.nbytes(), None)
            if values is not None:
                whole = flat(tensor.detach())
                shadow.lanes = [
                    torch.zeros(
                        whole.shape, dtype=widened(whole.dtype), device=whole.device
                    ).untyped_storage()
                    for _ in self.plan
                ]
            self.shadows[storage._cdata] = shadow
        if values is not None:
            self.split(tensor)
            for k, value in enumerate(values):
                self.view(tensor, k).copy_(value)
        return shadow


def incoming(lane: Lane, exact: bool) -> Move | None:
    """How a lane moves an input. Integers are exact data, as they are in both executions: moving them by
    an ulp would ask about another program."""
    return None if exact and lane.purpose is Purpose.INPUT else lane.on_input
