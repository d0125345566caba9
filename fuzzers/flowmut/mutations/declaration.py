"""What a mutation is: a rewrite anchored on one tensor edge, in one cell of (object, primitive).

Invariant: a mutation is a pure function of the site and of the `random.Random` it is handed; it returns
None where it finds nothing to do. It declares the predicates under which it may be tried at a site; what
it makes is judged afterwards by the requirements of every operator in the result (`legality`), which is
how what lies downstream is guarded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from random import Random
from typing import TypeAlias

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.legality import Rejection, fake_run
from fuzzers.flowmut.operators.declaration import REQUIRED, Operator
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Attr, Input, Node, Program
from fuzzers.flowmut.values import state_of


class Object(StrEnum):
    """What a mutation acts on."""

    TENSOR = "tensor"
    OPERATOR = "operator"
    INTERFACE = "interface"
    SUBGRAPH = "subgraph"


class Primitive(StrEnum):
    """What it does there."""

    UPDATE = "update"
    INSERT = "insert"
    DELETE = "delete"
    REWIRE = "rewire"


@dataclass(frozen=True)
class Site:
    """The edge `name` of a program whose edges have the given states."""

    program: Program
    name: str
    states: Mapping[str, EdgeState]

    @property
    def state(self) -> EdgeState:
        """The state of the edge itself."""
        return self.states[self.name]

    @cached_property
    def at(self) -> int:
        """Index in the program's nodes from which the edge may be used."""
        return rewrite.position(self.program, self.name)

    @cached_property
    def node(self) -> Node | None:
        """The node that makes the edge; None for an input."""
        return next((n for n in self.program.nodes if n.name == self.name), None)

    @cached_property
    def input(self) -> Input | None:
        """The input that the edge is; None for a node."""
        return next((i for i in self.program.inputs if i.name == self.name), None)

    @property
    def operator(self) -> Operator | None:
        """The operator of the node that makes the edge."""
        return OPERATORS[self.node.op] if self.node else None

    def others(self, holds: Callable[[EdgeState], bool]) -> list[str]:
        """Other edges that are defined at `at` and whose state satisfies `holds`, in order."""
        known = [i.name for i in self.program.inputs] + [n.name for n in self.program.nodes[: self.at]]
        return [name for name in known if name != self.name and holds(self.states[name])]


Predicate: TypeAlias = Callable[[Site], bool]
Apply: TypeAlias = Callable[[Site, Random], Program | None]


@dataclass(frozen=True)
class Mutation:
    """One mutation. `legal` are the named predicates on the site; `weight` is its share of random choice."""

    name: str
    object: Object
    primitive: Primitive
    apply: Apply
    legal: tuple[Predicate, ...] = ()
    weight: int = 2

    def allowed(self, site: Site) -> bool:
        """Whether every predicate holds at the site."""
        return all(holds(site) for holds in self.legal)


class Draft:
    """New nodes and inputs beside a site, until one of the four ways to join them to the program is taken."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.nodes: list[Node] = []
        self.inputs: list[Input] = []

    def _name(self) -> str:
        taken = [n.name for n in self.nodes] + [i.name for i in self.inputs]
        return rewrite.fresh(self.site.program, taken=taken)[0]

    def add(self, op: str, *args: str, **attrs: Attr) -> str:
        """A node of operator `op`; attributes at their default are left out."""
        known = OPERATORS[op].attributes
        given = tuple((k, attrs[k]) for k in known if k in attrs and attrs[k] != known[k].default)
        self.nodes.append(Node(self._name(), op, args, given))
        return self.nodes[-1].name

    def feed(self, tensor: Input) -> str:
        """A new input; its name is chosen here."""
        self.inputs.append(replace(tensor, name=self._name()))
        return self.inputs[-1].name

    def state(self, name: str) -> EdgeState | None:
        """The state of a new edge, by a fake run; None when the nodes so far do not run."""
        program = replace(self.beside(), outputs=(name,))
        states = fake_run(program)
        return None if isinstance(states, Rejection) else states[name]

    def apply(self, operator: Operator, first: str, state: EdgeState, rng: Random) -> str | None:
        """`operator` on `first`, with drawn attributes and fresh partners; None where its requirements,
        the soft ones too, do not hold as far as they can be decided now."""
        attrs = operator.draw_attrs(rng, state)
        if any(
            domain.default is REQUIRED and name not in dict(attrs)
            for name, domain in operator.attributes.items()
        ):
            return None
        values = operator.values(Node("", operator.name, (), attrs))
        partners = operator.partners(rng, state, values) if operator.partners else ()
        if operator.unmet([state, *map(state_of, partners)], values, soft=True):
            return None
        return self.add(operator.name, first, *map(self.feed, partners), **dict(attrs))

    def splice(self, result: str) -> Program:
        """Everything that used the site after it was made uses `result`."""
        site = self.site
        grown = rewrite.insert(site.program, site.at, self.nodes, self.inputs)
        start = site.at + len(self.nodes)
        spliced = rewrite.redirect(grown, site.name, result, start=start)
        return spliced if spliced != grown else self.grow(result)

    def beside(self) -> Program:
        """The nodes stand right after the site; whoever reads the site's memory later sees their writes."""
        return rewrite.insert(self.site.program, self.site.at, self.nodes, self.inputs)

    def grow(self, *results: str) -> Program:
        """The nodes stand right after the site, and `results` are returned as well."""
        return with_outputs(self.beside(), results)

    def tail(self, *results: str) -> Program:
        """The nodes stand at the end, and `results` are returned as well."""
        site = self.site
        ended = rewrite.insert(site.program, len(site.program.nodes), self.nodes, self.inputs)
        return with_outputs(ended, results)


def with_outputs(program: Program, names: Sequence[str]) -> Program:
    """`names` are returned as well, in front: each once."""
    new = tuple(dict.fromkeys(n for n in names if n not in program.outputs))
    return replace(program, outputs=(*new, *program.outputs))
