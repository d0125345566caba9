"""The members of the two enums of a cell, by their own names, for tables that read in one line an entry."""

from __future__ import annotations

from fuzzers.flowmut.mutations.declaration import Object, Primitive

TENSOR, OPERATOR, INTERFACE, SUBGRAPH = Object
UPDATE, INSERT, DELETE, REWIRE = Primitive
