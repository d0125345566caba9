"""NVRTC without a GPU: kernels come out whole, with their lines, or the compiler's reasons do."""

from __future__ import annotations

import pytest
from kernels.emulate import compiled_text

from fuzzers.dirigo import nvrtc, prelude
from fuzzers.dirigo.nvrtc import Compiled, Refused, compile_device
from fuzzers.dirigo.ptx.parser import parse

PLAIN = "__global__ void plain(const float* x, float* y) {\n  y[0] = x[0];\n}\n"
TEMPLATE = "template <typename T> __global__ void generic(T* y) { y[0] = T(1); }"


def refused(source: str, *names: str) -> Refused:
    result = compile_device(source, names, prelude=prelude.text(source))
    assert isinstance(result, Refused)
    return result


def test_a_kernel_is_found_under_its_mangled_name() -> None:
    result = compile_device(PLAIN, ["plain"])
    assert isinstance(result, Compiled)
    assert result.entries == {"plain": "_Z5plainPKfPf"}


def test_a_template_comes_out_as_it_is_instantiated() -> None:
    result = compile_device(TEMPLATE, ["generic<float>", "generic<double>"])
    assert isinstance(result, Compiled)
    assert len(set(result.entries.values())) == 2


def test_a_template_that_nobody_instantiates_is_refused() -> None:
    assert "instantiates" in refused(TEMPLATE).messages[0].text


def test_a_device_function_is_no_entry() -> None:
    source = PLAIN + "__device__ float other(float x) { return x; }"
    assert "other" in refused(source, "plain", "other").messages[0].text


def test_an_error_names_the_line_of_the_source() -> None:
    message = refused("__global__ void k(float* y) {\n\n  y[0] = missing;\n}\n", "k").messages[0]
    assert message.line == 3
    assert "missing" in message.text


def test_every_access_to_global_memory_carries_its_line() -> None:
    result = compile_device(PLAIN, ["plain"], prelude=prelude.text(PLAIN))
    assert isinstance(result, Compiled)
    body = parse(result.ptx).functions["_Z5plainPKfPf"].body
    assert [i.line for i in body if i.base in ("ld", "st") and i.has("global")] == [2, 2]


@pytest.mark.parametrize(
    ("expression", "called"),
    [
        ("expf(v)", "expf"),
        ("exp(v)", "expf"),
        ("std::exp(v)", "expf"),
        ("::expf(v)", "expf"),
        ("__expf(v)", "expf"),
        ("float(exp(double(v)))", "exp"),
        ("powf(v, 2.5f)", "powf"),
        ("tanh(v)", "tanhf"),
        ("__logf(v)", "logf"),
    ],
)
def test_the_maths_library_stays_a_call(expression: str, called: str) -> None:
    source = f"__global__ void k(float* y) {{ float v = y[0]; y[0] = {expression}; }}"
    _, ptx = compiled_text(source, "k")
    names = {
        o.name for f in parse(ptx).functions.values() for i in f.body for o in i.operands if _is_call(i, o)
    }
    assert names == {f"__sym_{called}"}


def _is_call(instruction: object, operand: object) -> bool:
    return getattr(instruction, "base", "") == "call" and hasattr(operand, "name")


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void k(at::Half* y) { y[0] = __float2half(1.0f); }",
        "__global__ void k(__nv_bfloat16* y) { y[0] = __float2bfloat16(1.0f); }",
        "__global__ void k(float* y) { y[0] = std::numeric_limits<float>::infinity(); }",
        "__global__ void k(float* y) { y[0] = fmaxf(-FLT_MAX, std::max(y[0], y[1])); }",
        "__global__ void k(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> y)"
        "{ y[1][2] = y.size(0); }",
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        "__global__ void k(float* y) { cg::this_thread_block().sync(); y[0] = 1; }",
    ],
)
def test_names_of_host_headers_are_there(source: str) -> None:
    compiled_text(source, "k")


def test_only_flags_that_change_the_meaning_are_passed_on() -> None:
    assert nvrtc.understood(["-O3", "--use_fast_math", "-DN=3", "-lineinfo"]) == ["--use_fast_math", "-DN=3"]
