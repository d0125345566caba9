"""A slice made ready for deciding: halves of wide values rejoined, types of constants found.

Invariant: a tidied slice computes what the slice computes. What reads the bits of a float as an integer is
found here, and is `Undecidable` unless a rule says what it means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fuzzers.dirigo.simt.tape import Op, Slice


class Undecidable(Exception):
    """No rule says what this slice computes over the reals."""


FLOAT_TYPES = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2"})
PIECES = frozenset({Op.PACK, Op.LOW, Op.HIGH})
WHOLE = frozenset({Op.TRUNC, Op.FLOOR, Op.CEIL, Op.NEAREST})
SAME = frozenset({Op.CONVERT, *WHOLE})


@dataclass(frozen=True)
class Tidy:
    """A slice without halves and race marks. `wanted[i]` is the type as which node i is read."""

    slice: Slice
    wanted: tuple[str, ...]


def tidied(found: Slice, type_: str = "f32") -> Tidy:
    """Rewire a slice whose root is read as `type_`. Raises Undecidable."""
    whole = _without_pieces(found)
    return Tidy(whole, tuple(_wanted(whole, type_)))


def _without_pieces(found: Slice) -> Slice:
    """Without the halves of values that are put together again, and what stands only for an event."""
    place = list(range(len(found)))
    for at, (op, args) in enumerate(zip(found.ops, found.args, strict=True)):
        if op is Op.RACED:
            place[at] = place[args[0]]
        elif op in (Op.LOW, Op.HIGH):
            inner = place[args[0]]
            if found.ops[inner] is Op.PACK:
                place[at] = place[found.args[inner][0 if op is Op.LOW else 1]]
        elif op is Op.PACK:
            low, high = (place[arg] for arg in args)
            if found.ops[low] is Op.LOW and found.ops[high] is Op.HIGH:
                one, other = place[found.args[low][0]], place[found.args[high][0]]
                if one == other:
                    place[at] = one
    return _kept(found, place)


def _kept(found: Slice, place: list[int]) -> Slice:
    """The nodes that the root still needs, numbered anew."""
    needed = [False] * len(found)
    needed[place[-1]] = True
    for at in range(len(found) - 1, -1, -1):
        if needed[at]:
            for arg in found.args[at]:
                needed[place[arg]] = True
    order = [at for at, wanted in enumerate(needed) if wanted]
    if order[-1] == len(found) - 1 == place[-1] and len(order) == len(found):
        return found
    fresh = {at: number for number, at in enumerate(order)}
    args = tuple(tuple(fresh[place[arg]] for arg in found.args[at]) for at in order)
    return replace(
        found,
        ops=tuple(found.ops[at] for at in order),
        types=tuple(found.types[at] for at in order),
        details=tuple(found.details[at] for at in order),
        lines=tuple(found.lines[at] for at in order),
        args=args,
        bits=tuple(found.bits[at] for at in order),
        leaf=tuple(found.leaf[at] for at in order),
    )


def _wanted(found: Slice, root: str) -> list[str]:
    """As what type each node is read: by the first of its users that says so."""
    wanted = [""] * len(found)
    wanted[-1] = root
    for at in range(len(found) - 1, -1, -1):
        args = found.args[at]
        for place, type_ in enumerate(_reads(found, at, wanted[at])):
            node = args[place]
            if not wanted[node] or (wanted[node][0] == "b" and type_[:1] != "b"):
                wanted[node] = type_
    return wanted


def _reads(found: Slice, at: int, own: str) -> list[str]:
    """The types as which a node reads its operands."""
    op, type_, detail, args = found.ops[at], found.types[at], found.details[at], found.args[at]
    if op in SAME and detail:
        return [detail.rpartition(".")[2]]
    if op is Op.COMPARE:
        return [detail.rpartition(".")[2] if "." in detail else found.types[args[0]]] * len(args)
    if op is Op.SELECT:
        held = own if type_[:1] == "b" and type_ != "bf16" and own else type_
        return ["pred", held, held]
    if op is Op.INTEGER:
        return ["pred" if detail.endswith("pred") or detail.startswith("setp") else type_] * len(args)
    return [type_] * len(args)
