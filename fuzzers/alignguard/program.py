"""A program as it is executed: a text in the normal form, and how it is compiled.

Invariant: a program is plain data and survives JSON. What both sides run is the same callable over the same
flat arguments; for a program with Python state it is a *sequence*: put the state back, call, change the
state, call again. So whatever compares two callables compares second calls too, without knowing of them.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from fuzzers.alignguard.form import AGAIN, INPUTS, SETUP, F, digest
from fuzzers.records import Json


@dataclass(frozen=True)
class Mode:
    """How a program is compiled: the arguments of `torch.compile` that are not the defaults."""

    dynamic: bool | None = None
    fullgraph: bool = False
    options: Json = field(default_factory=dict)

    def arguments(self) -> Json:
        """As keyword arguments."""
        given: Json = {}
        if self.dynamic is not None:
            given["dynamic"] = self.dynamic
        if self.fullgraph:
            given["fullgraph"] = True
        if self.options:
            given["options"] = dict(self.options)
        return given

    @property
    def spelled(self) -> str:
        """As the arguments of a call, after a comma; empty for the defaults."""
        return "".join(f", {key}={value!r}" for key, value in self.arguments().items())


@dataclass(frozen=True)
class Program:
    """A text and its mode. `origin` says where it came from."""

    source: str
    mode: Mode = Mode()
    origin: str = ""

    @property
    def digest(self) -> str:
        """The same for programs that differ in nothing that matters."""
        return digest(f"{self.source}\nMODE = {self.mode.arguments()!r}\n")

    def to_json(self) -> Json:
        """The JSON form."""
        return {"source": self.source, "mode": self.mode.arguments(), "origin": self.origin}


def from_json(data: Json) -> Program:
    """The program from its JSON form; TypeError on an unknown mode."""
    return Program(str(data["source"]), Mode(**data.get("mode", {})), str(data.get("origin", "")))


@dataclass(frozen=True)
class Loaded:
    """The functions of a text, executed into a namespace of its own."""

    f: Callable[..., Any]
    inputs: Callable[[], tuple[Any, ...]]
    setup: Callable[[], Any] | None
    again: Callable[[], tuple[Any, ...]] | None

    @property
    def is_plain(self) -> bool:
        """Whether it is one call of a function without state."""
        return self.setup is None and self.again is None

    def arguments(self) -> tuple[Any, ...]:
        """The arguments of all calls, one after another."""
        self.begin()
        given = tuple(self.inputs())
        if self.again is not None:
            given += tuple(self.again())
        self.begin()
        return given

    def begin(self) -> None:
        """Put Python state where the first call finds it."""
        if self.setup is not None:
            self.setup()

    def sequence(self, g: Callable[..., Any], first: int) -> Callable[..., Any]:
        """All calls of `g`, which is f or what a compiler made of it, as one function of all arguments, of
        which the first call takes `first`."""
        if self.is_plain:
            return g

        def calls(*arguments: Any) -> Any:
            self.begin()
            result = g(*arguments[:first])
            if self.again is None:
                return result
            # Only what it does to Python state counts here: its tensors are among the arguments already.
            self.again()
            return result, g(*arguments[first:])

        return calls


def load(source: str, name: str = "program") -> Loaded:
    """Execute a text. Whatever it raises passes through. Each load has code objects of its own, since
    dynamo's caches hang on those; its lines are known to tracebacks and to whoever asks for source."""
    filename = f"<{name} {digest(source)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, filename, "exec"), namespace)
    return Loaded(namespace[F], namespace[INPUTS], namespace.get(SETUP), namespace.get(AGAIN))


@dataclass(frozen=True)
class Subject:
    """What the oracle is given."""

    fn: Callable[..., Any]
    arguments: tuple[Any, ...]
    first: int
    loaded: Loaded
    mode: Mode

    def compiler(self, function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        """`torch.compile` of f inside of the sequence."""
        return self.loaded.sequence(torch.compile(self.loaded.f, **options), self.first)


def subject(program: Program) -> Subject:
    """A program, ready to be examined. Whatever its text raises passes through."""
    loaded = load(program.source)
    arguments = loaded.arguments()
    first = loaded.f.__code__.co_argcount
    return Subject(loaded.sequence(loaded.f, first), arguments, first, loaded, program.mode)
