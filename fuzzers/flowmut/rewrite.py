"""Small rewrites of a `Program` that mutations, windows and shrinking are made of.

Invariant: each function takes a program that passes `check` and returns a new one that does, or raises
ValueError where that cannot be. Only names and order are looked at, no operator is known here: what a
rewrite means, and whether the result may run, is judged by `legality` afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from fuzzers.flowmut.program import Input, Node, Program, check


def fresh(program: Program, count: int = 1, taken: Collection[str] = ()) -> list[str]:
    """`count` names that `program` does not use, lowest number first."""
    used = {*program.names(), *taken}
    found: list[str] = []
    number = 0
    while len(found) < count:
        if (name := f"t{number}") not in used:
            found.append(name)
        number += 1
    return found


def position(program: Program, name: str) -> int:
    """How many nodes stand before the first place where `name` may be used: 0 for an input."""
    return next((k + 1 for k, n in enumerate(program.nodes) if n.name == name), 0)


def is_input(program: Program, name: str) -> bool:
    """Whether `name` is an input rather than a node."""
    return any(i.name == name for i in program.inputs)


def insert(program: Program, at: int, nodes: Sequence[Node], inputs: Sequence[Input] = ()) -> Program:
    """`nodes` before the node at index `at`, with the new `inputs` they need."""
    new = replace(
        program,
        inputs=(*program.inputs, *inputs),
        nodes=(*program.nodes[:at], *nodes, *program.nodes[at:]),
    )
    check(new)
    return new


def redirect(program: Program, old: str, new: str, *, start: int = 0, outputs: bool = True) -> Program:
    """Every use of `old` by nodes from index `start` on, and as an output, becomes a use of `new`."""
    nodes = tuple(
        n if k < start else replace(n, args=tuple(new if a == old else a for a in n.args))
        for k, n in enumerate(program.nodes)
    )
    returned = tuple(new if outputs and o == old else o for o in program.outputs)
    result = replace(program, nodes=nodes, outputs=returned)
    check(result)
    return result


def redirect_one(program: Program, user: str, argument: int, new: str) -> Program:
    """Argument number `argument` of node `user` becomes `new`."""
    node = program.node(user)
    args = (*node.args[:argument], new, *node.args[argument + 1 :])
    return put_node(program, replace(node, args=args))


def put_node(program: Program, node: Node) -> Program:
    """The node of the same name is replaced by `node`."""
    result = replace(program, nodes=tuple(node if n.name == node.name else n for n in program.nodes))
    check(result)
    return result


def put_input(program: Program, tensor: Input) -> Program:
    """The input of the same name is replaced by `tensor`."""
    return replace(program, inputs=tuple(tensor if i.name == tensor.name else i for i in program.inputs))


def drop_node(program: Program, name: str, stand_in: str) -> Program:
    """The node goes; whoever used it uses `stand_in`."""
    nodes = tuple(n for n in program.nodes if n.name != name)
    if len(nodes) == len(program.nodes):
        raise ValueError(f"{name!r} is not a node")
    return redirect(replace(program, nodes=nodes), name, stand_in)


def cut_node(program: Program, name: str, tensor: Input) -> Program:
    """The node becomes the input `tensor`, which must have its name."""
    nodes = tuple(n for n in program.nodes if n.name != name)
    result = replace(program, inputs=(*program.inputs, tensor), nodes=nodes)
    check(result)
    return result


def prune(program: Program, writes: Callable[[Node], bool]) -> Program:
    """Without the nodes and inputs that nothing needs. Nodes for which `writes` holds stay, since what
    they write may be seen through another name, unless their storage is an unused fresh input."""
    needed = set(program.outputs)
    kept: list[Node] = []
    for n in reversed(program.nodes):
        if n.name in needed or writes(n):
            needed.update(n.args)
            kept.append(n)
    inputs = tuple(i for i in program.inputs if i.name in needed)
    return replace(program, inputs=inputs, nodes=tuple(reversed(kept)))


def ancestors(program: Program, names: Iterable[str]) -> set[str]:
    """`names` and everything they are computed from."""
    found = set(names)
    for n in reversed(program.nodes):
        if n.name in found:
            found.update(n.args)
    return found


def descendants(program: Program, names: Iterable[str]) -> set[str]:
    """`names` and every node computed from them."""
    found = set(names)
    for n in program.nodes:
        if found.intersection(n.args):
            found.add(n.name)
    return found


def canonical(program: Program) -> Program:
    """The same program with inputs named x0, x1... and nodes t0, t1..., in order."""
    new = {i.name: f"x{k}" for k, i in enumerate(program.inputs)}
    new.update({n.name: f"t{k}" for k, n in enumerate(program.nodes)})
    return replace(
        program,
        inputs=tuple(replace(i, name=new[i.name]) for i in program.inputs),
        nodes=tuple(replace(n, name=new[n.name], args=tuple(new[a] for a in n.args)) for n in program.nodes),
        outputs=tuple(new[o] for o in program.outputs),
    )
