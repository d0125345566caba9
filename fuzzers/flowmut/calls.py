"""What a model calls while it runs, as nodes: recorded at the level at which people write.

Invariant: a call becomes a node only if the operator's declaration, run on what the call was given, gives
what the call gave: same values, dtype, shape and strides. Everything else is kept as a call without a node,
and what comes out of it is an input of whatever uses it. So a recorded program computes what the model
computed, whatever `spelling` guessed. Functions are watched, not the dispatcher, because there a call still
is one operator and has a line in the user's file.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from fuzzers.engine import Call
from fuzzers.flowmut import spelling
from fuzzers.flowmut.edge import DTYPES
from fuzzers.flowmut.operators.table import OPERATORS
from fuzzers.flowmut.program import Node, Program
from fuzzers.flowmut.proposal import MOST_ELEMENTS
from fuzzers.flowmut.record import Observer, apply, dtype_name
from fuzzers.flowmut.runtime import States
from fuzzers.flowmut.window import input_like
from fuzzers.oracle.trees import agree, tensors_in

MOST_CALLS = 2_000
"""Calls that are looked at; what comes after is one long gap."""


class Recorder(TorchFunctionMode):  # type: ignore[misc]
    """While it is on, notes what is called. `lines` is the line of each node in the file at `path`."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.nodes: list[Node] = []
        self.lines: dict[str, int] = {}
        self._path = path
        self._observer = Observer(profiles=True)
        self._names: dict[int, str] = {}
        self._tensors: dict[str, torch.Tensor] = {}

    @property
    def states(self) -> States:
        """The state of every edge, as an input without gradient would have it."""
        return {n: replace(s, requires_grad=False) for n, s in self._observer.states.items()}

    def program(self, origin: str) -> Program:
        """All nodes in their order, fed with what was not made by one of them."""
        made, states = {n.name for n in self.nodes}, self.states
        fed = dict.fromkeys(a for n in self.nodes for a in n.args if a not in made)
        inputs = tuple(input_like(name, states[name]) for name in fed)
        used = {a for n in self.nodes for a in n.args}
        outputs = tuple(n.name for n in self.nodes if n.name not in used)
        return Program(inputs, tuple(self.nodes), outputs, origin=origin)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = _called(func)
        before = [a.clone() if _is_tensor(a) and _writes(name) and k == 0 else a for k, a in enumerate(args)]
        result = func(*args, **kwargs)
        outcome = list(tensors_in(result))
        if (outcome or _writes(name)) and len(self.calls) < MOST_CALLS:
            self._note(name, args, kwargs, before, result, outcome)
        return result

    def _note(
        self, name: str, args: Any, kwargs: Any, before: list[Any], result: Any, outcome: list[torch.Tensor]
    ) -> None:
        line = _line(self._path)
        first = len(self.nodes)
        known = len(outcome) > 0 and self._declared(name, args, kwargs, before, result)
        if not known and _writes(name) and args and _is_tensor(args[0]):
            self._forget(args[0])
        fresh = self.nodes[first:]
        self.lines.update((n.name, line) for n in fresh)
        seen = dict.fromkeys(dtype_name(t) for t in (*tensors_in((args, kwargs)), *outcome))
        names = dict.fromkeys((spelling.canonical(name), *(n.op for n in fresh)))
        self.calls.append(Call(line, tuple(names), tuple(seen)))

    def _declared(self, name: str, args: Any, kwargs: Any, before: list[Any], result: Any) -> bool:
        """Whether the call is nodes, which are there then."""
        if name == "__getitem__":
            return self._indexed(args[0], args[1], result)
        for given, were in (args, before), (_numbers_as_tensors(args), _numbers_as_tensors(before)):
            for guess in spelling.guesses(name, given, kwargs, result, _is_tensor):
                wanted = _meant(guess.op, result)
                swap = {id(g): w for g, w in zip(given, were, strict=True)}
                if wanted is not None and self._is_so(
                    guess, [swap.get(id(a), a) for a in guess.args], wanted
                ):
                    self._add(guess, wanted)
                    return True
        if not isinstance(result, list | tuple):
            return False
        found = [
            (guess, result[place])
            for place, guess in spelling.parts(name, args, result)
            if self._is_so(guess, guess.args, result[place])
        ]
        for guess, part in found:
            self._add(guess, part)
        return len(found) == len(result) > 0

    def _indexed(self, given: torch.Tensor, index: Any, result: torch.Tensor) -> bool:
        steps = spelling.indexing(index, given.dim(), _is_tensor)
        if not steps:
            return False
        here, made = given, list[tuple[spelling.Guess, torch.Tensor]]()
        for op, further, attrs in steps:
            guess = spelling.Guess(op, (here, *further), attrs)
            there = _tried(guess, guess.args)
            if there is None:
                return False
            made.append((guess, there))
            here = there
        last = made[-1][0]
        if not self._is_so(last, last.args, result):
            return False
        for guess, there in [*made[:-1], (last, result)]:
            self._add(guess, there)
        return True

    def _is_so(self, guess: spelling.Guess, args: Sequence[torch.Tensor], wanted: torch.Tensor) -> bool:
        """Whether the declared operator, run, gives what was wanted."""
        if not all(map(_is_small, (*args, wanted))):
            return False
        got = _tried(guess, args)
        return got is not None and _same(got, wanted)

    def _add(self, guess: spelling.Guess, result: torch.Tensor) -> None:
        operator = OPERATORS[guess.op]
        attrs = tuple((k, v) for k, v in guess.attrs if v != operator.attributes[k].default)
        node = Node(f"t{len(self.nodes)}", guess.op, tuple(map(self._name, guess.args)), attrs)
        self.nodes.append(node)
        self._keep(node.name, result)
        if operator.writes is not None:
            self._observer.wrote(node, node.args[operator.writes])

    def _name(self, tensor: torch.Tensor) -> str:
        if id(tensor) not in self._names:
            self._keep(f"x{len(self._tensors)}", tensor)
        return self._names[id(tensor)]

    def _keep(self, name: str, tensor: torch.Tensor) -> None:
        self._names[id(tensor)], self._tensors[name] = name, tensor
        self._observer.note(name, tensor)

    def _forget(self, written: torch.Tensor) -> None:
        """Something wrote a tensor that is no node: what shares its memory is new from here on."""
        storage = written.untyped_storage()._cdata
        for name, tensor in self._tensors.items():
            if tensor.untyped_storage()._cdata == storage and self._names.get(id(tensor)) == name:
                del self._names[id(tensor)]


def _called(func: Any) -> str:
    """The name of what is called; of a property, the property's."""
    name = str(getattr(func, "__name__", func))
    return str(getattr(func.__self__, "__name__", name)) if name == "__get__" else name


def _writes(name: str) -> bool:
    inplace = name.endswith("_") and not name.endswith("__")
    return (
        inplace
        or name == "__setitem__"
        or (name.startswith("__i") and name not in ("__invert__", "__index__"))
    )


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _is_small(tensor: torch.Tensor) -> bool:
    return (
        math.prod(tensor.shape) <= MOST_ELEMENTS
        and tensor.layout is torch.strided
        and dtype_name(tensor) in DTYPES
        and tensor.device.type == "cpu"
    )


def _numbers_as_tensors(args: Sequence[Any]) -> list[Any]:
    """A number beside a tensor, as the tensor without dimensions that means the same."""
    if len(args) != 2:
        return list(args)
    return [torch.tensor(a) if isinstance(a, int | float) else a for a in args]


def _meant(op: str, result: Any) -> torch.Tensor | None:
    """The part of a call's result that the operator is about."""
    part = getattr(result, "values", None) if isinstance(result, tuple) else result
    return part if _is_tensor(part) else None


def _tried(guess: spelling.Guess, args: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """What the declaration gives; None when the framework does not take it."""
    names = [f"a{k}" for k in range(len(args))]
    given = [a.clone() for a in args] if OPERATORS[guess.op].writes is not None else list(args)
    try:
        made = apply(Node("", guess.op, tuple(names), guess.attrs), dict(zip(names, given, strict=True)))
    except Exception:  # noqa: BLE001 - a guess that is wrong fails in whatever way the framework likes
        return None
    return made if _is_tensor(made) else None


def _same(got: torch.Tensor, wanted: torch.Tensor) -> bool:
    return (
        got.dtype == wanted.dtype and got.stride() == wanted.stride() and agree(got.detach(), wanted.detach())
    )


def _line(path: str) -> int:
    """The innermost line of the file that is being run, 0 when there is none."""
    return next((frame.f_lineno for frame in _frames() if frame.f_code.co_filename == path), 0)


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
