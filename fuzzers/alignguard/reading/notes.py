"""The operators that a reading meets, and the memory that their results lie in.

Invariant: two tensors that may share memory have the same storage number, and every name for a memory that is
written is made by what was written into it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from fuzzers.alignguard.reading import indexing, names
from fuzzers.alignguard.reading.call import Call, plain
from fuzzers.alignguard.reading.operators import result
from fuzzers.alignguard.reading.values import Literal, Several, Tensor, Unknown, Value, made


@dataclass(frozen=True)
class Step:
    """An operator met in `place` (`f`, `inputs`, `again`, `setup`, or the name of a helper), the `loops`
    around it, and what is known of what it gives."""

    call: Call
    result: Value
    place: str
    loops: int = 0
    node: ast.AST = field(default_factory=ast.Pass, compare=False)


class Notes:
    """What has been met so far. `place` and `loops` are where the reading is."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.storages = count()
        self.place, self.loops = "", 0

    def write(self, call: Call, node: ast.AST, env: dict[str, Value]) -> None:
        """Something is written in place: every name for that memory holds what was made so."""
        self.steps.append(Step(call, call.args[0], self.place, self.loops, node))
        fresh = frozenset({call.name}).union(*(made(v) for v in (*call.args, *call.named.values())))
        for name, value in env.items():
            if isinstance(value, Tensor) and value.storage >= 0 and value.storage == call.first.storage:
                env[name] = replace(value, made=value.made | fresh)

    def apply(self, call: Call, node: ast.AST, env: dict[str, Value]) -> Value:
        """Note an operator and say what it gives."""
        if call.in_place and isinstance(call.args[0] if call.args else None, Tensor):
            self.write(call, node, env)
            seen = call.first
            if call.name in names.RESHAPING:
                seen = replace(seen, shape=None, views=(*seen.views, call.name), plain=False)
            return replace(seen, made=seen.made | {call.name})
        found = self.provenance(call, SPECIAL.get(call.name, result)(call))
        self.steps.append(Step(call, found, self.place, self.loops, node))
        return found

    def provenance(self, call: Call, found: Value) -> Value:
        """Add memory, views and makers to what an operator gives."""
        if isinstance(found, Several):
            return Several(tuple(self.provenance(call, v) for v in found.items))
        if isinstance(found, Literal):
            return found
        makers = frozenset({call.name}).union(*(made(v) for v in (*call.args, *call.named.values())))
        if isinstance(found, Unknown):
            return Unknown(makers)
        grad = any(t.grad for t in call.tensors) and found.dtype not in ("bool", "int64")
        base = call.first
        if call.name == "requires_grad":
            return replace(base, leaf=True, grad=True)
        if _shares(call, found):
            leaf = base.leaf or (base.grad and call.name == "detach")
            return replace(
                found,
                storage=base.storage if base.storage >= 0 else next(self.storages),
                views=(*base.views, call.name),
                made=makers,
                leaf=leaf,
                grad=grad,
                overlaps=base.overlaps or call.name in names.COVERING,
                by=call.name,
            )
        needs = plain(call.named.get("requires_grad", Literal(False))) is not False
        storage = next(self.storages)
        return replace(found, storage=storage, made=makers, grad=grad or needs, leaf=needs, by=call.name)

    def since(self, start: int, value: Value) -> Value:
        """Something opaque, made by all operators that were met since."""
        return Unknown(made(value).union(s.call.name for s in self.steps[start:]))


def _shares(call: Call, found: Tensor) -> bool:
    """Whether what a call gives may lie in the memory of its first argument."""
    if call.name in names.VIEWS or call.name in indexing.VIEWING:
        return True
    other = found.dtype is not None and call.first.dtype is not None and found.dtype != call.first.dtype
    return call.name in names.MAY_VIEW and not other


SPECIAL: dict[str, Callable[[Call], Value]] = {"slice": indexing.sliced, "index": indexing.gathered}
"""Calls that stand for an index."""
