"""The reference evaluator: elements that it computes are those that PyTorch computes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import LAYERS, MODELS, STEPS, Written
from torch.func import functional_call
from torch.utils import _pytree

from fuzzers.dirigo.reference import Bound, Kind, Sliced, Traced, bind, draw, slice_of, trace
from fuzzers.dirigo.reference.arrays import numbers_in
from fuzzers.dirigo.reference.sources import loaded
from fuzzers.dirigo.simt.events import Stopped

ELEMENTS = 3
"""Elements of each output that are compared: the first, the last, and one drawn."""
HALF = {torch.float16: 4e-3, torch.bfloat16: 3e-2}


def tensors(traced: Traced, values: list[np.ndarray]) -> list[torch.Tensor]:
    """Inputs as torch has them, from their storages."""
    found = []
    for item, value in zip(traced.inputs, values, strict=True):
        flat = torch.from_numpy(np.ascontiguousarray(value))
        flat = flat.view(torch.bfloat16) if item.layout.type == "bf16" else flat
        found.append(torch.as_strided(flat, item.layout.shape, item.layout.strides, item.offset))
    return found


def real_outputs(traced: Traced, values: list[np.ndarray]) -> list[torch.Tensor]:
    """What the model itself gives for these values."""
    module = loaded(traced.source)
    torch.manual_seed(0)
    model = module.Model()
    given = dict(zip((i.name for i in traced.inputs), tensors(traced, values), strict=True))
    leaves, spec = _pytree.tree_flatten(module.get_inputs())
    arguments = iter([given[i.name] for i in traced.inputs if i.kind is Kind.ARGUMENT])
    filled = [next(arguments) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    state = {i.name: given[i.name].clone() for i in traced.inputs if i.kind is not Kind.ARGUMENT}
    with torch.no_grad():
        found = functional_call(model, state, tuple(_pytree.tree_unflatten(filled, spec)))
    return [leaf for leaf in _pytree.tree_leaves(found) if isinstance(leaf, torch.Tensor)]


def bound(written: Written, seed: int) -> tuple[Traced, list[np.ndarray], Bound]:
    traced = trace(written.source())
    assert isinstance(traced, Traced), traced
    values = draw(traced, seed)
    assert not isinstance(values, Stopped), values
    found = bind(traced, values)
    assert isinstance(found, Bound), found
    return traced, values, found


def assert_agrees(written: Written, seed: int) -> None:
    """Some elements of every output are those that PyTorch computes, to the tolerance of its type."""
    traced, values, held = bound(written, seed)
    outputs = real_outputs(traced, values)
    assert len(outputs) == len(traced.outputs)
    drawn = np.random.default_rng(seed)
    for number, (output, layout) in enumerate(zip(outputs, traced.output_layouts(), strict=True)):
        assert tuple(output.shape) == layout.shape
        flat = numbers_in(output).reshape(-1)
        tolerance = HALF.get(output.dtype, 2e-5)
        scale = float(np.abs(flat[np.isfinite(flat)].astype(np.float64)).max(initial=0)) or 1.0
        for element in {0, flat.size - 1, int(drawn.integers(flat.size))}:
            found = slice_of(held, number, element)
            assert isinstance(found, Sliced), found
            np.testing.assert_allclose(
                found.value, float(flat[element]), rtol=tolerance, atol=tolerance * 0.1 * scale
            )


@pytest.mark.parametrize("name", MODELS)
def test_an_element_is_what_pytorch_computes(name: str) -> None:
    assert_agrees(MODELS[name], 1)


def found_in(written: Written, element: int = 0, output: int = 0, **options: int) -> Sliced | Stopped:
    return slice_of(bound(written, 1)[2], output, element, **options)


def leaves(written: Written, element: int) -> dict[str, set[int]]:
    """The storage elements of each input that an element depends on, by the input's name."""
    traced, _, held = bound(written, 1)
    found = slice_of(held, 0, element)
    assert isinstance(found, Sliced), found
    numbers = found.tape.slice(found.node).leaves()
    by_name: dict[str, set[int]] = {}
    for item, start in zip(traced.inputs, found.starts, strict=True):
        if start is not None:
            own = {n - start for n in numbers if start <= n < start + item.elements}
            by_name |= {item.name: own} if own else {}
    return by_name


def test_an_element_depends_on_what_its_formula_names() -> None:
    assert leaves(Written("x @ y", "randn(3, 4), randn(4, 2)"), 3) == {
        "inputs[0]": {4, 5, 6, 7},
        "inputs[1]": {1, 3, 5, 7},
    }
    assert leaves(Written("x.tril()", "randn(3, 3)"), 1) == {}
    assert leaves(Written("x.t()[1:]", "randn(3, 4)"), 1) == {"inputs[0]": {5}}
    assert leaves(Written("x[y]", "randn(5, 2), torch.tensor([3, 1])"), 3) == {"inputs[0]": {3}}


def test_a_strided_input_is_named_by_its_storage() -> None:
    assert leaves(Written("x * 2", "randn(6, 4)[2:, 1:3]"), 3) == {"inputs[0]": {14}}
    assert leaves(Written("x * 2", "randn(6, 4).t()"), 1) == {"inputs[0]": {4}}


def test_a_convolution_does_not_ask_for_the_weights_that_fall_on_padding() -> None:
    written = Written("self.c(x)", "randn(1, 1, 4, 4)", "self.c = nn.Conv2d(1, 1, 3, padding=1, bias=False)")
    assert leaves(written, 0) == {"c.weight": {4, 5, 7, 8}, "inputs[0]": {0, 1, 4, 5}}


def test_a_causal_mask_hides_later_rows() -> None:
    written = LAYERS["attention causal"]
    own = leaves(written, 0)
    assert own["inputs[1]"] <= set(range(8)) and own["inputs[2]"] == {0}


def test_shared_tapes_share_their_leaves() -> None:
    """A tape that a kernel's launches left behind names the same inputs."""
    _, _, own = bound(Written("x @ y", "randn(3, 4), randn(4, 2)"), 1)
    first = slice_of(own, 0, 0)
    assert isinstance(first, Sliced)
    second = slice_of(own, 0, 0, tape=first.tape, starts=first.starts)
    assert isinstance(second, Sliced)
    assert second.tape is first.tape and second.node > first.node
    both = first.tape.slice(first.node, second.node)
    assert both.leaves() == first.tape.slice(first.node).leaves()


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (Written("F.dropout(x, 0.5)", "randn(3)"), "operator aten.bernoulli"),
        (Written("x[y.argmax()]", "randn(3), randn(3)"), "reference: DataDependentOutputException"),
        (Written("x.gather(0, y.argsort())", "randn(3), randn(3)"), "depends on data"),
        (Written("torch.linalg.inv(x)", "randn(3, 3)"), "operator aten.linalg_inv_ex.default"),
        (Written("x.sort()[0]", "randn(1000)"), "a row of 1000"),
        (Written("x + torch.rand(3)", "randn(3)"), "operator aten.rand"),
        (Written("x.view(7)", "randn(3)"), "reference: RuntimeError"),
        (Written("x.item()", "randn(1)"), "reference: DataDependentOutputException"),
        (Written("3", "randn(1)"), "reference: forward returns no tensor"),
        (Written("x", "1 / 0"), "reference: ZeroDivisionError: division by zero"),
        (Written("x * 2", "torch.complex(randn(2), randn(2))"), "dtype complex64"),
    ],
)
def test_what_is_not_known_is_said(written: Written, reason: str) -> None:
    traced = trace(written.source())
    if isinstance(traced, Traced):
        values = draw(traced, 1)
        assert not isinstance(values, Stopped)
        held = bind(traced, values)
        assert isinstance(held, Bound), held
        traced = slice_of(held, 0, 0)
    assert isinstance(traced, Stopped), traced
    assert reason in traced.reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def", "reference: SyntaxError"),
        ("import no_such_module", "reference: ModuleNotFoundError"),
        ("get_inputs = list", "reference: no Model"),
        ("Model = 3\nget_inputs = list", "reference: TypeError"),
    ],
)
def test_a_source_that_is_none_is_said(source: str, reason: str) -> None:
    traced = trace(source)
    assert isinstance(traced, Stopped)
    assert reason in traced.reason


def test_a_deep_cone_is_unknown_and_leaves_the_tape_within_its_limit() -> None:
    written = Written("(x @ x @ x).sum()", "randn(60, 60)")
    assert found_in(written, limit=1000) == Stopped("cone")
    assert isinstance(found_in(written), Sliced)
    assert found_in(Written("(x * x).sum()", "randn(5000, 5000)")) == Stopped("cone")


def test_float_inputs_take_no_memory_while_tracing() -> None:
    traced = trace(Written("x * 2", "rand(1 << 20, 1 << 20)").source())
    assert isinstance(traced, Traced)
    assert traced.inputs[0].elements == 1 << 40
    assert traced.initial == (None,)
    assert draw(traced, 1) == Stopped(f"inputs: {1 << 42} bytes")


def test_other_shapes_give_another_graph() -> None:
    written = Written("x.sum(1) * y", "randn(3, 4), randint(0, 5, (3,))")
    traced = trace(written.source(), shapes=[(2, 9), (2,)])
    assert isinstance(traced, Traced)
    assert traced.output_layouts()[0].shape == (2,)
    values = draw(traced, 1)
    assert not isinstance(values, Stopped)
    assert [value.shape for value in values] == [(18,), (2,)]
    assert trace(written.source(), shapes=[(2, 9), None, (1,)]) == Stopped("inputs: 3 shapes for 2 tensors")


def test_training_and_evaluation_are_the_models_own_unless_said_otherwise() -> None:
    source = LAYERS["batch norm train"].source()
    own, evaluated = trace(source), trace(source, training=False)
    assert isinstance(own, Traced) and isinstance(evaluated, Traced)
    norms = [call for traced in (own, evaluated) for call in traced.calls if "batch_norm" in call.operator]
    assert [call.arguments["training"] for call in norms] == [True, False]


@settings(max_examples=25, deadline=None)
@given(
    parts=st.lists(st.sampled_from(STEPS), min_size=1, max_size=6),
    shape=st.sampled_from([(4, 6), (6, 4), (3, 3)]),
    seed=st.integers(1, 99),
)
def test_drawn_chains_of_operators_agree_with_pytorch(
    parts: list[str], shape: tuple[int, int], seed: int
) -> None:
    body = "\n".join([*(f"x = {part}" for part in parts), "return x"])
    assert_agrees(Written(body, f"randn{shape}"), seed)
