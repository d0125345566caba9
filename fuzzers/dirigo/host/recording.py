"""Recording one forward of ModelNew.

Invariant: ModelNew and the reference are made for real from the same seed, as a benchmark makes them; then
its tensors are replaced by ones without memory and forward runs once. A kernel that forward does not reach is
not recorded.
"""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch._dynamo  # which making tensors without memory imports in seconds: once, before a fork
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree

from fuzzers.dirigo import nvrtc, slicing
from fuzzers.dirigo.host.extension import Datum, Extension
from fuzzers.dirigo.host.pair import Pair
from fuzzers.dirigo.host.pretending import prepare, pretending
from fuzzers.dirigo.host.recorder import Recorder, flat
from fuzzers.dirigo.host.records import Origin, Recorded, Source
from fuzzers.dirigo.simt.events import Stopped, Unknown

Shape = tuple[int, ...]
REAL_BYTES = 1 << 31
"""Inputs above this are not made for real, which integers among them need."""


def launches(
    pair: Pair,
    *,
    shapes: Sequence[Shape | None] | None = None,
    training: bool | None = None,
    seed: int = 0,
    lenient: bool = False,
) -> Recorded | Stopped:
    """What ModelNew.forward does on the reference's get_inputs(). `shapes[i]` replaces the shape of the i-th
    tensor of get_inputs() (None keeps it), `training` the model's own mode. `lenient` also binds a function
    that the CUDA source defines and cpp_sources do not declare, which torch cannot build. Reasons begin with
    "reference:", "code:" (what making ModelNew raised), "forward:" (what forward raised) or "host:" (what is
    not known)."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    recorder = Recorder(mode)
    try:
        return _recorded(pair, recorder, shapes, training, seed, lenient)
    except _Foreign as error:
        return Stopped(recorder.refused or str(error))
    except Unknown as why:
        return Stopped(recorder.refused or str(why))


class _Foreign(Exception):
    """What foreign code raised, in a line."""


@contextmanager
def _blaming(who: str) -> Iterator[None]:
    """What foreign code raises inside is the answer."""
    try:
        yield
    except (Unknown, _Foreign):
        raise
    except (Exception, SystemExit) as error:
        lines = str(error).strip().splitlines()
        words = lines[0][:200] if lines else "without a message"
        raise _Foreign(f"{who}: {type(error).__name__}: {words}") from error


def _recorded(
    pair: Pair,
    recorder: Recorder,
    shapes: Sequence[Shape | None] | None,
    training: bool | None,
    seed: int,
    lenient: bool,
) -> Recorded:
    prepare(_builder(pair, recorder, lenient))
    with pretending(), _blaming("reference"):
        reference = _module(pair.reference, "dirigo_reference")
        torch.manual_seed(seed)
        given = reference.get_init_inputs() if hasattr(reference, "get_init_inputs") else []
        torch.manual_seed(seed)
        model = _made(reference.Model, given)
        leaves, spec = _inputs(reference, recorder.mode, shapes, seed)
    with pretending(), _blaming("code"):
        if pair.is_cuda:
            forward: Callable[..., Any] = _Bare(pair, recorder, model, given)
            made = model
        else:
            module = _module(pair.code, "dirigo_code")
            torch.manual_seed(seed)
            forward = made = _made(module.ModelNew, given)
    made.train(model.training if training is None else training)
    arguments = _placed(recorder, leaves)
    _replace_tensors(recorder, made, _state(model))
    seen = pretending(_item(recorder), recorder.address)
    with recorder.mode, recorder, seen, torch.no_grad(), _blaming("forward"):
        result = forward(*_pytree.tree_unflatten(arguments, spec))
    if recorder.refused:
        raise Unknown(recorder.refused)
    outputs = [one for one in _pytree.tree_leaves(result) if isinstance(one, torch.Tensor)]
    if not outputs:
        raise _Foreign("forward: returns no tensor")
    views = tuple(recorder.view(one) for one in outputs)
    return Recorded(
        tuple(recorder.sources),
        tuple(recorder.buffers),
        tuple(recorder.steps),
        views,
        tuple(recorder.decisions),
        made.training,
    )


def _module(source: str, name: str) -> Any:
    """A source as a module, such that `inspect` finds its lines."""
    module = types.ModuleType(name)
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    sys.modules[name] = module
    exec(compile(source, filename, "exec"), module.__dict__)
    return module


def _made(kind: Any, given: Any) -> Any:
    return kind(**given) if isinstance(given, dict) else kind(*given)


def _builder(pair: Pair, recorder: Recorder, lenient: bool) -> Any:
    """What stands in for the extension builder."""
    try:
        embedded = (
            {e.text: e.line - 1 for e in slicing.embedded_sources(pair.code)} if not pair.is_cuda else {}
        )
    except (SyntaxError, ValueError):
        embedded = {}

    def build(cpp: Sequence[str], cuda: Sequence[str], functions: Sequence[str], flags: Sequence[str]) -> Any:
        text = "\n".join(cuda)
        recorder.sources.append(Source(text, tuple(nvrtc.understood(flags)), embedded.get(text, -1)))
        return Extension(cpp, cuda, functions, recorder, len(recorder.sources) - 1, lenient=lenient)

    return build


class _Bare:
    """The forward of a bare .cu file: its host function takes forward's arguments, then the reference's
    parameters and buffers in their order, and numbers by the names of the reference's attributes."""

    def __init__(self, pair: Pair, recorder: Recorder, model: Any, given: Any) -> None:
        recorder.sources.append(Source(pair.code, (), 0))
        self.extension = Extension([], [pair.code], [], recorder)
        self.extension.bind(pair.host)
        self.name, self.model = pair.host, model
        self.numbers = [one for one in _pytree.tree_leaves(given) if isinstance(one, int | float)]

    def __call__(self, *arguments: Any) -> Any:
        tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
        numbers = [one for one in arguments if not isinstance(one, torch.Tensor)] + self.numbers
        state = [t for name, t in _attributes(self.model) if "num_batches" not in name]
        pool, given = iter([*tensors, *state]), []
        scalars = iter(numbers)
        for name, is_tensor in self.extension.parameters(self.name):
            value = next(pool, None) if is_tensor else getattr(self.model, name, None)
            if value is None and not is_tensor:
                value = next(scalars, None)
            if value is None:
                break
            given.append(value)
        return getattr(self.extension, self.name)(*given)


def _attributes(model: Any) -> Iterator[tuple[str, Any]]:
    """Parameters and buffers of a model, also where they were replaced."""
    for prefix, module in model.named_modules():
        for table in (module._parameters, module._buffers):
            yield from ((f"{prefix}.{name}".strip("."), t) for name, t in table.items() if t is not None)


def _inputs(
    reference: Any, mode: FakeTensorMode, shapes: Sequence[Shape | None] | None, seed: int
) -> tuple[list[Any], Any]:
    """get_inputs() flattened: floats without memory, integers real."""
    torch.manual_seed(seed)
    with mode:
        leaves, spec = _pytree.tree_flatten(list(reference.get_inputs()))
    fakes = [one for one in leaves if isinstance(one, torch.Tensor)]
    if any(not one.dtype.is_floating_point for one in fakes):
        if sum(one.untyped_storage().nbytes() for one in fakes) > REAL_BYTES:
            raise _Foreign("reference: inputs too large to draw the integers among them")
        torch.manual_seed(seed)
        real = _pytree.tree_leaves(list(reference.get_inputs()))
        leaves = [
            r if isinstance(r, torch.Tensor) and not r.dtype.is_floating_point else fake
            for r, fake in zip(real, leaves, strict=True)
        ]
    if shapes is None:
        return leaves, spec
    wanted = iter(shapes)
    with mode:
        return [_reshaped(t, next(wanted, None)) if isinstance(t, torch.Tensor) else t for t in leaves], spec


def _reshaped(tensor: torch.Tensor, shape: Shape | None) -> torch.Tensor:
    if shape is None:
        return tensor
    if isinstance(tensor, FakeTensor):
        return torch.empty(shape, dtype=tensor.dtype)
    return torch.from_numpy(np.resize(tensor.numpy(), shape))


def _placed(recorder: Recorder, leaves: Sequence[Any]) -> list[Any]:
    """Inputs as buffers named `inputs[i]`."""
    found: list[Any] = []
    count = 0
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            found.append(leaf)
            continue
        name = f"inputs[{count}]"
        count += 1
        if isinstance(leaf, FakeTensor):
            recorder.place(leaf, Origin.ARGUMENT, name, name)
            found.append(leaf)
        else:
            found.append(recorder.adopt(leaf, Origin.ARGUMENT, name, name))
    return found


def _state(model: Any) -> dict[str, torch.Tensor]:
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def _replace_tensors(recorder: Recorder, made: Any, state: dict[str, torch.Tensor]) -> None:
    """Put tensors without memory into ModelNew, each known by its name and by the reference's."""
    for prefix, module in list(made.named_modules()):
        for table, origin in ((module._parameters, Origin.PARAMETER), (module._buffers, Origin.BUFFER)):
            for name, tensor in list(table.items()):
                if tensor is not None and not isinstance(tensor, FakeTensor):
                    full = f"{prefix}.{name}".strip(".")
                    same = _same(full, tensor, state)
                    table[name] = recorder.adopt(tensor.detach(), origin, full, same)
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
                same = _equal(value, state)
                origin = Origin.PARAMETER if same else Origin.CONSTANT
                object.__setattr__(
                    module, name, recorder.adopt(value.detach(), origin, f"{prefix}.{name}".strip("."), same)
                )


def _same(name: str, tensor: torch.Tensor, state: dict[str, torch.Tensor]) -> str:
    """The reference's name of a tensor: the same name and shape, or else the same values."""
    found = state.get(name)
    if found is not None and found.shape == tensor.shape and found.dtype == tensor.dtype:
        return name
    return _equal(tensor, state)


def _equal(tensor: torch.Tensor, state: dict[str, torch.Tensor]) -> str:
    """The one tensor of the reference with these values in this order; a tensor of one value says nothing."""
    values = flat(tensor.contiguous())
    if values.size < 2 or (values == values[0]).all():
        return ""
    names = [
        name
        for name, other in state.items()
        if other.dtype == tensor.dtype
        and other.numel() == tensor.numel()
        and np.array_equal(flat(other), values)
    ]
    return names[0] if len(names) == 1 else ""


def _item(recorder: Recorder) -> Callable[[torch.Tensor], Any]:
    def item(tensor: torch.Tensor) -> Any:
        try:
            number = recorder.item(tensor)
        except Unknown as why:
            recorder.refused = recorder.refused or str(why)
            raise
        if number.element is not None:
            return Datum(float(number.value), number.element)
        return bool(number.value) if number.type.kind == "b" else number.value

    return item
