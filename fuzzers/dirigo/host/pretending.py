"""An interpreter without CUDA that looks to a program as if it had it.

Invariant: inside `pretending` every tensor says that it is on cuda:0, whatever is asked for on cuda is made
where tensors really are, and building an extension is handed to `build`. It changes torch's modules for good:
the process is a supervised child that ends afterwards.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import cpp_extension

from fuzzers.dirigo.host.extension import Datum
from fuzzers.dirigo.host.runtime import PROPERTIES
from fuzzers.dirigo.host.scalars import Number
from fuzzers.dirigo.simt.events import Unknown

CUDA = torch.device("cuda", 0)
CPU = torch.device("cpu")
Build = Callable[[Sequence[str], Sequence[str], Sequence[str], Sequence[str]], Any]
"""cpp sources, cuda sources, functions, nvcc flags -> the extension."""
GETTERS: dict[Any, Any] = {
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.is_cpu.__get__: False,
    torch.Tensor.device.__get__: CUDA,
    torch.Tensor.get_device: 0,
}
STAYS = frozenset({torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.pin_memory, torch.Tensor.record_stream})
QUIET = (
    "synchronize",
    "empty_cache",
    "set_device",
    "manual_seed",
    "manual_seed_all",
    "reset_peak_memory_stats",
)


class Pretence(TorchFunctionMode):
    """Answers for the device. `item` reads the only element of a tensor, `address` is its address; None while
    tensors are real."""

    def __init__(self, item: Callable[[Any], Any] | None, address: Callable[[Any], int] | None) -> None:
        super().__init__()
        self.item, self.address = item, address

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in GETTERS:
            return GETTERS[func]
        if func in STAYS:
            return args[0]
        if self.item is not None:
            if func in (torch.Tensor.item, torch.Tensor.__float__):
                return self.item(args[0])
            if func is torch.Tensor.data_ptr and self.address is not None:
                return self.address(args[0])
            if any(isinstance(one, Datum) for one in [*args, *(kwargs or {}).values()]):
                raise Unknown("host: data: a number out of a tensor goes into an operator")
        moved = {name: _moved(value) for name, value in (kwargs or {}).items()}
        return func(*[_moved(one) for one in args], **moved)


def _moved(value: Any) -> Any:
    """An argument with cuda replaced by where tensors are."""
    if isinstance(value, torch.device):
        return CPU if value.type == "cuda" else value
    return "cpu" if isinstance(value, str) and value.startswith("cuda") else value


def prepare(build: Build) -> None:
    """Replace what a program asks of CUDA and of the extension builder."""
    cuda: Any = torch.cuda
    for name in QUIET:
        setattr(cuda, name, lambda *given, **named: None)
    cuda.is_available = lambda: True
    cuda.is_initialized = lambda: True
    cuda.init = lambda: None
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.get_device_name = lambda *given: "NVIDIA A100-SXM4-80GB"
    cuda.get_device_capability = lambda *given: (8, 0)
    cuda.is_bf16_supported = lambda *given, **named: True
    cuda.get_device_properties = lambda *given: _properties()
    cuda.current_stream = cuda.default_stream = lambda *given: _Nothing()
    cuda.device = cuda.stream = cuda.Stream = cuda.Event = _Nothing
    cuda.memory_allocated = cuda.max_memory_allocated = lambda *given: 0
    builder: Any = cpp_extension
    builder.load_inline = lambda *given, **named: _inline(build, *given, **named)
    builder.load = lambda *given, **named: _files(build, *given, **named)
    module: Any = torch.nn.Module
    convert = module.to
    module.cuda = module.cpu = lambda self, *given: self
    module.to = lambda self, *given, **named: _converted(convert, self, given, named)
    torch.compile = lambda model=None, *given, **named: model if model is not None else (lambda one: one)
    torch.jit.script = lambda one, *given, **named: one


def _converted(convert: Any, module: Any, given: Any, named: Any) -> Any:
    """`module.to(...)` as far as it is about dtypes."""
    types_ = [one for one in (*given, *named.values()) if isinstance(one, torch.dtype)]
    return convert(module, *types_) if types_ else module


class _Nothing:
    """A stream, an event, a device context."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.cuda_stream = 0

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *given: object) -> None:
        """Nothing was entered."""

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: None


def _properties() -> Any:
    known = {name: value.value for name, value in PROPERTIES.items() if isinstance(value, Number)}
    return types.SimpleNamespace(
        name="NVIDIA A100-SXM4-80GB",
        total_memory=80 << 30,
        multi_processor_count=known["multiProcessorCount"],
        max_threads_per_multi_processor=known["maxThreadsPerMultiProcessor"],
        warp_size=32,
        shared_memory_per_block=known["sharedMemPerBlock"],
        **known,
    )


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else [str(one) for one in value]


def _inline(
    build: Build,
    name: str = "",
    cpp_sources: Any = None,
    cuda_sources: Any = None,
    functions: Any = None,
    extra_cflags: Any = None,
    extra_cuda_cflags: Any = None,
    *given: Any,
    **named: Any,
) -> Any:
    wanted = list(functions) if isinstance(functions, dict) else _listed(functions)
    return build(_listed(cpp_sources), _listed(cuda_sources), wanted, _listed(extra_cuda_cflags))


def _files(
    build: Build,
    name: str = "",
    sources: Any = None,
    extra_cflags: Any = None,
    extra_cuda_cflags: Any = None,
    *given: Any,
    **named: Any,
) -> Any:
    texts = {path: Path(path).read_text() for path in _listed(sources)}
    cuda = [text for path, text in texts.items() if path.endswith((".cu", ".cuh"))]
    cpp = [text for path, text in texts.items() if not path.endswith((".cu", ".cuh"))]
    return build(cpp, cuda, (), _listed(extra_cuda_cflags))


@contextlib.contextmanager
def pretending(
    item: Callable[[Any], Any] | None = None, address: Callable[[Any], int] | None = None
) -> Iterator[None]:
    with Pretence(item, address):
        yield
