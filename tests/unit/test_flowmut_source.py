"""How a program reads as source: goldens small enough to be read here."""

from __future__ import annotations

from textwrap import dedent

import pytest

from fuzzers.flowmut.emit import Claim, claim_from_json, script
from fuzzers.flowmut.layout import lay_out
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.operators.views import END
from fuzzers.flowmut.program import Attr, Input, Node, Program, View
from fuzzers.flowmut.source import function_source, mutated_inputs
from fuzzers.flowmut.values import input_source, shortest
from fuzzers.records import Aspect, Kind

X = Input("x0", (4,), "float32")
VALUES = Claim(Kind.WRONG, Aspect.VALUES, rtol=1e-4, atol=1e-5)


def node(name: str, op: str, *args: str, **attrs: Attr) -> Node:
    return Node(name, op, args, tuple(attrs.items()))


def assert_reads(program: Program, source: str) -> None:
    assert function_source(program) == dedent(source).lstrip("\n")


def test_one_use_results_are_inlined_and_others_named() -> None:
    nodes = (
        node("n0", "abs", "x0"),
        node("n1", "neg", "n0"),
        node("n2", "cat", "n1", "n0"),
        node("n3", "sum", "n2"),
    )
    assert_reads(
        Program((X,), nodes, ("n3",)),
        """
        def f(x):
            a = x.abs()
            return torch.cat([-a, a]).sum()
        """,
    )


def test_operations_are_put_in_parentheses_only_where_needed() -> None:
    nodes = (
        node("n0", "neg", "x0"),
        node("n1", "mul", "n0", "x0"),
        node("n2", "add_scalar", "n1", value=1),
        node("n3", "exp", "n2"),
    )
    assert_reads(
        Program((X,), nodes, ("n3",)),
        """
        def f(x):
            return ((-x * x) + 1).exp()
        """,
    )


def test_a_write_is_a_statement_and_its_alias_the_same_name() -> None:
    nodes = (
        node("n0", "clone", "x0"),
        node("n1", "slice", "n0", span=(0, 1, END, 2)),
        node("n2", "add_", "n1", "n1"),
        node("n3", "mul_scalar", "n0", value=2),
    )
    assert_reads(
        Program((X,), nodes, ("n3", "n2")),
        """
        def f(x):
            a = x.clone()
            b = a[1::2]
            b.add_(b)
            return a * 2, b
        """,
    )


def test_a_view_is_inlined_into_the_write_that_ends_it() -> None:
    nodes = (node("n0", "select", "x0", dim=0, index=0), node("n1", "zero_", "n0"))
    program = Program((X,), nodes, ("x0",))
    assert_reads(
        program,
        """
        def f(x):
            x.select(0, 0).zero_()
            return x
        """,
    )
    assert mutated_inputs(program) == [0]


def test_a_read_before_a_write_is_not_moved_behind_it() -> None:
    nodes = (node("n0", "abs", "x0"), node("n1", "zero_", "x0"), node("n2", "neg", "n0"))
    assert_reads(
        Program((X,), nodes, ("n2",)),
        """
        def f(x):
            a = x.abs()
            x.zero_()
            return -a
        """,
    )


def test_a_program_that_only_writes_returns_nothing() -> None:
    assert_reads(
        Program((X,), (node("n0", "relu_", "x0"),), ()),
        """
        def f(x):
            x.relu_()
        """,
    )
    assert_reads(Program((X,), (), ()), "def f(x):\n    pass\n")


def test_a_whole_reproducer() -> None:
    x = Input("x0", (4,), "uint8", "randint", 0, 256)
    nodes = (node("n0", "abs", "x0"), node("n1", "neg", "n0"), node("n2", "cat", "n1", "x0"))
    assert script(Program((x,), nodes, ("n2",)), Claim(Kind.WRONG, Aspect.VALUES)) == dedent(
        """\
        import torch


        def f(x):
            return torch.cat([-x.abs(), x])


        torch.manual_seed(0)
        x = torch.randint(0, 256, (4,), dtype=torch.uint8)
        expected = f(x)
        actual = torch.compile(f)(x)
        assert torch.equal(actual, expected), (actual, expected)
        """
    )


def test_a_mutated_input_is_cloned_for_each_call() -> None:
    program = Program((X, Input("x1", (4,), "float32", "ones")), (node("n0", "add_", "x0", "x1"),), ("n0",))
    text = script(program, Claim(Kind.WRONG, Aspect.VALUES, rtol=1e-4, atol=1e-5, equal_nan=False))
    assert text.endswith(
        dedent(
            """\
            x = torch.randn(4)
            y = torch.ones(4)
            expected = f(x.clone(), y)
            actual = torch.compile(f)(x.clone(), y)
            assert torch.allclose(actual, expected, rtol=0.0001, atol=1e-05), (actual, expected)
            """
        )
    )


def test_the_gradient_of_one_input_for_a_drawn_cotangent() -> None:
    x = Input("x0", (4,), "float32", "ones", requires_grad=True)
    program = Program((x,), (node("n0", "sigmoid", "x0"),), ("n0",), seed=3, dynamic=True)
    text = script(program, Claim(Kind.GRADIENT, Aspect.GRADIENT, 0, "grad", rtol=1e-4, atol=1e-5))
    assert text.endswith(
        dedent(
            """\
            def grad(f):
                x = torch.ones(4).requires_grad_()
                out = f(x)
                torch.manual_seed(3)
                cotangent = torch.randn_like(out)
                return torch.autograd.grad(out, x, cotangent)[0]


            expected = grad(f)
            actual = grad(torch.compile(f, dynamic=True))
            assert torch.allclose(actual, expected, rtol=0.0001, atol=1e-05, equal_nan=True), actual
            """
        )
    )


def test_f_is_imported_only_where_it_is_used() -> None:
    used = script(Program((X,), (node("n0", "gelu", "x0"),), ("n0",)), VALUES)
    unused = script(Program((X,), (node("n0", "relu", "x0"),), ("n0",)), VALUES)
    assert "import torch.nn.functional as F\n" in used
    assert "functional" not in unused


def test_a_claim_survives_json() -> None:
    claim = Claim(Kind.ALIASING, Aspect.ALIASING, pair=("output 1", "input 0"))
    assert claim_from_json(claim.to_json()) == claim
    with pytest.raises(TypeError):
        claim_from_json({**claim.to_json(), "bound": 1})


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (Input("x", (), "float32"), "x = torch.randn(())"),
        (Input("x", (2, 3), "bfloat16", "rand"), "x = torch.rand(2, 3, dtype=torch.bfloat16)"),
        (Input("x", (3,), "int64", "arange"), "x = torch.arange(3)"),
        (Input("x", (2, 2), "int8", "arange"), "x = torch.arange(4, dtype=torch.int8).reshape(2, 2)"),
        (Input("x", (2,), "bool", "bool"), "x = torch.randint(0, 2, (2,), dtype=torch.bool)"),
        (Input("x", (2,), "float32", "full", 3), "x = torch.full((2,), 3.0)"),
        (Input("x", (2,), "float32", "literal", values=(0.1, 2.0)), "x = torch.tensor([0.1, 2.0])"),
        (
            Input("x", (2, 1), "uint8", "literal", values=(1, 255)),
            "x = torch.tensor([[1], [255]], dtype=torch.uint8)",
        ),
        (
            Input("x", (2,), "float64", "literal", values=(float("nan"), float("-inf"))),
            'x = torch.tensor([float("nan"), float("-inf")], dtype=torch.float64)',
        ),
        (
            Input(
                "x", (4, 3), "float32", "positive", views=(View("slice", (1, 0, END, 2)),), requires_grad=True
            ),
            "x = (torch.rand(4, 3) + 0.5)[:, ::2].requires_grad_()",
        ),
        (
            Input("x", (4, 1), "float32", "ones", views=(View("permute", (1, 0)), View("expand", (2, 4)))),
            "x = torch.ones(4, 1).permute(1, 0).expand(2, 4)",
        ),
    ],
)
def test_an_input_is_one_line(given: Input, line: str) -> None:
    assert input_source(given) == line


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.10000000149011612, "float32", "0.1"),
        (0.0999755859375, "float16", "0.1"),
        (0.10009765625, "bfloat16", "0.1"),
        (0.1, "float64", "0.1"),
        (3.4028234663852886e38, "float32", "3.4028235e+38"),
    ],
)
def test_a_literal_is_the_shortest_that_reads_back(value: float, dtype: str, text: str) -> None:
    assert shortest(value, dtype) == text


def test_a_long_statement_is_broken_at_its_last_bracket() -> None:
    names = ", ".join(f"argument{k}" for k in range(6))
    assert lay_out(f"a = torch.cat([{names}], dim=1)", "    ") == [
        "    a = torch.cat(",
        f"        [{names}], dim=1",
        "    )",
    ]
    assert lay_out(f"return {names}, {names}", "    ") == [
        "    return (",
        *[f"        argument{k}," for k in (*range(6), *range(6))],
        "    )",
    ]


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_a_declaration_is_complete(name: str) -> None:
    operator = OPERATORS[name]
    args = [f"t{k}" for k in range(operator.arity)]
    attrs = {key: domain.plain[0] if domain.plain else 1 for key, domain in operator.attributes.items()}
    rendered = operator.render(args, attrs)
    assert "{" not in rendered
    assert all(a in rendered for a in args)
    assert (operator.partners is None) == (operator.arity == 1 and not operator.variadic)
    assert not (operator.views and operator.may_view)
