"""Every mutation, with the predicates under which it may be tried.

Invariant: names are unique, and these are all the mutations there are. Weights are shares of random choice:
what prior findings came from (small integers, views with writes, layouts, sizes) is drawn more often.
"""

from __future__ import annotations

from fuzzers.flowmut.mutations import memory, subgraphs, tensors
from fuzzers.flowmut.mutations.declaration import Mutation

MUTATIONS: tuple[Mutation, ...] = (*tensors.MUTATIONS, *memory.MUTATIONS, *subgraphs.MUTATIONS)
