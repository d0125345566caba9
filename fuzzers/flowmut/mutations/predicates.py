"""The predicates under which a mutation may be tried at a site.

Invariant: each looks only at the recorded states and the names of the program, and is named as a reader
would say it: a mutation's `legal` tuple reads as a sentence about the edge.
"""

from __future__ import annotations

from fuzzers.flowmut.mutations.declaration import Predicate, Site
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.values import LISTED

LARGEST = 4096
"""Elements beyond which nothing is enlarged: running stays far below the cost of compiling."""


def an_input(site: Site) -> bool:
    """The edge is an input of the program."""
    return site.input is not None


def a_node(site: Site) -> bool:
    """The edge is made by an operator."""
    return site.node is not None


def plain_layout(site: Site) -> bool:
    """The edge is an input without views."""
    return site.input is not None and not site.input.views


def viewed(site: Site) -> bool:
    """The edge is an input seen through views."""
    return site.input is not None and bool(site.input.views)


def floating(site: Site) -> bool:
    """Of a floating dtype."""
    return site.state.floating


def integral(site: Site) -> bool:
    """Of an integer dtype."""
    return site.state.integral


def signed(site: Site) -> bool:
    """Of a signed integer dtype."""
    return site.state.integral and site.state.dtype != "uint8"


def numeric(site: Site) -> bool:
    """Of any dtype but bool."""
    return site.state.dtype != "bool"


def not_empty(site: Site) -> bool:
    """It has elements."""
    return site.state.numel > 0


def small(site: Site) -> bool:
    """Few enough elements to be enlarged."""
    return site.state.numel <= LARGEST


def shaped(site: Site) -> bool:
    """Of rank 1 at least."""
    return site.state.rank >= 1


def matrix(site: Site) -> bool:
    """Of rank 2 at least."""
    return site.state.rank >= 2


def image(site: Site) -> bool:
    """Of rank 4, as images are."""
    return site.state.rank == 4


def writable(site: Site) -> bool:
    """Memory that may be written in place: no overlap with itself, no leaf that requires grad."""
    return not site.state.overlaps and not site.state.on_leaf


def no_grad(site: Site) -> bool:
    """It does not require grad, so that a write in place cannot spoil a backward."""
    return not site.state.requires_grad


def pure(site: Site) -> bool:
    """Made by an operator that writes nothing."""
    return site.operator is not None and site.operator.writes is None


def read(site: Site) -> bool:
    """Some node takes it as an argument."""
    return bool(site.program.users(site.name))


def returned(site: Site) -> bool:
    """It is an output."""
    return site.name in site.program.outputs


def not_returned(site: Site) -> bool:
    """It is no output yet."""
    return site.name not in site.program.outputs


def arity(count: int) -> Predicate:
    """Made by an operator of `count` arguments, at least."""

    def enough(site: Site) -> bool:
        return site.node is not None and len(site.node.args) >= count

    return enough


def has_attributes(site: Site) -> bool:
    """Made by an operator that has attributes."""
    return site.node is not None and bool(OPERATORS[site.node.op].attributes)


def listed(site: Site) -> bool:
    """Few enough elements to be written one by one."""
    return 0 < site.state.numel <= LISTED


def dense(site: Site) -> bool:
    """In row-major order without gaps."""
    return site.state.contiguous


def not_dense(site: Site) -> bool:
    """Permuted, expanded or with gaps."""
    return not site.state.contiguous


def tracked(site: Site) -> bool:
    """A gradient may flow through it."""
    return site.state.requires_grad or site.state.floating


def read_twice(site: Site) -> bool:
    """More than one node takes it."""
    return len(site.program.users(site.name)) > 1


def a_write(site: Site) -> bool:
    """Made by an operator that writes in place."""
    return site.operator is not None and site.operator.writes is not None


def made_by(*operators: str) -> Predicate:
    """Made by one of these operators."""

    def made(site: Site) -> bool:
        return site.node is not None and site.node.op in operators

    return made
