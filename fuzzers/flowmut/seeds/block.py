"""How a seed is written down.

Invariant: every call names the next tensor, so a seed reads in the order in which it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzzers.flowmut.program import Attr, Input, Node, Program


class Block:
    """Collects inputs and nodes."""

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.nodes: list[Node] = []

    def input(
        self, *shape: int, dtype: str = "float32", fill: str = "randn", low: int = 0, high: int = 0
    ) -> str:
        self.inputs.append(Input(f"x{len(self.inputs)}", shape, dtype, fill, low, high))
        return self.inputs[-1].name

    def node(self, op: str, *args: str, **attrs: Attr) -> str:
        self.nodes.append(Node(f"t{len(self.nodes)}", op, args, tuple(attrs.items())))
        return self.nodes[-1].name

    def program(self, origin: str, outputs: Sequence[str]) -> Program:
        return Program(tuple(self.inputs), tuple(self.nodes), tuple(outputs), origin=origin)
