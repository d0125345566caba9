"""The recorder: torch operators and launches of one forward, as steps on numbered buffers.

Invariant: every storage that a tensor of the program lies in has a number before anything is recorded of it;
a storage's contents are known by its origin, or by a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from fuzzers.dirigo.host.records import (
    Argument,
    Array,
    Buffer,
    Copy,
    Fill,
    Launch,
    Operator,
    Origin,
    Plain,
    Pointer,
    Source,
    Step,
    Symbol,
    Three,
    View,
)
from fuzzers.dirigo.host.scalars import DTYPES, Number
from fuzzers.dirigo.simt.events import Unknown
from fuzzers.dirigo.simt.memory import SPREAD

EMPTY = frozenset(
    {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"}
)
CONSTANT: Mapping[str, float] = {
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros", "zero_", "zero"), 0.0),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), 1.0),
}
VALUED = {"full": 1, "full_like": 1, "new_full": 2, "fill_": 1}
ALIASES = frozenset({"lift_fresh", "detach", "alias", "lift"})
UNSAID = frozenset({"layout", "device", "pin_memory", "non_blocking", "generator"})
MOST_BYTES = 1 << 33
MOST_STEPS = 4096


def flat(tensor: torch.Tensor) -> Array:
    """All elements of a tensor's storage; bfloat16 as uint16."""
    with _disable_current_modes():
        own = tensor.detach()
        count = own.untyped_storage().nbytes() // own.element_size()
        whole = torch.as_strided(own, (count,), (1,), 0)
        if own.dtype == torch.bfloat16:
            whole = whole.view(torch.uint16)
        return whole.numpy().copy()


class Recorder(TorchDispatchMode):
    """Sees every ATen operator of the program, on tensors without memory."""

    def __init__(self, mode: FakeTensorMode) -> None:
        super().__init__()
        self.mode = mode
        self.buffers: list[Buffer] = []
        self.steps: list[Step] = []
        self.sources: list[Source] = []
        self.decisions: list[str] = []
        self.source = 0
        self.refused = ""
        self._numbers: dict[int, int] = {}
        self._held: list[Any] = []
        self._fakes: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    # tensors and their buffers

    def adopt(
        self, tensor: torch.Tensor, origin: Origin, name: str = "", reference: str = "", *, known: bool = True
    ) -> torch.Tensor:
        """The tensor without memory that stands for a real one."""
        if id(tensor) in self._fakes:
            return self._fakes[id(tensor)][0]
        if tensor.untyped_storage().nbytes() > MOST_BYTES:
            raise Unknown(f"host: a tensor of {tensor.untyped_storage().nbytes() >> 20} MiB")
        fake = self.mode.from_tensor(tensor.detach())
        self._fakes[id(tensor)] = (fake, tensor)
        values = flat(tensor) if known and not isinstance(tensor, FakeTensor) else None
        self.place(fake, origin, name, reference, values)
        return fake

    def place(
        self,
        fake: torch.Tensor,
        origin: Origin,
        name: str = "",
        reference: str = "",
        values: Array | None = None,
    ) -> int:
        """Give a tensor's storage a number."""
        storage = fake.untyped_storage()
        known = self._numbers.get(storage._cdata)
        if known is not None:
            return known
        dtype = str(fake.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            raise Unknown(f"host: a tensor of {dtype}")
        size = storage.nbytes()
        if size > MOST_BYTES:
            raise Unknown(f"host: a tensor of {size >> 20} MiB")
        number = len(self.buffers)
        self.buffers.append(
            Buffer(number, origin, dtype, size // fake.element_size(), name, reference, values)
        )
        self._numbers[storage._cdata] = number
        self._held.append(storage)
        return number

    def view(self, tensor: torch.Tensor) -> View:
        if not isinstance(tensor, FakeTensor):
            tensor = self.adopt(tensor, Origin.CONSTANT)
        number = self._numbers.get(tensor.untyped_storage()._cdata)
        if number is None:
            raise Unknown("host: a tensor that no operator made")
        return View(
            number,
            str(tensor.dtype).removeprefix("torch."),
            int(tensor.storage_offset()),
            tuple(map(int, tensor.shape)),
            tuple(map(int, tensor.stride())),
        )

    def address(self, tensor: torch.Tensor) -> int:
        """`tensor.data_ptr()` in Python."""
        view = self.view(tensor)
        return ((view.buffer + 1) << SPREAD) + view.offset * int(tensor.element_size())

    # what host code does

    def allocate(self, size: int) -> int:
        if size > MOST_BYTES:
            raise Unknown(f"host: an allocation of {size >> 20} MiB")
        number = len(self.buffers)
        self.buffers.append(Buffer(number, Origin.EMPTY, "float32", -(-size // 4)))
        return number

    def launch(
        self, kernel: str, grid: Three, block: Three, shared: int, arguments: Sequence[Argument], line: int
    ) -> None:
        own = tuple(self._own(argument) for argument in arguments)
        self._step(Launch(self.source, kernel, grid, block, shared, own, line))

    def _own(self, argument: Any) -> Any:
        return (
            Symbol(self.source, argument.name, argument.offset) if isinstance(argument, Symbol) else argument
        )

    def copy(
        self, target: Pointer | Symbol, size: int, source: Pointer | Symbol | None, data: bytes, line: int
    ) -> None:
        self._step(Copy(self._own(target), size, self._own(source), data))

    def fill(self, target: Pointer, size: int, byte: int) -> None:
        if target.offset == 0 and byte == 0 and target.buffer >= 0:
            dtype = self.buffers[target.buffer].dtype
            count = size // DTYPES[dtype].size
            self._step(Fill(View(target.buffer, dtype, 0, (count,), (1,)), 0.0))
        else:
            self._step(Copy(target, size, None, bytes([byte]) * size))

    def decide(self, what: str, line: int) -> None:
        self.decisions.append(f"{what}, line {line}")

    def item(self, tensor: torch.Tensor) -> Number:
        """The only element; an integer must be known, a float is read where it stands."""
        view = self.view(tensor)
        type_ = DTYPES[view.dtype]
        buffer = self.buffers[view.buffer]
        if tensor.numel() != 1:
            raise RuntimeError("a Tensor with more than one element cannot be converted to Scalar")
        if buffer.values is None or self._written(view.buffer):
            raise Unknown("host: data: the program reads back what was computed on the device")
        value = buffer.values[view.offset].item()
        symbolic = type_.kind == "f" and buffer.origin is not Origin.CONSTANT
        return Number(type_, value, view if symbolic else None)

    def _written(self, number: int) -> bool:
        for step in self.steps:
            if isinstance(step, Operator) and any(view.buffer == number for view in step.results):
                return True
            if isinstance(step, Fill) and step.view.buffer == number:
                return True
            if isinstance(step, Launch) and any(
                isinstance(one, Pointer) and one.buffer == number for one in step.arguments
            ):
                return True
        return False

    def _step(self, step: Step) -> None:
        if len(self.steps) >= MOST_STEPS:
            raise Unknown("host: steps")
        self.steps.append(step)

    # what torch does

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]
        if func.namespace == "prim":
            return func(*args, **(kwargs or {}))
        args, kwargs = _pytree.tree_map(self._faked, (args, kwargs or {}))
        if name == "_local_scalar_dense":
            number = self.item(args[0])
            if number.is_data:
                self.decisions.append("Python code reads a number out of a tensor")
            return number.value
        try:
            result = func(*args, **kwargs)
            self._operator(func, name, args, kwargs, result)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            self.refused = self.refused or f"host: data: {func}"
            raise Unknown(self.refused) from error
        except Unknown as why:
            self.refused = self.refused or str(why)
            raise
        return result

    def _faked(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
            return self.adopt(value, Origin.CONSTANT)
        return value

    def _operator(self, func: Any, name: str, args: Any, kwargs: Any, result: Any) -> None:
        made = [one for one in _pytree.tree_leaves(result) if isinstance(one, torch.Tensor)]
        if func.is_view or name in ALIASES:
            return
        given = {
            one.untyped_storage()._cdata
            for one in _pytree.tree_leaves((args, kwargs))
            if isinstance(one, torch.Tensor)
        }
        mutable = func._schema.is_mutable
        if not mutable and made and all(one.untyped_storage()._cdata in given for one in made):
            return
        fresh = Origin.EMPTY if name in EMPTY else Origin.RESULT
        for one in made:
            self.place(one, fresh)
        if name in EMPTY:
            return
        if name in CONSTANT and made:
            self._step(Fill(self.view(made[0]), CONSTANT[name]))
        elif name in VALUED and made and isinstance(args[VALUED[name]], int | float):
            self._step(Fill(self.view(made[0]), float(args[VALUED[name]])))
        else:
            arguments, changed = self._arguments(func, args, kwargs)
            results = changed or [self.view(one) for one in made]
            self._step(Operator(str(func), arguments, tuple(results)))

    def _arguments(self, func: Any, args: Any, kwargs: Any) -> tuple[dict[str, Plain], list[View]]:
        """Arguments by name, and the views that the operator writes into."""
        found: dict[str, Plain] = {}
        changed: list[View] = []
        for at, argument in enumerate(func._schema.arguments):
            if argument.name in UNSAID:
                continue
            value = argument.default_value if argument.has_default_value() else None
            value = args[at] if at < len(args) else kwargs.get(argument.name, value)
            found[argument.name] = self._plain(value)
            if argument.alias_info is not None and argument.alias_info.is_write:
                views = found[argument.name]
                changed += [
                    v for v in (views if isinstance(views, tuple) else (views,)) if isinstance(v, View)
                ]
        return found, changed

    def _plain(self, value: Any) -> Plain:
        if isinstance(value, torch.Tensor):
            return self.view(value)
        if isinstance(value, list | tuple):
            return tuple(self._plain(one) for one in value)
        if isinstance(value, torch.dtype | torch.memory_format):
            return str(value).removeprefix("torch.")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise Unknown(f"host: an operator's argument {type(value).__name__}")
