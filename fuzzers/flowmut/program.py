"""The neutral program that FlowMuT mutates: a straight line of operators over named tensors.

Invariant: a `Program` is a value. It is frozen, its JSON form is canonical (`to_json` / `from_json` are
inverse), every reference names an input or an *earlier* node, and nothing in it depends on a framework,
so that it can be mutated, shrunk, compared and stored without importing one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Attr: TypeAlias = int | float | bool | str | tuple[int, ...] | None
"""What an attribute may hold; dtypes are their torch names without prefix (`"float32"`)."""

VERSION = 1


@dataclass(frozen=True)
class View:
    """One layout step applied to an input's fresh storage: `permute`, `expand` or `slice`.

    permute: a permutation; expand: the target sizes; slice: (dim, start, stop, step).
    """

    op: str
    args: tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """A tensor that the program is given.

    `fill` names how values are drawn (table in `fuzzers.flowmut.values`), with `low`/`high` for the
    bounded ones, or `literal` with `values` in row-major order. `shape` is that of the fresh storage,
    *before* `views`; what the program sees is the result of the views.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    fill: str = "randn"
    low: int = 0
    high: int = 0
    values: tuple[float, ...] = ()
    views: tuple[View, ...] = ()
    requires_grad: bool = False


@dataclass(frozen=True)
class Node:
    """One operator application. `args` name inputs or earlier nodes, in the operator's argument order.

    A node whose operator writes in place names its first argument's storage; its own name is the
    returned alias.
    """

    name: str
    op: str
    args: tuple[str, ...]
    attrs: tuple[tuple[str, Attr], ...] = ()

    def attr(self, key: str) -> Attr:
        """The value of one attribute. KeyError when the node has none of that name."""
        return dict(self.attrs)[key]


@dataclass(frozen=True)
class Program:
    """Inputs, nodes in order, and the names that are returned. `seed` seeds the drawing of inputs;
    `dynamic` is passed to `torch.compile`."""

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    seed: int = 0
    dynamic: bool | None = None
    origin: str = ""
    version: int = field(default=VERSION)

    def node(self, name: str) -> Node:
        """The node of that name. KeyError when there is none (an input is not a node)."""
        return next(n for n in self.nodes if n.name == name)

    def users(self, name: str) -> tuple[Node, ...]:
        """Nodes that take `name` as an argument, in order."""
        return tuple(n for n in self.nodes if name in n.args)

    def names(self) -> tuple[str, ...]:
        """Every tensor name, inputs first, in order of definition."""
        return (*(i.name for i in self.inputs), *(n.name for n in self.nodes))


def to_json(program: Program) -> dict[str, Any]:
    """The JSON form: nested plain dicts and lists."""
    return {
        "version": program.version,
        "seed": program.seed,
        "dynamic": program.dynamic,
        "origin": program.origin,
        "inputs": [
            {
                "name": i.name,
                "shape": list(i.shape),
                "dtype": i.dtype,
                "fill": i.fill,
                "low": i.low,
                "high": i.high,
                "values": list(i.values),
                "views": [{"op": v.op, "args": list(v.args)} for v in i.views],
                "requires_grad": i.requires_grad,
            }
            for i in program.inputs
        ],
        "nodes": [
            {
                "name": n.name,
                "op": n.op,
                "args": list(n.args),
                "attrs": {k: list(v) if isinstance(v, tuple) else v for k, v in n.attrs},
            }
            for n in program.nodes
        ],
        "outputs": list(program.outputs),
    }


def from_json(data: dict[str, Any]) -> Program:
    """A program from its JSON form. ValueError when it is of another version or a reference dangles."""
    if data.get("version") != VERSION:
        raise ValueError(f"a program of version {data.get('version')!r}; this reads {VERSION}")
    inputs = tuple(
        Input(
            name=i["name"],
            shape=tuple(i["shape"]),
            dtype=i["dtype"],
            fill=i["fill"],
            low=i["low"],
            high=i["high"],
            values=tuple(i["values"]),
            views=tuple(View(v["op"], tuple(v["args"])) for v in i["views"]),
            requires_grad=i["requires_grad"],
        )
        for i in data["inputs"]
    )
    nodes = tuple(
        Node(
            name=n["name"],
            op=n["op"],
            args=tuple(n["args"]),
            attrs=tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in n["attrs"].items()),
        )
        for n in data["nodes"]
    )
    program = Program(
        inputs=inputs,
        nodes=nodes,
        outputs=tuple(data["outputs"]),
        seed=data["seed"],
        dynamic=data["dynamic"],
        origin=data["origin"],
    )
    check(program)
    return program


def check(program: Program) -> None:
    """ValueError, naming the place, unless every reference names an input or an earlier node."""
    known: set[str] = set()
    for i in program.inputs:
        if i.name in known:
            raise ValueError(f"input {i.name!r} is defined twice")
        known.add(i.name)
    for n in program.nodes:
        for a in n.args:
            if a not in known:
                raise ValueError(f"node {n.name!r} uses {a!r} before it is defined")
        if n.name in known:
            raise ValueError(f"node {n.name!r} is defined twice")
        known.add(n.name)
    for o in program.outputs:
        if o not in known:
            raise ValueError(f"output {o!r} is not defined")
