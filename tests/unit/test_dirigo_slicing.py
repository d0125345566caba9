"""The device part of a source keeps its places, holds what its kernels need, and nothing of the host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.dirigo.slicing import embedded_sources, slice_device

SOURCE = """#include <torch/extension.h>
#include "cuda_fp16.h"
#define TILE 16
#ifdef FAST
#define SCALE 2.0f
#else
#define SCALE 1.0f
#endif
namespace ours {
struct Pair { float a, b; };
struct Unused { torch::Tensor t; };
__constant__ float weights[TILE];
__device__ __forceinline__ float helper(Pair p) { return p.a * SCALE + weights[0]; }
}
using ours::Pair;
template <typename scalar_t, int N>
__global__ void generic(scalar_t* y) { y[threadIdx.x] = N; }
extern "C" __global__ void plain(const float* x, float* y) {
  y[0] = ours::helper(Pair{x[0], x[1]});
}
std::vector<int> sizes(torch::Tensor x) { return {}; }
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  plain<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "generic", ([&] {
    generic<scalar_t, 4><<<dim3(2), TILE, 0, stream>>>(y.data_ptr<scalar_t>());
  }));
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""


def test_every_character_of_the_device_part_stands_where_it_stood() -> None:
    sliced = slice_device(SOURCE)
    assert len(sliced.device) == len(SOURCE)
    assert all(kept in (" ", own) for kept, own in zip(sliced.device, SOURCE, strict=True))
    assert sliced.device.count("\n") == SOURCE.count("\n")


@pytest.mark.parametrize(
    "needed",
    [
        "#define TILE 16",
        "#ifdef FAST",
        "#endif",
        "namespace ours {",
        "struct Pair { float a, b; };",
        "__constant__ float weights[TILE];",
        "helper(Pair p)",
        "using ours::Pair;",
        'extern "C" __global__ void plain',
        "template <typename scalar_t, int N>",
    ],
)
def test_what_kernels_name_is_kept(needed: str) -> None:
    assert needed in slice_device(SOURCE).device


@pytest.mark.parametrize("host", ["torch", "std::vector", "<<<", "PYBIND11", "forward", "#include", "Unused"])
def test_the_host_is_gone(host: str) -> None:
    assert host not in slice_device(SOURCE).device


def test_kernels_includes_and_launches_are_listed() -> None:
    sliced = slice_device(SOURCE)
    assert sliced.kernels == ("generic", "plain")
    assert sliced.templates == {"generic"}
    assert sliced.includes == ("torch/extension.h", "cuda_fp16.h")
    assert [
        (launch.kernel, SOURCE.splitlines()[launch.line - 1].strip()[:7]) for launch in sliced.launches
    ] == [
        ("plain", "plain<<"),
        ("generic<scalar_t, 4>", "generic"),
    ]


def test_entries_are_the_kernels_as_the_host_instantiates_them() -> None:
    assert slice_device(SOURCE).entries("double") == ("generic<double, 4>", "plain")


def test_a_kernel_that_nothing_launches_is_an_entry_unless_it_is_a_template() -> None:
    source = "__global__ void a() {}\ntemplate <int N> __global__ void b() {}"
    assert slice_device(source).entries() == ("a",)


def test_a_source_without_kernels_has_no_device_part() -> None:
    assert slice_device("int main() { return 0; }").device.strip() == ""


@given(st.text(alphabet="abc{}();<>_ \n*#\"'é", max_size=60))
def test_any_text_is_sliced_without_a_word(text: str) -> None:
    assert slice_device(text).device.count("\n") == text.count("\n")


def test_the_cuda_strings_of_a_python_file_are_found_with_their_lines() -> None:
    python = 'import torch\nsource = """\n__global__ void k() {}\n"""\ncpp = "void forward();"\n'
    (piece,) = embedded_sources(python)
    assert piece.line == 2
    assert "__global__ void k" in piece.text


def test_a_file_that_is_no_python_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError):
        embedded_sources("__global__ void k() {}")
