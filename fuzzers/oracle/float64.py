"""The reference: eager run once more, with float64 lanes beside every operator.

Invariant: the program itself runs as ever, in its own dtypes; each operator is then run again on each
lane's float64 operands. So explicit casts, dtype arguments, factories, Python scalars and control flow are
those of the program, and a lane answers one question: what would this be with no rounding but the casts
that the program asks for, or with a little more rounding than that (`fuzzers.oracle.perturb`).

An operator whose integer or bool result, or whose jump (`operators.DECIDED`), is not the same in all
lanes that only round has *decided by a hair*: everything it reaches carries a label that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fuzzers.oracle import open_contracts, operators
from fuzzers.oracle.indices import has_ties
from fuzzers.oracle.lanes import Indices, Memory, has_headroom, inexact, integral, widened
from fuzzers.oracle.nonfinite import documented
from fuzzers.oracle.perturb import LANES, Lane, Purpose, epsilon
from fuzzers.oracle.trees import agree, mapped, tensors_in, upcast

DECISION = "decided by a hair: "
ZERO_SIGN = "decided by the sign of a zero: "
TIES = "positions among ties: "

_NO_KERNEL = (RuntimeError, TypeError, ValueError, IndexError)
"""What an operator raises that does not take float64 operands."""


@dataclass(frozen=True)
class Tracked:
    """What is known about one tensor after the run. `clean` is the float64 reference, None where there
    is none (`reference` says why); `shaken` are its values in the lanes whose inputs moved, `moved` those
    and the lanes that round more, `signed` and `ordinary` the others.
    `by_floats` tells whether floats had a part in it; `labels` are those that reached it."""

    clean: torch.Tensor | None
    shaken: list[torch.Tensor]
    moved: list[torch.Tensor]
    signed: list[torch.Tensor]
    ordinary: list[torch.Tensor]
    labels: frozenset[str]
    reference: str
    by_floats: bool
    indices: Indices | None


class Trace(TorchDispatchMode):
    """Runs what it sees, in all lanes.

    `control` are labels that reach everything, because Python saw the value; `lost` is why nothing has
    a reference any more, empty while it has; `operators` counts what ran; `dtypes` are those seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory(LANES)
        self.control: set[str] = set()
        self.lost = ""
        self.operators: dict[str, int] = {}
        self.dtypes: set[torch.dtype] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = operators.plain_name(func)
        self.operators[name] = self.operators.get(name, 0) + 1
        with torch.no_grad():
            return _Call(self, name, func, args, kwargs or {}).run()

    def tracked(self, tensor: torch.Tensor) -> Tracked:
        """What is known about a tensor that the program returned or was given."""
        shadow = self.memory.take(tensor)
        by: dict[Purpose, list[torch.Tensor]] = {p: [] for p in Purpose}
        for k, lane in enumerate(LANES):
            by[lane.purpose].append(self.memory.view(tensor, k))
        reference = shadow.reference or self.lost
        return Tracked(
            clean=None if reference else by[Purpose.CLEAN][0],
            shaken=by[Purpose.INPUT],
            moved=by[Purpose.INPUT] + by[Purpose.CONDITION],
            signed=by[Purpose.ZERO_SIGN],
            ordinary=by[Purpose.ORDINARY],
            labels=frozenset(shadow.labels | self.control),
            reference=reference,
            by_floats=shadow.lanes is not None,
            indices=shadow.indices,
        )


class _Call:
    """One operator call: eager, then every lane, then what is to be remembered of it."""

    def __init__(self, trace: Trace, name: str, func: Any, args: Any, kwargs: dict[str, Any]) -> None:
        self.trace, self.memory = trace, trace.memory
        self.name, self.func, self.args, self.kwargs = name, func, args, kwargs
        self.given = operators.named(func, args, kwargs)
        self.read = list(tensors_in((args, kwargs)))
        writes = [
            a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write
        ]
        self.written = list(tensors_in([self.given.get(w) for w in writes]))
        self.sources = [self.memory.take(t) for t in self.read]
        self.random = torch.Tag.nondeterministic_seeded in func.tags
        self.labels: set[str] = set()
        self.reference = ""
        self.exact = False

    def run(self) -> Any:
        """The eager result."""
        self._read_operands()
        magnitude = open_contracts.exact_magnitude(self.func, self.args, self.kwargs)
        sizes = [t.untyped_storage().nbytes() for t in self.written]
        result = self.func(*self.args, **self.kwargs)
        made = list(tensors_in(result))
        self.trace.dtypes.update(t.dtype for t in (*self.read, *made))
        if made and open_contracts.overflows(magnitude, made[0]):
            self.labels.add(open_contracts.OVERFLOW)
        if sizes != [t.untyped_storage().nbytes() for t in self.written]:
            for t in self.written:
                self.memory.take(t).labels.update(self.labels)
            return result
        if torch.Tag.inplace_view in self.func.tags:
            return result
        fresh = [(k, t) for k, t in enumerate(made) if self.memory.find(t) is None]
        if made and not fresh and not self.written:
            for t in made:
                self.memory.take(t).labels.update(self.labels)
            return result
        runs = self._lanes(result, [t for _, t in fresh])
        if not made and not self.written:
            self._escape(list(tensors_in(result, python=True)), runs)
        for k, tensor in fresh:
            self._remember(tensor, [run[k] for run in runs] if runs else None, position=k)
        for tensor in self.written:
            lanes = [self.memory.view(tensor, k) for k in range(len(LANES))] if runs else None
            self._remember(tensor, lanes, position=None)
        return result

    def _read_operands(self) -> None:
        """Labels, exactness and missing references that come with the operands, before they change."""
        self.labels = open_contracts.inspect(self.func, self.args, self.kwargs) | documented(
            self.name, self.given
        )
        kept = [s for s, t in zip(self.sources, self.read, strict=True) if not self._replaces(t)]
        self.labels.update(*(s.labels for s in kept))
        self.reference = next((s.reference for s in kept if s.reference), "")
        self.floats = any(s.lanes is not None for s in self.sources)
        self.exact = all(s.exact for s in kept) and has_headroom(self.read)
        if self.floats:
            for tensor in self.written:
                self.memory.split(tensor)
            self.labels.update(self._jumps())

    def _replaces(self, tensor: torch.Tensor) -> bool:
        """Whether the call writes over all of a tensor's storage without reading it."""
        if self.name not in operators.OVERWRITES or not any(tensor is w for w in self.written):
            return False
        return bool(tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes())

    def _into(self, lane: int) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda tensor: self.memory.view(tensor, lane)

    def _jumps(self) -> set[str]:
        """Labels of the jumps that some lane takes otherwise than eager does."""
        decide = operators.decision(self.name, self.given)
        if decide is None:
            return set()
        order = [a.name for a in self.func._schema.arguments]
        eager = decide([mapped(self.given.get(a), upcast) for a in order])
        labels: set[str] = set()
        for k, lane in enumerate(LANES):
            there = decide([mapped(self.given.get(a), self._into(k)) for a in order])
            if not agree(eager, there):
                labels |= _disagreement(self.name, lane)
        return labels

    def _lanes(self, result: Any, fresh: list[torch.Tensor]) -> list[list[torch.Tensor]] | None:
        """Every lane's results, one list a lane; None when all lanes agree with eager. Written arguments
        are written in the lanes' memory."""
        eager = list(tensors_in(result, python=True))
        if not self.floats and not any(inexact(t.dtype) for t in fresh):
            return None
        as_eager = [upcast(t) for t in eager]
        if self.random or not self.read:
            return self._all_as_eager(as_eager)
        if any(self.memory.take(t).lanes is None for t in self.written):
            return self._all_as_eager(as_eager, "floats written by an operator without floats")
        runs: list[list[torch.Tensor]] = []
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            for k in range(len(LANES) if self.floats else 1):
                args = mapped(self.args, self._into(k))
                kwargs = mapped(self.kwargs, self._into(k))
                runs.append(list(tensors_in(self.func(*args, **kwargs), python=True)))
        except _NO_KERNEL:
            return self._all_as_eager(as_eager, f"no float64 form of {self.name}")
        finally:
            torch.set_default_dtype(default)
        if not self.floats:
            runs = runs * len(LANES)
        for k, run in enumerate(runs):
            if [t.shape for t in run] != [t.shape for t in eager]:
                self.labels |= _disagreement(self.name, LANES[k])
                self.reference = self.reference or f"a shape decided by floats in {self.name}"
                runs[k] = as_eager
        return runs

    def _all_as_eager(self, values: list[torch.Tensor], reason: str = "") -> list[list[torch.Tensor]]:
        self.reference = self.reference or reason
        for tensor in self.written:
            self.memory.split(tensor)
            for k in range(len(LANES)):
                self.memory.view(tensor, k).copy_(tensor.detach())
        return [values for _ in LANES]

    def _escape(self, eager: list[torch.Tensor], runs: list[list[torch.Tensor]] | None) -> None:
        """Python saw a value, so what it decided from it reaches everything that follows."""
        self.trace.control |= self.labels
        if runs is None:
            return
        if any(inexact(t.dtype) for t in eager):
            self.trace.lost = self.trace.lost or "a float that Python saw"
        for lane, run in zip(LANES, runs, strict=True):
            if not all(agree(a, b) for a, b in zip(eager, run, strict=True)):
                self.trace.control |= _disagreement(self.name, lane)

    def _remember(
        self, tensor: torch.Tensor, values: list[torch.Tensor] | None, position: int | None
    ) -> None:
        """Store one result: a fresh tensor by its `position`, or a written argument (None)."""
        shadow = self.memory.find(tensor)
        keeps = position is None and not self._replaces(tensor) and shadow is not None
        exact = self._exactly(tensor)
        labels = set(self.labels)
        hair: set[str] = set()
        if values is not None and inexact(tensor.dtype):
            values = [self._moved(v, tensor, exact, k) for k, v in enumerate(values)]
        elif values is not None:
            for lane, value in zip(LANES, values, strict=True):
                if not agree(tensor.detach(), value):
                    hair |= _disagreement(self.name, lane)
        shadow = self.memory.adopt(tensor, values)
        spec = operators.INDEX_OPERATORS.get(self.name)
        if spec is not None and position == spec.output and not inexact(tensor.dtype):
            shadow.indices = self._indices(tensor, spec, frozenset(labels))
            if hair or has_ties(shadow.indices, stable=bool(self.given.get("stable"))):
                hair = {TIES + self.name}
        labels |= hair
        shadow.labels = shadow.labels | labels if keeps else labels
        shadow.exact = exact and (shadow.exact or not keeps)
        shadow.reference = (shadow.reference if keeps else "") or self.reference

    def _exactly(self, tensor: torch.Tensor) -> bool:
        known = operators.MOVES | operators.SELECTS | operators.EXACT_ON_INTEGERS
        if inexact(tensor.dtype) and self.read and self.name not in known:
            return False
        return self.exact and integral(tensor.detach())

    def _moved(self, value: torch.Tensor, tensor: torch.Tensor, exact: bool, k: int) -> torch.Tensor:
        """A lane's result: rounded where the program casts, then moved as the lane wants it."""
        lane = LANES[k]
        value = value.to(widened(tensor.dtype))
        if self.name in operators.CASTS and self._narrows(tensor):
            value = value.to(tensor.dtype).to(value.dtype)
        if self.name in operators.MOVES or self.random:
            move = lane.on_input if lane.purpose is Purpose.ORDINARY else None
        elif self.name in operators.SELECTS or (exact and lane.purpose is Purpose.CONDITION):
            move = lane.on_select
        else:
            move = lane.on_step
        return self.memory.moved(value, tensor.dtype, move, k)

    def _narrows(self, tensor: torch.Tensor) -> bool:
        sources = [t.dtype for t in self.read if not any(t is w for w in self.written)]
        return any(not inexact(d) or epsilon(tensor.dtype) > epsilon(d) for d in sources)

    def _indices(
        self, tensor: torch.Tensor, spec: operators.IndexOperator, labels: frozenset[str]
    ) -> Indices:
        dim = self.given.get("dim", spec.default_dim)
        source = self.read[0].detach().clone()
        return Indices(tensor.detach(), source, dim, spec.spatial, spec.distinct, labels)


def _disagreement(name: str, lane: Lane) -> set[str]:
    """The label of a decision that a lane takes otherwise. The ordinary lane asks another question."""
    if lane.purpose is Purpose.ORDINARY:
        return set()
    return {(ZERO_SIGN if lane.purpose is Purpose.ZERO_SIGN else DECISION) + name}
