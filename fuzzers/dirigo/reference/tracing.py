"""From the source of a reference to its graph of ATen calls.

Invariant: the graph is what the model computes at these shapes, with its parameters and buffers as inputs;
nothing in it writes into a tensor. Inputs are fake while tracing, so that their size costs nothing; the
model itself is made for real, because its integer buffers and plain attributes are part of the formula.
The source is foreign code: whatever it raises is the answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.func import functional_call, functionalize
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree

from fuzzers.dirigo.reference.arrays import layout_of, storage_of
from fuzzers.dirigo.reference.concrete import FILLED
from fuzzers.dirigo.reference.graph import (
    Input,
    Kind,
    Shape,
    Traced,
)
from fuzzers.dirigo.reference.operators import TABLE
from fuzzers.dirigo.reference.reading import calls_of
from fuzzers.dirigo.reference.sources import REAL_BYTES, first_line, loaded
from fuzzers.dirigo.simt.events import Stopped, Unknown


def trace(
    source: str, *, shapes: Sequence[Shape | None] | None = None, training: bool | None = None, seed: int = 0
) -> Traced | Stopped:
    """A reference's graph. `shapes[i]` replaces the shape of the i-th tensor of get_inputs() (None keeps it);
    `training` overrides the model's own mode. No memory is taken for float inputs. Reasons: "reference: <what
    it raised>", "inputs: <why>"."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _traced(source, shapes, training, seed)
    except Unknown as why:
        return Stopped(str(why))
    except Exception as error:  # noqa: BLE001 - foreign code raises what it likes
        return Stopped(f"reference: {type(error).__name__}: {first_line(error)}")


def _traced(source: str, shapes: Sequence[Shape | None] | None, training: bool | None, seed: int) -> Traced:
    module = loaded(source)
    torch.manual_seed(seed)
    given = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    model = module.Model(**given) if isinstance(given, dict) else module.Model(*given)
    if training is not None:
        model.train(training)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    leaves, spec = _arguments(module, mode, shapes, seed)
    state = _state(model)
    names = list(state)
    tensors = [t for t in leaves if isinstance(t, torch.Tensor)]
    everything = [*state.values(), *tensors]

    def forward(*flat: torch.Tensor) -> list[torch.Tensor]:
        rest = iter(flat[len(names) :])
        filled = [next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        arguments = _pytree.tree_unflatten(filled, spec)
        found = functional_call(model, dict(zip(names, flat, strict=False)), tuple(arguments))
        return [t for t in _pytree.tree_leaves(found) if isinstance(t, torch.Tensor)]

    fakes = [mode.from_tensor(t.detach()) if not _is_fake(t) else t for t in everything]
    graph = _graph(forward, fakes)
    inputs = [_input(name, kind, t) for name, kind, t in _named(model, state, tensors, fakes)]
    real = [*state.values(), *_integers(module, tensors, shapes, seed)]
    initial = tuple(None if t is None else storage_of(t.detach()) for t in real)
    calls, constants, outputs = calls_of(graph, len(inputs))
    return Traced(source, tuple(inputs), constants, calls, outputs, initial)


def _state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name, each tensor once."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def _named(
    model: torch.nn.Module,
    state: dict[str, torch.Tensor],
    tensors: Sequence[torch.Tensor],
    fakes: Sequence[torch.Tensor],
) -> list[tuple[str, Kind, torch.Tensor]]:
    parameters = dict(model.named_parameters())
    names = [(name, Kind.PARAMETER if name in parameters else Kind.BUFFER) for name in state]
    names += [(f"inputs[{at}]", Kind.ARGUMENT) for at in range(len(tensors))]
    return [(name, kind, fake) for (name, kind), fake in zip(names, fakes, strict=True)]


def _is_fake(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, torch._subclasses.FakeTensor)


def _arguments(
    module: Any, mode: FakeTensorMode, shapes: Sequence[Shape | None] | None, seed: int
) -> tuple[list[Any], Any]:
    """get_inputs() flattened, with fake tensors; with real ones where it looks at a number that it drew."""
    torch.manual_seed(seed)
    try:
        with mode:
            given = list(module.get_inputs())
    except (DataDependentOutputException, DynamicOutputShapeException):
        given = list(module.get_inputs())
    leaves, spec = _pytree.tree_flatten(given)
    if shapes is None:
        return leaves, spec
    count = sum(isinstance(leaf, torch.Tensor) for leaf in leaves)
    if len(shapes) != count:
        raise Unknown(f"inputs: {len(shapes)} shapes for {count} tensors")
    wanted = iter(shapes)
    with mode:
        return [_reshaped(t, next(wanted)) if isinstance(t, torch.Tensor) else t for t in leaves], spec


def _reshaped(tensor: torch.Tensor, shape: Shape | None) -> torch.Tensor:
    return tensor if shape is None else torch.empty(shape, dtype=tensor.dtype)


def _integers(
    module: Any, tensors: Sequence[torch.Tensor], shapes: Sequence[Shape | None] | None, seed: int
) -> list[torch.Tensor | None]:
    """What get_inputs() really draws for its integer tensors, repeated or cut where the shape is another;
    None for floats."""
    if all(t.dtype.is_floating_point for t in tensors):
        return [None] * len(tensors)
    if sum(t.numel() * t.element_size() for t in tensors) > REAL_BYTES:
        raise Unknown("inputs: too large to draw the integers among them")
    torch.manual_seed(seed)
    real = [t for t in _pytree.tree_leaves(module.get_inputs()) if isinstance(t, torch.Tensor)]
    return [
        None if fake.dtype.is_floating_point else torch.from_numpy(np.resize(t.numpy(), tuple(fake.shape)))
        for t, fake in zip(real, tensors, strict=True)
    ]


def _graph(forward: Callable[..., Any], fakes: Sequence[torch.Tensor]) -> GraphModule:
    """The ATen graph; what the table has not is decomposed as torch decomposes it, and writes into tensors
    become new tensors (a second time round where torch's own composites write into theirs)."""
    table = _unfolding()
    fast = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.set_flags(_enabled=False)
    try:
        with torch.no_grad():
            graph = make_fx(functionalize(forward, remove="mutations"), decomposition_table=table)(*fakes)
            if any(_writes(node) for node in graph.graph.nodes):
                graph = make_fx(functionalize(graph, remove="mutations"), decomposition_table=table)(*fakes)
    finally:
        torch.backends.mkldnn.set_flags(_enabled=fast)
    return graph


@cache
def _unfolding() -> dict[Any, Callable[..., Any]]:
    """torch's decompositions of the operators that the table has not. What torch itself takes apart before
    it reaches the trace is left to that: the same decomposed again would be of another language."""
    known = {**torch._decomp.decomposition_table, **torch._decomp.core_aten_decompositions()}
    return {
        overload: function
        for overload, function in known.items()
        if isinstance(overload, torch._ops.OpOverload)
        and _unfolds(overload)
        and not overload.has_kernel_for_dispatch_key("CompositeImplicitAutograd")
    }


def _unfolds(overload: torch._ops.OpOverload) -> bool:
    """Whether an operator is better decomposed: nobody here knows it, it is given tensors, and writes into
    none (a write becomes a new tensor first)."""
    name = str(overload)
    given = any("Tensor" in str(argument.type) for argument in overload._schema.arguments)
    known = name in TABLE or name in FILLED
    return given and not known and not overload._schema.is_mutable


def _writes(node: Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _input(name: str, kind: Kind, tensor: torch.Tensor) -> Input:
    layout = layout_of(tensor)
    if tensor.is_sparse:
        raise Unknown(f"inputs: {name} is {tensor.dtype}")
    elements = tensor.untyped_storage().nbytes() // tensor.element_size()
    return Input(name, kind, layout, int(tensor.storage_offset()), elements)
