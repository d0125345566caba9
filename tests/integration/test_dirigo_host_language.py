"""Numbers, macros and definitions of host code are C++'s."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.dirigo.host import syntax
from fuzzers.dirigo.host.pair import load, of_texts
from fuzzers.dirigo.host.scalars import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    UINT,
    ULONG,
    Number,
    Type,
    binary,
    common,
    convert,
    literal,
)
from fuzzers.dirigo.host.translation import translation
from fuzzers.dirigo.simt.events import Stopped

C = {INT: ctypes.c_int32, UINT: ctypes.c_uint32, LONG: ctypes.c_int64, ULONG: ctypes.c_uint64}
integers = st.sampled_from(list(C)).flatmap(
    lambda type_: st.integers(-(2**63), 2**63 - 1).map(lambda value: Number(type_, C[type_](value).value))
)


@given(integers, integers, st.sampled_from("+-*&|^"))
def test_integers_wrap_at_their_width(left: Number, right: Number, sign: str) -> None:
    type_ = common(left.type, right.type)
    one, other = (C[type_](number.value).value for number in (left, right))
    whole = {
        "+": one + other,
        "-": one - other,
        "*": one * other,
        "&": one & other,
        "|": one | other,
        "^": one ^ other,
    }[sign]
    assert binary(sign, left, right) == Number(type_, C[type_](whole).value)


@given(integers, integers.filter(lambda number: number.value != 0))
def test_quotient_and_remainder_make_the_dividend(left: Number, right: Number) -> None:
    quotient, remainder = binary("/", left, right), binary("%", left, right)
    again = binary("+", binary("*", quotient, right), remainder)
    assert again == convert(left, again.type)
    assert abs(remainder.value) < abs(convert(right, remainder.type).value)


@given(st.floats(width=32), st.floats(width=32), st.sampled_from("+-*"))
def test_floats_round_to_their_width(left: float, right: float, sign: str) -> None:
    found = binary(sign, Number(FLOAT, left), Number(FLOAT, right))
    operate = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]
    with np.errstate(all="ignore"):
        wanted = float(operate(np.float32(left), np.float32(right)))
    assert found.type == FLOAT
    assert found.value == wanted or (np.isnan(found.value) and np.isnan(wanted))


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("256", INT, 256),
        ("0x10u", UINT, 16),
        ("1LL", LONG, 1),
        ("3000000000", LONG, 3_000_000_000),
        ("1e-5f", FLOAT, float(np.float32(1e-5))),
        ("1'000", INT, 1000),
        ("010", INT, 8),
        ("2.", DOUBLE, 2.0),
        ("7ull", ULONG, 7),
    ],
)
def test_a_literal_has_its_type(text: str, type_: Type, value: float) -> None:
    assert literal(text) == Number(type_, value)


def test_a_macro_takes_its_arguments_and_strings() -> None:
    found = syntax.macros(syntax.tree("#define CHECK(x, ...) f(x, #x, __VA_ARGS__)\n#define N 3\n"))
    assert syntax.expanded(found["CHECK"], ["a + b", "1", "2"]) == 'f(a + b, "a + b", 1, 2)'
    assert found["N"].parameters is None


def test_a_translation_tells_kernels_functions_and_bindings_apart() -> None:
    found = translation(
        [
            "namespace own { template <int N> __global__ void k(int* y) { y[0] = N; } }\n"
            "__constant__ float c[4];\n"
            "#ifdef NOT_THERE\nint f(int a) { return 1; }\n"
            "#else\nint f(int a, int b = 2) { return b; }\n#endif\n"
            'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("g", &f, py::arg("a"), py::arg("b") = 3); }\n'
        ]
    )
    assert found.qualified["k"] == "own::k"
    assert [len(function.parameters) for function in found.functions["f"]] == [2]
    assert list(found.variables) == ["c"]
    assert found.bindings["g"].function == "f"
    assert [name for name, _ in found.bindings["g"].arguments] == ["a", "b"]


REFERENCE = "class Model: ...\ndef get_inputs(): ...\n"


@pytest.mark.parametrize(
    ("code", "is_cuda", "reason"),
    [
        ("def f(:", False, "code: no Python"),
        ("x = 1", False, "code: no ModelNew"),
        ("int main() {}", True, "code: no kernel"),
        ("__global__ void k() {}", True, "code: no host function"),
    ],
)
def test_a_file_that_is_no_code_says_so(code: str, is_cuda: bool, reason: str) -> None:
    found = of_texts(code, REFERENCE, is_cuda=is_cuda)
    assert isinstance(found, Stopped) and found.reason.startswith(reason)


def test_the_host_function_is_the_outermost_that_launches() -> None:
    found = of_texts(
        "__global__ void k() {}\nvoid run() { k<<<1, 1>>>(); }\nint forward(int a) { run(); return a; }\n",
        REFERENCE,
        is_cuda=True,
    )
    assert not isinstance(found, Stopped) and found.host == "forward"


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    found = load(tmp_path / "none.cu", tmp_path / "none.py")
    assert isinstance(found, Stopped) and "No such file" in found.reason
