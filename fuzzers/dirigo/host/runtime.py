"""The CUDA runtime in host code: memory, copies, properties, errors; streams and events mean nothing here.

Invariant: what copies to the device is recorded; what asks the device is answered for one card (A100), and a
call that must fail leaves the error that the next question for it finds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fuzzers.dirigo.host.machine import HostError, Machine
from fuzzers.dirigo.host.records import Pointer, Symbol
from fuzzers.dirigo.host.scalars import INT, LONG, ULONG, Number
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.typing import resolve
from fuzzers.dirigo.host.values import (
    AUTO,
    Address,
    Cell,
    HostAddress,
    Kernel,
    Named,
    Opaque,
    Record,
    Value,
    Variable,
    Vector,
    size_of,
)

SUCCESS = Number(INT, 0)
PROPERTIES: Mapping[str, Value] = {
    "multiProcessorCount": Number(INT, 108),
    "maxThreadsPerBlock": Number(INT, 1024),
    "maxThreadsPerMultiProcessor": Number(INT, 2048),
    "warpSize": Number(INT, 32),
    "sharedMemPerBlock": Number(ULONG, 49152),
    "sharedMemPerBlockOptin": Number(ULONG, 166912),
    "sharedMemPerMultiprocessor": Number(ULONG, 167936),
    "regsPerBlock": Number(INT, 65536),
    "totalConstMem": Number(ULONG, 65536),
    "l2CacheSize": Number(INT, 41943040),
    "major": Number(INT, 8),
    "minor": Number(INT, 0),
    "maxGridSize": Vector([Cell(Number(INT, n)) for n in (2147483647, 65535, 65535)]),
    "maxThreadsDim": Vector([Cell(Number(INT, n)) for n in (1024, 1024, 64)]),
}
ATTRIBUTES = {
    "cudaDevAttrMultiProcessorCount": PROPERTIES["multiProcessorCount"],
    "cudaDevAttrMaxThreadsPerBlock": PROPERTIES["maxThreadsPerBlock"],
    "cudaDevAttrMaxSharedMemoryPerBlock": PROPERTIES["sharedMemPerBlock"],
    "cudaDevAttrMaxSharedMemoryPerBlockOptin": PROPERTIES["sharedMemPerBlockOptin"],
    "cudaDevAttrWarpSize": PROPERTIES["warpSize"],
}
INVALID_CONFIGURATION = 9
INVALID_VALUE = 1
WORDS = {
    0: "no error",
    INVALID_CONFIGURATION: "invalid configuration argument",
    INVALID_VALUE: "invalid argument",
}
CODES = {
    "b": "?",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
}


def constant(name: str) -> Value:
    """An enumerator of the runtime."""
    if name == "cudaSuccess":
        return SUCCESS
    if name in ATTRIBUTES:
        return Opaque(name)
    if name.startswith("cuda") or name == "CUBLAS_STATUS_SUCCESS":
        return Opaque(name)
    return None


def packed(number: Number) -> bytes:
    """A number's bytes in memory."""
    if number.is_data:
        raise HostError("data on its way through host memory")
    if number.type.kind == "f":
        if number.type.bits == 15:
            return struct.pack("<f", number.value)[2:]
        return struct.pack({16: "<e", 32: "<f", 64: "<d"}[number.type.bits], number.value)
    code = CODES["b" if number.type.kind == "b" else f"{number.type.kind}{number.type.bits}"]
    return struct.pack("<" + code, number.value)


def bytes_of(value: Value) -> bytes:
    """A value's bytes: numbers, arrays, structs of numbers by C's rules."""
    if isinstance(value, Number):
        return packed(value)
    if isinstance(value, Vector):
        return b"".join(bytes_of(one) for one in value.values())
    if isinstance(value, Record):
        found = b""
        widest = 1
        for cell in value.members.values():
            piece = bytes_of(cell.value)
            align = _alignment(cell.value)
            widest = max(widest, align)
            found += bytes(-len(found) % align) + piece
        return found + bytes(-len(found) % widest)
    if isinstance(value, Address | HostAddress):
        return bytes(8)
    raise HostError(f"bytes of {type(value).__name__}")


def _alignment(value: Value) -> int:
    if isinstance(value, Number):
        return value.type.size
    if isinstance(value, Vector):
        return max([1, *(_alignment(one) for one in value.values())])
    if isinstance(value, Record):
        return max([1, *(_alignment(cell.value) for cell in value.members.values())])
    return 8


def size_of_record(value: Record) -> int:
    return len(bytes_of(value))


def size_of_variable(m: Machine, value: Variable) -> int:
    """Bytes of a `__constant__` or `__device__` variable."""
    node = m.translation.variables[value.name]
    declarator = node.get("declarator")
    type_ = resolve(m, node.get("type"), declarator)
    count = 1
    while isinstance(type_, Named) and type_.name == "array":
        count *= int(type_.arguments[1].value)
        type_ = type_.arguments[0]
    return count * size_of(type_)


def _place(value: Value, node: Node, m: Machine) -> Pointer | Symbol:
    if isinstance(value, Address):
        return Pointer(value.buffer, value.offset)
    if isinstance(value, Variable):
        return Symbol(0, value.name, value.offset)
    return m.unknown("a copy to or from what is no device memory", node)


def _host_bytes(value: Value, count: int, node: Node, m: Machine) -> bytes:
    if isinstance(value, HostAddress):
        found = b"".join(bytes_of(cell.value) for cell in value.cells[value.at :])
    else:
        found = bytes_of(value)
    if len(found) < count:
        m.unknown(f"a copy of {count} bytes out of {len(found)}", node)
    return found[:count]


def _copied(m: Machine, target: Value, source: Value, count: int, node: Node) -> Value:
    """A copy between host and device, or inside either."""
    if isinstance(source, Address | Variable):
        if isinstance(target, HostAddress | Vector):
            m.unknown("host code reads device memory", node)
        m.recorder.copy(_place(target, node, m), count, _place(source, node, m), b"", node.line)
    elif isinstance(target, HostAddress):
        m.unknown("a copy inside host memory", node)
    else:
        m.recorder.copy(_place(target, node, m), count, None, _host_bytes(source, count, node, m), node.line)
    return SUCCESS


def _memcpy(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    return _copied(m, values[0], values[1], int(values[2].value), node)


def _to_symbol(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    target = values[0]
    if not isinstance(target, Variable):
        return m.unknown("cudaMemcpyToSymbol to what is no device variable", node)
    offset = int(values[3].value) if len(values) > 3 and isinstance(values[3], Number) else 0
    return _copied(m, Variable(target.name, target.offset + offset), values[1], int(values[2].value), node)


def _memset(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    place = _place(values[0], node, m)
    if not isinstance(place, Pointer):
        return m.unknown("cudaMemset of a symbol", node)
    m.recorder.fill(place, int(values[2].value), int(values[1].value) & 255)
    return SUCCESS


def _pointed(value: Value, m: Machine, node: Node) -> Cell:
    if isinstance(value, HostAddress):
        return value.cell()
    return m.unknown("an out-argument that is no host variable", node)


def _malloc(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    cell = _pointed(values[0], m, node)
    to = cell.type.arguments[0] if isinstance(cell.type, Named) and cell.type.arguments else AUTO
    cell.value = Address(m.recorder.allocate(int(values[1].value)), 0, to)
    return SUCCESS


def _symbol_address(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    cell = _pointed(values[0], m, node)
    cell.value = values[1]
    return SUCCESS


def _attribute(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    """cudaFuncSetAttribute: only the allowance for dynamic shared memory matters."""
    kernel, what, count = values[:3]
    if isinstance(kernel, Kernel) and isinstance(what, Opaque) and "DynamicSharedMemorySize" in what.name:
        limit = PROPERTIES["sharedMemPerBlockOptin"].value
        if int(count.value) > limit:
            m.error = INVALID_VALUE
            return Number(INT, INVALID_VALUE)
        m.optin[kernel.name] = int(count.value)
    return SUCCESS


def _device_attribute(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    found = ATTRIBUTES.get(values[1].name) if isinstance(values[1], Opaque) else None
    if found is None:
        return m.unknown("a device attribute", node)
    _pointed(values[0], m, node).value = found
    return SUCCESS


def _properties(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    if not values:
        return HostAddress([Cell(Opaque("cudaDeviceProp"))])
    _pointed(values[0], m, node).value = Opaque("cudaDeviceProp")
    return SUCCESS


def _device(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    _pointed(values[0], m, node).value = Number(INT, 0)
    return SUCCESS


def _count(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    _pointed(values[0], m, node).value = Number(INT, 1)
    return SUCCESS


def _occupancy(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    """cudaOccupancyMaxPotentialBlockSize: a block of 1024 where the kernel's registers allow it."""
    _pointed(values[0], m, node).value = Number(INT, 216)
    _pointed(values[1], m, node).value = Number(INT, 1024)
    return SUCCESS


def _active_blocks(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    threads = max(int(values[2].value), 1)
    _pointed(values[0], m, node).value = Number(INT, max(2048 // threads, 1))
    return SUCCESS


def _last_error(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    code, m.error = m.error, 0
    return Number(INT, code)


def _error_words(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    code = values[0].value if isinstance(values[0], Number) else 0
    return WORDS.get(int(code), "unknown error")


def _launch_check(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    code = int(values[0].value) if values and isinstance(values[0], Number) else m.error
    m.error = 0
    if code:
        raise HostError(f"CUDA error: {WORDS.get(code, 'unknown error')}")
    return None


def _success(m: Machine, values: Sequence[Value], templates: Sequence[Value], node: Node) -> Value:
    return SUCCESS


def _named(name: str) -> Any:
    return lambda m, values, templates, node: Opaque(name)


Function = Callable[[Machine, Sequence[Value], Sequence[Value], Node], Value]
FUNCTIONS: Mapping[str, Function] = {
    **dict.fromkeys(("cudaMemcpy", "cudaMemcpyAsync"), _memcpy),
    **dict.fromkeys(("cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync"), _to_symbol),
    **dict.fromkeys(("cudaMemset", "cudaMemsetAsync"), _memset),
    **dict.fromkeys(("cudaMalloc", "cudaMallocAsync", "cudaMallocManaged"), _malloc),
    "cudaGetSymbolAddress": _symbol_address,
    "cudaFuncSetAttribute": _attribute,
    "cudaDeviceGetAttribute": _device_attribute,
    **dict.fromkeys(
        ("cudaGetDeviceProperties", "getCurrentDeviceProperties", "getDeviceProperties"), _properties
    ),
    "cudaGetDevice": _device,
    "cudaGetDeviceCount": _count,
    "cudaOccupancyMaxPotentialBlockSize": _occupancy,
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": _active_blocks,
    **dict.fromkeys(("cudaGetLastError", "cudaPeekAtLastError"), _last_error),
    **dict.fromkeys(("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaThreadSynchronize"), _last_error),
    **dict.fromkeys(("cudaGetErrorString", "cudaGetErrorName"), _error_words),
    **dict.fromkeys(
        ("C10_CUDA_KERNEL_LAUNCH_CHECK", "C10_CUDA_CHECK", "AT_CUDA_CHECK", "TORCH_CUDA_CHECK"), _launch_check
    ),
    **dict.fromkeys(
        (
            *(
                "cudaFree",
                "cudaFreeAsync",
                "cudaFuncSetCacheConfig",
                "cudaDeviceSetCacheConfig",
                "cudaSetDevice",
            ),
            *(
                "cudaStreamCreate",
                "cudaStreamDestroy",
                "cudaEventCreate",
                "cudaEventRecord",
                "cudaEventDestroy",
            ),
            *(
                "cudaEventSynchronize",
                "cudaStreamWaitEvent",
                "cudaStreamCreateWithFlags",
                "cudaDeviceSetLimit",
            ),
            *("cudaEventCreateWithFlags", "cudaFuncSetSharedMemConfig", "cudaDeviceSetSharedMemConfig"),
            *("cudaMemPrefetchAsync", "cudaMemAdvise", "cudaEventElapsedTime", "cudaStreamSetAttribute"),
            *("cudaMemPrefetch", "cudaProfilerStart", "cudaProfilerStop"),
        ),
        _success,
    ),
    **dict.fromkeys(
        (
            "getCurrentCUDAStream",
            "getDefaultCUDAStream",
            "getStreamFromPool",
            "setCurrentCUDAStream",
            "stream",
        ),
        _named("cudaStream_t"),
    ),
    **dict.fromkeys(("device_of", "CUDAGuard", "OptionalCUDAGuard", "DeviceGuard"), _named("guard")),
    "current_device": lambda m, v, t, n: Number(LONG, 0),
    "warp_size": lambda m, v, t, n: Number(INT, 32),
}
