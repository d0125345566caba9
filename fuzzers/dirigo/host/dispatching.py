"""AT_DISPATCH_*: the lambda is called with `scalar_t` being the tensor's type, if the macro has that type."""

from __future__ import annotations

import torch

from fuzzers.dirigo.host.machine import HostError, Machine
from fuzzers.dirigo.host.scalars import (
    BFLOAT,
    BOOL,
    BYTE,
    CHAR,
    DOUBLE,
    DTYPES,
    FLOAT,
    HALF,
    INT,
    LONG,
    SHORT,
    Type,
)
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.typing import dtype_name
from fuzzers.dirigo.host.values import Function, Scope, Value

FLOATING = (FLOAT, DOUBLE)
INTEGRAL = (BYTE, CHAR, SHORT, INT, LONG)
FAMILIES: tuple[tuple[str, tuple[Type, ...]], ...] = (
    ("FLOATING_AND_COMPLEX_TYPES", FLOATING),
    ("FLOATING_TYPES", FLOATING),
    ("INTEGRAL_TYPES", INTEGRAL),
    ("ALL_TYPES_AND_COMPLEX", (*INTEGRAL, *FLOATING)),
    ("ALL_TYPES", (*INTEGRAL, *FLOATING)),
    ("REDUCED_FLOATING_TYPES", (HALF, BFLOAT)),
    ("INDEX_TYPES", (INT, LONG)),
)
"""The macros' own types, the longer name first."""


def dispatched(m: Machine, name: str, given: Node, node: Node) -> Value:
    """Run the lambda of a dispatch macro."""
    if name == "AT_DISPATCH_SWITCH":
        return _switched(m, given, node)
    rest = name.removeprefix("AT_DISPATCH_")
    family = next(((text, types) for text, types in FAMILIES if rest.startswith(text)), None)
    if family is None or len(given.children) < 3:
        m.unknown(f"call of {name}", node)
    types = set(family[1])
    extra = given.children[:-3]
    if rest.endswith("HALF"):
        types.add(HALF)
    types |= {DTYPES[dtype_name(found)] for found in m.values(extra) if isinstance(found, torch.dtype)}
    chosen = _type(m, given.children[-3], node)
    if chosen not in types:
        raise HostError(f"{given.children[-2].text} not implemented for {chosen.name}")
    alias = "index_t" if "INDEX" in rest else "scalar_t"
    return _with_type(m, given.children[-1], alias, chosen, node)


def _type(m: Machine, node: Node, whole: Node) -> Type:
    value = m.value(node)
    if not isinstance(value, torch.dtype):
        m.unknown(f"dispatch on {node.text}", whole)
    return DTYPES.get(dtype_name(value), BOOL)


def _with_type(m: Machine, lambda_node: Node, alias: str, type_: Type, node: Node) -> Value:
    inner = Scope(m.scope)
    inner.types[alias] = type_
    with m.inside(inner):
        function = m.value(lambda_node)
        if not isinstance(function, Function):
            m.unknown(f"dispatch to {lambda_node.text[:40]}", node)
        return m.call(function, (), ())


def _switched(m: Machine, given: Node, node: Node) -> Value:
    """AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE...(type, lambda) ...)."""
    chosen = _type(m, given.children[0], node)
    for call in (found for part in given.children[2:] for found in part.walk()):
        called, arguments = call.get("function"), call.get("arguments")
        if call.kind != "call_expression" or called is None or arguments is None:
            continue
        if called.text == "AT_DISPATCH_CASE" and _type(m, arguments.children[0], node) == chosen:
            return _with_type(m, arguments.children[-1], "scalar_t", chosen, node)
        rest = called.text.removeprefix("AT_DISPATCH_CASE_")
        family = next((types for text, types in FAMILIES if rest.startswith(text)), ())
        if chosen in family:
            return _with_type(m, arguments.children[-1], "scalar_t", chosen, node)
    raise HostError(f"{given.children[1].text} not implemented for {chosen.name}")
