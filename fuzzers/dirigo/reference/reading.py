"""From an FX graph to plain calls.

Invariant: a call's arguments are all there, by name, with torch's defaults where the graph says nothing; what
changes no number is left out.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from fuzzers.dirigo.reference.arrays import layout_of, storage_of
from fuzzers.dirigo.reference.graph import Argument, Array, Call, Layout, Ref
from fuzzers.dirigo.simt.events import Unknown

UNSAID = frozenset({"layout", "device", "pin_memory", "memory_format", "non_blocking", "generator"})
"""Arguments that change no number."""


class _Reader:
    """Turns the nodes of an FX graph into calls."""

    def __init__(self, graph: GraphModule) -> None:
        self.graph = graph
        self.calls: list[Call] = []
        self.constants: list[Array] = []
        self.refs: dict[Node, Ref] = {}

    def read(self, node: Node) -> None:
        value = node.meta.get("val")
        if node.op == "placeholder":
            number = sum(call.operator == "input" for call in self.calls)
            self._add(node, Call("input", {}, (_layout(value),), number))
        elif node.op == "get_attr":
            tensor = getattr(self.graph, str(node.target))
            self.constants.append(storage_of(tensor.detach().clone(memory_format=torch.contiguous_format)))
            self._add(node, Call("constant", {}, (layout_of(tensor),), len(self.constants) - 1))
        elif node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            outputs = tuple(map(_layout, value)) if isinstance(value, tuple | list) else (_layout(value),)
            self._add(node, Call(str(node.target), self._arguments(node.target, node), outputs))
        elif node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem":
            self.refs[node] = Ref(self.refs[node.args[0]].node, node.args[1])
        elif node.op != "output":
            raise Unknown(f"reference: graph node {node.op} {node.target}")

    def _add(self, node: Node, call: Call) -> None:
        self.refs[node] = Ref(len(self.calls))
        self.calls.append(call)

    def _arguments(self, target: Any, node: Node) -> dict[str, Argument]:
        found = {}
        for at, argument in enumerate(target._schema.arguments):
            if argument.name in UNSAID:
                continue
            value = argument.default_value if argument.has_default_value() else None
            value = node.args[at] if at < len(node.args) else node.kwargs.get(argument.name, value)
            found[argument.name] = self._plain(value)
        return found

    def _plain(self, value: Any) -> Argument:
        if isinstance(value, Node):
            return self.refs[value]
        if isinstance(value, list | tuple):
            return tuple(self._plain(one) for one in value)
        if isinstance(value, torch.dtype):
            return str(value).removeprefix("torch.")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise Unknown(f"reference: argument {type(value).__name__}")


def _layout(value: Any) -> Layout | None:
    return layout_of(value) if isinstance(value, torch.Tensor) else None


def calls_of(graph: GraphModule, inputs: int) -> tuple[tuple[Call, ...], tuple[Array, ...], tuple[Ref, ...]]:
    """The calls of a graph, its constants and its outputs; it has so many inputs."""
    reader = _Reader(graph)
    for node in graph.graph.nodes:
        reader.read(node)
    found = next(node for node in graph.graph.nodes if node.op == "output").args[0]
    outputs = tuple(reader.refs[node] for node in found if isinstance(node, Node))
    assert sum(call.operator == "input" for call in reader.calls) == inputs
    if not outputs:
        raise Unknown("reference: forward returns no tensor")
    return tuple(reader.calls), tuple(reader.constants), outputs
