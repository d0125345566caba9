"""Bugs planted in torch's compiler, so that a campaign's findings can be held against known causes.

Invariant: importing this changes nothing until torch's modules are imported, and each plant asks at every
call whether it is in `ON`; so the label of a suspect is found by causation: it fails with the plant and is
right without it. The plants are narrow (a dtype, a shape, a neighbour), sit in every stage, and end in
every kind of failure that the stage can have. `tests.benchmarks.planted_build` makes an interpreter that
imports this at its start.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Install = Callable[[ModuleType], None]

ON: set[str] = set()
"""The plants that act. A script takes one out to see whether it is to blame."""


def wrapping(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace `owner.name` by `around(stock, *args)`."""
    stock = getattr(owner, name)

    @functools.wraps(stock)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(stock, *args, **kwargs)

    setattr(owner, name, staticmethod(wrapped) if isinstance(owner, type) and name in STATIC else wrapped)


STATIC = frozenset(
    {"asinh", "atan", "bitwise_left_shift", "hypot", "erf", "bitwise_right_shift", "atan2", "trunc", "exp2"}
)
"""Methods of the C++ code generator, which are static."""


# Dynamo: methods of tensors as they are traced


def trace_methods(module: ModuleType) -> None:
    def around(stock: Any, self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name == "roll" and "dynamo-roll" in ON:
            raise NotImplementedError("roll: shift of a symbolic dimension")
        if name == "flip" and "dynamo-flip" in ON and len(args) > 1:
            args = args[:-1]
        if name == "narrow" and "dynamo-narrow" in ON and len(args) == 3 and args[1].as_python_constant() > 0:
            args = [args[0], type(args[1]).create(0), args[2]]
        return stock(self, tx, name, args, kwargs)

    wrapping(module.TensorVariable, "call_method", around)


# AOTAutograd: the graph of a call without gradients


def trace_base_graph(module: ModuleType) -> None:
    def around(stock: Any, *args: Any, **kwargs: Any) -> Any:
        made = stock(*args, **kwargs)
        change_base_graph(made[0])
        return made

    wrapping(module, "aot_dispatch_base_graph", around)


def change_base_graph(gm: Any) -> None:
    import torch

    aten = torch.ops.aten
    for node in list(gm.graph.nodes):
        if node.target is aten.cumsum.default and "aot-cumsum" in ON and node.meta["val"].dim() > 1:
            node.args = (node.args[0], 0)
        if node.target is aten.index.Tensor and "aot-index" in ON:
            raise RuntimeError(f"functionalization: index of {node.args[0].name} by a view at {node.name}")
        if node.target is aten.topk.default and "aot-topk" in ON:
            node.args = (*node.args[:3], False, True)
    gm.recompile()


# Decompositions


def replace_decompositions(module: ModuleType) -> None:
    import torch

    aten, table = torch.ops.aten, module.decompositions

    def planted(name: str, op: Any, wrong: Callable[..., Any]) -> None:
        stock = table.get(op) or torch._decomp.decomposition_table[op]

        @functools.wraps(stock)
        def decomposition(*args: Any, **kwargs: Any) -> Any:
            return wrong(stock, *args, **kwargs) if name in ON else stock(*args, **kwargs)

        table[op] = decomposition

    def mish(stock: Any, x: Any) -> Any:
        raise AssertionError(f"mish: no decomposition for {x.dim()} dimensions")

    def unshuffle(stock: Any, x: Any, factor: int) -> Any:
        raise RuntimeError(f"shape {tuple(x.shape)} is not divisible by {factor}")

    planted("decomp-softplus", aten.softplus.default, lambda stock, x, *a: torch.relu(x) + 0.5)
    planted("decomp-hardswish", aten.hardswish.default, lambda stock, x: x * (x + 3).clamp(0, 5) / 6)
    planted("decomp-lerp", aten.lerp.Tensor, lambda stock, a, b, w: a + w * w * (b - a))
    planted("decomp-mish", aten.mish.default, mish)
    planted("decomp-sigmoid-backward", aten.sigmoid_backward.default, lambda stock, g, y: g * y * (1 + y))
    planted("decomp-unshuffle", aten.pixel_unshuffle.default, unshuffle)
    planted("decomp-elu", aten.elu.default, lambda stock, x, *a: torch.where(x > 0, x, x.exp() - 2))


# Passes over inductor's graphs


def add_post_grad_pass(module: ModuleType) -> None:
    from torch.fx.passes.graph_transform_observer import GraphTransformObserver

    def around(stock: Any, gm: Any, is_inference: bool) -> Any:
        for name, change in POST_GRAD.items():
            if name in ON:
                GraphTransformObserver(
                    gm, name.replace("-", "_"), subsystem="post_grad_passes"
                ).apply_graph_pass(change)
        gm.recompile()
        return stock(gm, is_inference)

    wrapping(module, "post_grad_passes", around)


def swap_operands(graph: Any) -> None:
    """A subtraction from a permuted tensor of the same shape."""
    import torch

    aten = torch.ops.aten
    for node in graph.nodes:
        if (
            node.target is aten.sub.Tensor
            and _made_by(node.args[0], aten.permute.default)
            and _made_by(node.args[1])
        ):
            node.args = (node.args[1], node.args[0])


def cancel_xor(graph: Any) -> None:
    """Two exclusive ors in a row."""
    import torch

    xor = torch.ops.aten.bitwise_xor.Tensor
    for node in graph.nodes:
        if node.target is xor and _made_by(node.args[0], xor):
            node.args = (node.args[0].args[0], node.args[1])


def merge_clamps(graph: Any) -> None:
    """The maximum of a minimum."""
    import torch

    aten = torch.ops.aten
    for node in list(graph.nodes):
        if node.target is aten.maximum.default and _made_by(node.args[0], aten.minimum.default):
            node.replace_all_uses_with(node.args[0])


def _made_by(argument: Any, target: Any = None) -> bool:
    return hasattr(argument, "target") and (target is None or argument.target is target)


POST_GRAD: dict[str, Callable[[Any], None]] = {
    "post-grad-swap": swap_operands,
    "post-grad-xor": cancel_xor,
    "post-grad-clamps": merge_clamps,
}


# Lowerings


def replace_lowerings(module: ModuleType) -> None:
    import torch

    aten, table = torch.ops.aten, module.lowerings

    def planted(name: str, op: Any, wrong: Callable[..., Any]) -> None:
        stock = table[op]

        @functools.wraps(stock)
        def lowering(*args: Any, **kwargs: Any) -> Any:
            return wrong(stock, *args, **kwargs) if name in ON else stock(*args, **kwargs)

        table[op] = lowering

    def remainder(stock: Any, x: Any, y: Any) -> Any:
        floating = hasattr(x, "get_dtype") and x.get_dtype().is_floating_point
        return table[aten.fmod.Tensor](x, y) if floating else stock(x, y)

    def pad(stock: Any, x: Any, padding: Any, value: Any = 0) -> Any:
        return stock(x, padding, 0)

    def gather(stock: Any, x: Any, dim: int, index: Any, **rest: Any) -> Any:
        if len(index.get_size()) > 1:
            raise NotImplementedError(f"gather along {dim} of {index.get_name()}: no indirect load")
        return stock(x, dim, index, **rest)

    def argmin(stock: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        return table[aten.argmax](x, *args, **kwargs)

    def count(stock: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        made = stock(x, *args, **kwargs)
        return table[torch.ops.prims.convert_element_type.default](made, torch.int32)

    def bucketize(stock: Any, *args: Any, **kwargs: Any) -> Any:
        return stock(*args, **{**kwargs, "right": not kwargs.get("right", False)})

    def scatter(stock: Any, x: Any, dim: int, index: Any, src: Any) -> Any:
        raise AssertionError(f"scatter_add: {index.get_dtype()} index is not supported by the atomic path")

    planted("lowering-remainder", aten.remainder.Tensor, remainder)
    planted("lowering-pad", aten.constant_pad_nd.default, pad)
    planted("lowering-gather", aten.gather.default, gather)
    planted("lowering-bucketize", aten.bucketize.Tensor, bucketize)
    planted("lowering-round", aten.round.default, lambda stock, x: table[aten.floor.default](x))
    planted("lowering-scatter-add", aten.scatter_add.default, scatter)
    planted("lowering-copysign", aten.copysign.Tensor, lambda stock, x, y: stock(y, x))


# The C++ code generator


def replace_codegen(module: ModuleType) -> None:
    scalar, vector = module.CppOverrides, module.CppVecOverrides

    def planted(owner: Any, name: str, method: str, code: Callable[..., str]) -> None:
        def around(stock: Any, *operands: Any) -> Any:
            return code(*operands) if name in ON else stock(*operands)

        wrapping(owner, method, around)

    segfault = "*(volatile char*)nullptr"
    planted(scalar, "codegen-asinh", "asinh", lambda x: f"std::asinhh({x})")
    planted(vector, "codegen-asinh", "asinh", lambda x: f"{x}.asinhh()")
    planted(vector, "codegen-exp2-vector", "exp2", lambda x: f"({x}.exp())")
    planted(scalar, "codegen-shift", "bitwise_left_shift", lambda x, n: f"({x} * 2)")
    planted(vector, "codegen-shift", "bitwise_left_shift", lambda x, n: f"({x} + {x})")
    planted(vector, "codegen-hypot", "hypot", lambda x, y: f"({x}.abs() + {y}.abs())")
    planted(scalar, "codegen-hypot", "hypot", lambda x, y: f"(std::abs({x}) + std::abs({y}))")
    planted(scalar, "codegen-atan", "atan", lambda x: f"(std::atan({x}) + {segfault})")
    planted(
        vector,
        "codegen-atan",
        "atan",
        lambda x: f"([&]{{ auto v = {x}; v = v + decltype(v)({segfault}); return v; }}())",
    )
    planted(scalar, "codegen-erf", "erf", lambda x: f"([&]{{ std::abort(); return std::erf({x}); }}())")
    planted(vector, "codegen-erf", "erf", lambda x: f"([&]{{ std::abort(); return {x}.erf(); }}())")
    planted(vector, "codegen-trunc", "trunc", lambda x: f"{x}.floor()")
    planted(scalar, "codegen-trunc", "trunc", lambda x: f"std::floor({x})")


PLANTS: dict[str, str] = {
    "dynamo-roll": "tracing Tensor.roll raises",
    "dynamo-flip": "tracing Tensor.flip of several dimensions forgets the last",
    "dynamo-narrow": "tracing Tensor.narrow starts at 0",
    "aot-cumsum": "the base graph's cumsum goes along dimension 0",
    "aot-index": "the base graph refuses an index tensor",
    "aot-topk": "the base graph's topk takes the smallest",
    "decomp-softplus": "softplus as relu + 0.5",
    "decomp-hardswish": "hardswish clamps at 5",
    "decomp-lerp": "lerp squares its weight",
    "decomp-mish": "decomposing mish raises",
    "decomp-sigmoid-backward": "gradient of sigmoid with the wrong sign",
    "decomp-unshuffle": "decomposing pixel_unshuffle raises",
    "decomp-elu": "elu subtracts 2",
    "post-grad-swap": "operands of a subtraction from a permuted tensor are swapped",
    "post-grad-xor": "the first of two exclusive ors is lost",
    "post-grad-clamps": "the maximum of a minimum is dropped",
    "lowering-remainder": "floating remainder has the sign of the dividend",
    "lowering-pad": "constant padding is always 0",
    "lowering-gather": "gather with an index of rank above 1 raises",
    "lowering-bucketize": "bucketize takes the other side",
    "lowering-round": "round is floor",
    "lowering-scatter-add": "scatter_add raises",
    "lowering-copysign": "copysign swaps its arguments",
    "codegen-asinh": "asinh calls a function that does not exist",
    "codegen-exp2-vector": "vectorised exp2 is exp",
    "codegen-shift": "a left shift is always by one",
    "codegen-hypot": "hypot adds",
    "codegen-atan": "atan reads from a null pointer",
    "codegen-erf": "erf aborts",
    "codegen-trunc": "trunc is floor",
}
"""Name and cause of every plant."""

INSTALLS: dict[str, Install] = {
    "torch._dynamo.variables.tensor": trace_methods,
    "torch._functorch._aot_autograd.graph_capture": trace_base_graph,
    "torch._inductor.decomposition": replace_decompositions,
    "torch._inductor.fx_passes.post_grad": add_post_grad_pass,
    "torch._inductor.lowering": replace_lowerings,
    "torch._inductor.codegen.cpp": replace_codegen,
}


class PlantingFinder(importlib.abc.MetaPathFinder):
    """Finds the modules to plant in as anybody else would, and changes them once they are executed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        install = INSTALLS.get(name)
        if install is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = PlantingLoader(spec.loader, install)
        return spec


class PlantingLoader(importlib.abc.Loader):
    """A loader that plants after the module's own code has run."""

    def __init__(self, stock: importlib.abc.Loader, install: Install) -> None:
        self.stock, self.install = stock, install

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.stock.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.stock.exec_module(module)
        self.install(module)


def plant() -> None:
    """Let every plant act in this process."""
    ON.update(PLANTS)
    sys.meta_path.insert(0, PlantingFinder())
