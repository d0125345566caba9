"""What is read from a script without running it."""

from __future__ import annotations

from bot import reading

KNOWN = """import torch


def f(x):
    a = x.abs()
    return torch.cat([-a, x]).sum()


torch.manual_seed(0)
x = torch.randint(0, 256, (4,), dtype=torch.uint8)
expected = f(x.clone())
actual = torch.compile(f)(x.clone())
assert torch.equal(actual, expected), (actual, expected)
"""


def of(body: str) -> str:
    return f"import torch\n\n\ndef f(x, y):\n{body}\n"


def test_operators_are_those_of_the_function_only() -> None:
    assert reading.operators(KNOWN) == ("abs", "cat", "neg", "sum")


def test_python_operators_have_torch_names() -> None:
    script = of("    z = x @ y\n    z += 1\n    return (~z < x) & y[1:]")
    assert reading.operators(script) == ("add", "bitwise_and", "bitwise_not", "getitem", "lt", "matmul")


def test_in_place_variants_are_the_same_operator() -> None:
    assert (
        reading.operators(of("    return x.add_(y)"))
        == reading.operators(of("    return x.add(y)"))
        == ("add",)
    )


def test_a_negative_number_is_no_operator() -> None:
    script = of("    return (x + -8).abs().argmax(dim=1)")
    assert reading.operators(script) == ("abs", "add", "argmax")
    assert reading.sketch(script) == "argmax(abs(add(float32)))"


def test_dtypes() -> None:
    assert reading.dtypes(KNOWN) == ("uint8",)
    assert reading.dtypes(of("    return x")) == ("float32",)


def test_sketch_nests_operators_over_dtypes() -> None:
    assert reading.sketch(KNOWN) == "sum(cat(neg(abs(uint8))))"


def test_a_long_program_is_a_list_of_its_operators() -> None:
    body = "    return " + "+".join(f"x.roll({i}).relu().tanh().sin()" for i in range(9))
    assert reading.sketch(of(body)) == "add, relu, roll, sin, tanh"


def test_what_does_not_parse_has_no_operators() -> None:
    assert reading.operators("def f(:") == ()
    assert reading.sketch("def f(:") == ""
