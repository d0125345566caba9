"""The reference run for real, on the inputs that are to show a difference.

Invariant: what is reported as wrong lies further from real PyTorch than roundings explain: the slack of an
element grows with the reference's own error against its float64 run, and with how far that run moves when the
inputs move by one unit in their last place.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.func import functional_call
from torch.utils import _pytree

from fuzzers.dirigo.reference.graph import Array, Input, Kind, Traced
from fuzzers.dirigo.simt.events import Stopped

RTOL = {torch.float32: 1.3e-6, torch.float64: 1e-7, torch.float16: 1e-3, torch.bfloat16: 1.6e-2}
ATOL = 1e-5
"""torch.testing.assert_close's own; the absolute part is scaled with the output."""
TIMES = 4.0
DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Expected:
    """One output under PyTorch: values, float64 values, and how far each may rightly be off."""

    value: Array
    exact: Array
    slack: Array


class Reference:
    """A reference's model, made once."""

    def __init__(self, traced: Traced, module: types.ModuleType, model: Any, given: Sequence[Any]) -> None:
        self.traced, self.module, self.model = traced, module, model
        self.wide: Any = None
        self.leaves, self.spec = _pytree.tree_flatten(list(given))

    @classmethod
    def made(cls, traced: Traced, seed: int = 0) -> Reference | Stopped:
        """Run the source anew; Stopped where it raises."""
        module = types.ModuleType("dirigo_replay")
        try:
            exec(compile(traced.source, "<reference>", "exec"), module.__dict__)
            torch.manual_seed(seed)
            given = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
            model = module.Model(**given) if isinstance(given, dict) else module.Model(*given)
            torch.manual_seed(seed)
            return cls(traced, module, model, module.get_inputs())
        except Exception as error:  # noqa: BLE001 - foreign code raises what it likes
            return Stopped(f"reference: {type(error).__name__}: {error}")

    def outputs(self, values: Sequence[Array], *, double: bool = False) -> list[torch.Tensor] | Stopped:
        """What forward returns for these storages, flattened; in float64 throughout where `double`."""
        state = {
            item.name: _doubled(tensor_of(item, value.copy()), double)
            for item, value in zip(self.traced.inputs, values, strict=True)
        }
        places = iter(item.name for item in self.traced.inputs if item.kind is Kind.ARGUMENT)
        filled = [state.pop(next(places)) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        try:
            with torch.no_grad():
                arguments = tuple(_pytree.tree_unflatten(filled, self.spec))
                found = functional_call(self._model(double), state, arguments)
                return [t.detach() for t in _pytree.tree_leaves(found) if isinstance(t, torch.Tensor)]
        except Exception as error:  # noqa: BLE001 - foreign code raises what it likes
            return Stopped(f"reference: {type(error).__name__}: {str(error)[:200]}")

    def _model(self, double: bool) -> Any:
        """The model, or its copy in float64: what it holds besides parameters has to be wide too."""
        if not double:
            return self.model
        if self.wide is None:
            self.wide = copy.deepcopy(self.model).double()
        return self.wide

    def expected(self, values: Sequence[Array], output: int) -> Expected | Stopped:
        """One output with its slack."""
        plain = self.outputs(values)
        exact = self.outputs(values, double=True)
        moved = self.outputs([_moved(v) for v in values], double=True)
        for found in (plain, exact, moved):
            if isinstance(found, Stopped):
                return found
        assert (
            not isinstance(plain, Stopped)
            and not isinstance(exact, Stopped)
            and not isinstance(moved, Stopped)
        )
        return _with_slack(plain[output], exact[output], moved[output])


def _with_slack(plain: torch.Tensor, exact: torch.Tensor, moved: torch.Tensor) -> Expected:
    value = plain.double().numpy()
    truth = exact.double().numpy()
    with np.errstate(all="ignore"):
        error = np.abs(value - truth)
        finite = error[np.isfinite(error)]
        spread = float(np.sqrt((finite**2).mean())) if finite.size else 0.0
        sizes = np.abs(truth[np.isfinite(truth)])
        size = float(np.sqrt((sizes**2).mean())) if sizes.size else 0.0
        moves = np.nan_to_num(np.abs(moved.double().numpy() - truth), nan=np.inf, posinf=np.inf)
        slack = RTOL.get(plain.dtype, 0.0) * np.abs(truth) + ATOL * min(size, 1.0)
        slack = slack + TIMES * np.maximum(np.maximum(np.nan_to_num(error), spread), moves)
    return Expected(value, truth, slack)


def tensor_of(item: Input, value: Array) -> torch.Tensor:
    """An input's tensor over its storage."""
    flat = torch.from_numpy(np.ascontiguousarray(value))
    if item.layout.type == "bf16":
        flat = flat.view(torch.bfloat16)
    return torch.as_strided(flat, item.layout.shape, item.layout.strides, item.offset)


def _doubled(tensor: torch.Tensor, wanted: bool) -> torch.Tensor:
    return tensor.double() if wanted and tensor.is_floating_point() else tensor


def _moved(value: Array) -> Array:
    """Each float one unit in the last place further from zero or nearer to it."""
    if value.dtype.kind != "f":
        return value
    flips: Array = np.arange(value.size).reshape(value.shape) % 2 * 2 - 1
    return np.where(value == 0, value, np.nextafter(value, value + flips.astype(value.dtype)))
