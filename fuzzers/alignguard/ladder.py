"""The cheap rung: a program's decomposed graphs executed as they are, and what the compiler would be given.

Invariant: nothing is built here. The graphs are those that inductor gets (functionalised, decomposed,
partitioned); executing them shows bugs of dynamo, functionalization and decompositions at a tenth of the
cost, and their nodes tell whether lowering them could show anything that was not seen before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx
from torch._dynamo.backends.common import aot_autograd

SMALL, WIDTH = 16, 16
"""Sizes below SMALL are a class of their own (no full vector), so are multiples of WIDTH (no tail)."""


@dataclass
class Noted:
    """Distinct events of the graphs, in the order of their coming."""

    events: dict[str, None] = field(default_factory=dict)

    def backend(self) -> Callable[..., Any]:
        """A backend for `torch.compile` that executes the graphs, and notes them."""
        from torch._inductor.compile_fx import select_decomp_table

        made: Callable[..., Any] = aot_autograd(
            fw_compiler=self._take, bw_compiler=self._take, decompositions=lambda: select_decomp_table()
        )
        return made

    def _take(self, module: torch.fx.GraphModule, _: Any) -> Callable[[list[Any]], Any]:
        for event in of_graph(module.graph):
            self.events.setdefault(event)

        def run(arguments: list[Any]) -> Any:
            return module.forward(*arguments)

        run._boxed_call = True  # type: ignore[attr-defined]
        return run


def of_graph(graph: torch.fx.Graph) -> Iterator[str]:
    """What a graph asks of the lowerings: each operator with its types and layouts, and each edge."""
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        target = getattr(node.target, "_name", getattr(node.target, "__name__", str(node.target)))
        inputs = [n for n in node.all_input_nodes if n.op != "get_attr"]
        described = " ".join(map(_described, inputs))
        yield f"node {target} {described} -> {_described(node)}"
        for k, source in enumerate(inputs):
            if source.op == "call_function":
                yield f"edge {getattr(source.target, '_name', source.name)} > {target}.{k} {_dtype(source)}"


def _described(node: torch.fx.Node) -> str:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    return f"{_dtype(node)}{_layout(value)}{_size(value)}"


def _dtype(node: torch.fx.Node) -> str:
    value = node.meta.get("val")
    return (
        str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else type(value).__name__
    )


def _layout(value: torch.Tensor) -> str:
    """A letter: contiguous, expanded, gapped or otherwise ordered."""
    if any(not isinstance(s, int) for s in (*value.shape, *value.stride())):
        return "y"
    if value.is_contiguous():
        return "c"
    if any(s == 0 and n > 1 for s, n in zip(value.stride(), value.shape, strict=True)):
        return "x"
    return "o" if torch._prims_common.is_non_overlapping_and_dense(value) else "g"


def _size(value: torch.Tensor) -> str:
    """A letter for how many elements (none, one, short of a vector, whole vectors, any), and the rank."""
    count = value.numel()
    if not isinstance(count, int):
        return f"s{value.dim()}"
    if count <= 1:
        return "01"[count] + str(value.dim())
    return f"{'v' if count < SMALL else 'w' if count % WIDTH == 0 else 't'}{value.dim()}"
