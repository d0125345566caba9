"""What is put before the device part of a source: the names that its host headers would have brought.

Invariant: after the prelude the functions of the C maths library are calls of `__sym_NAME`, declared and
never defined, so that they reach the PTX as calls. The reason: NVRTC inlines expf as an approximation of two
dozen instructions, out of which nobody can read the exponential again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

UNARY = (
    *("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *(
        "erf",
        "erfc",
        "erfinv",
        "erfcinv",
        "erfcx",
        "normcdf",
        "normcdfinv",
        "tgamma",
        "lgamma",
        "cbrt",
        "rcbrt",
    ),
    *("round", "sinpi", "cospi", "j0", "j1", "i0", "i1"),
)
BINARY = ("pow", "atan2", "hypot", "fmod", "remainder")
FAST = {
    **{f"__{name}f": name for name in ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "tanh")},
    "__powf": "pow",
}
"""Intrinsics that approximate: over the reals they are the functions that they approximate."""

HEADERS = frozenset(
    {
        *("cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "mma.h", "math_constants.h", "cuda_pipeline.h"),
        *("cooperative_groups.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h"),
        *("cooperative_groups/memcpy_async.h", "cuda/pipeline", "cuda/barrier", "cub/cub.cuh", "cuComplex.h"),
    }
)
"""Includes that hold device code and ship in wheels; every other include belongs to the host."""

ALIASES = {
    "cuda_fp16.hpp": "cuda_fp16.h",
    "ATen/cuda/CUDAContext.h": "",
    "c10/util/Half.h": "cuda_fp16.h",
    "cub/block/block_reduce.cuh": "cub/cub.cuh",
    "cub/warp/warp_reduce.cuh": "cub/cub.cuh",
}
HALF_HEADERS = ("cuda_fp16.h", "cuda_bf16.h")
"""What torch/extension.h brings along without a word: sources use __half after including only that. Read only
when a source names such a type, because they take longer to compile than most kernels."""

HERE = Path(__file__).parent
STANDARD = (HERE / "prelude.cuh").read_text()
"""Typedefs, limits and small templates of the C and C++ headers that kernels count on, and the part of ATen
that appears in kernel signatures."""


HALVES = (HERE / "halves.cuh").read_text()
LEAN = "#define _CG_LIMIT_INCLUDED_DEPENDENCIES"
"""Cooperative groups without the C++ library of the toolkit, which takes seconds to compile."""
USES_HALVES = re.compile(r"half|bfloat|Half|BFloat")


def includes(names: Iterable[str]) -> tuple[str, ...]:
    """Of a source's includes, those that the device part needs, in order, aliases resolved."""
    wanted = (ALIASES.get(name, name) for name in names)
    return tuple(dict.fromkeys(name for name in wanted if name in HEADERS))


def text(device: str, headers: Iterable[str] = ()) -> str:
    """The prelude of a device part: headers, the standard names, then the maths library as calls."""
    halves = bool(USES_HALVES.search(device))
    named = includes((*HALF_HEADERS, *headers) if halves else headers)
    lines = [LEAN, *(f"#include <{name}>" for name in named)]
    return "\n".join([*lines, STANDARD, *([HALVES] if halves else []), *_maths()]) + "\n"


def _maths() -> list[str]:
    lines = [line for name in UNARY for line in _declared(name, 1)]
    lines += [line for name in BINARY for line in _declared(name, 2)]
    lines += [f"#define {fast} __sym_{name}f" for fast, name in FAST.items()]
    return [*lines, *SPECIAL]


def _declared(name: str, arity: int) -> list[str]:
    """The calls of one function: as a macro that also takes `std::name`, with overloads for int arguments."""
    letters = "abcd"[:arity]
    floats = ", ".join(f"float {letter}" for letter in letters)
    doubles = ", ".join(f"double {letter}" for letter in letters)
    types = ", ".join(f"typename {letter.upper()}" for letter in letters)
    anything = ", ".join(f"{letter.upper()} {letter}" for letter in letters)
    given = ", ".join(letters)
    widened = ", ".join(f"(double){letter}" for letter in letters)
    inline = "__device__ __forceinline__"
    return [
        f'extern "C" __device__ float __sym_{name}f({floats});',
        f'extern "C" __device__ double __sym_{name}({doubles});',
        f"{inline} float __any_{name}({floats}) {{ return __sym_{name}f({given}); }}",
        f"{inline} double __any_{name}({doubles}) {{ return __sym_{name}({given}); }}",
        f"template <{types}> {inline} double __any_{name}({anything})",
        f"{{ return __sym_{name}({widened}); }}",
        f"namespace std {{ using ::__any_{name}; using ::__sym_{name}f; }}",
        f"#define {name} __any_{name}",
        f"#define {name}f __sym_{name}f",
    ]


SPECIAL = (
    "__device__ __forceinline__ void __sym_both(float x, float* s, float* c)"
    " { *s = __sym_sinf(x); *c = __sym_cosf(x); }",
    "__device__ __forceinline__ void __sym_both(double x, double* s, double* c)"
    " { *s = __sym_sin(x); *c = __sym_cos(x); }",
    *(f"#define {name} __sym_both" for name in ("sincosf", "sincos", "__sincosf")),
)
