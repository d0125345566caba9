"""What an operator is: one declaration that mutation, legality, running and emission all read.

Invariant: a declaration is data. Its `torch` template is both what a reproducer shows and what is
executed, so the two cannot differ; its requirements are all that a caller must check before running it
(what they let through and the framework rejects is a mistake of theirs, and counted); whatever it draws
comes from the `random.Random` it is handed.

Template language: `{0}`, `{1}` are arguments, `{args}` all of them joined by commas, `{name}` an
attribute, `{rest}` every attribute that the template does not mention and that is not at its default,
as keywords. An argument that is itself an operation is put in parentheses unless it stands alone
between brackets or commas.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeAlias

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.program import Attr, Input, Node

States: TypeAlias = Sequence[EdgeState]
Attrs: TypeAlias = Mapping[str, Attr]


class _Required:
    """The type of REQUIRED, so that None can be a default."""


REQUIRED: Final = _Required()


@dataclass(frozen=True)
class AttrDomain:
    """What one attribute may hold.

    `draw` picks a value that suits the first argument's state (it may only look at that one); it returns
    None where the domain is empty and `default` is REQUIRED. `plain` lists the values a reader
    finds simplest, best first, for shrinking. `source` writes a value where a literal would not do.
    """

    draw: Callable[[Random, EdgeState], Attr]
    default: Attr | _Required = REQUIRED
    plain: tuple[Attr, ...] = ()
    source: Callable[[Attr], str] | None = None


@dataclass(frozen=True)
class Requirement:
    """A named predicate over the argument states and the attributes. `soft` ones mark ordinary values:
    an operator outside them is legal, but its results are extreme or not finite."""

    name: str
    holds: Callable[[States, Attrs], bool]
    soft: bool = False


Partners: TypeAlias = Callable[[Random, EdgeState, Attrs], tuple[Input, ...]]
"""Given the first argument and the attributes, fresh inputs for the other arguments (their names are
placeholders). Total: where the first argument does not suit, the requirements refuse what comes."""


@dataclass(frozen=True)
class Operator:
    """One operator. `arity` counts tensor arguments; a `variadic` one takes `arity` or more.

    `writes`: the argument that it writes in place. `views`: the result always shares argument 0's
    storage; `may_view`: its contract leaves that open. `index_result`: the result holds positions, to be
    compared by what they select. `decides`: the result is discontinuous in floating arguments.
    """

    name: str
    family: str
    torch: str
    arity: int = 1
    variadic: bool = False
    attributes: Mapping[str, AttrDomain] = field(default_factory=dict)
    requirements: tuple[Requirement, ...] = ()
    partners: Partners | None = None
    writes: int | None = None
    views: bool = False
    may_view: bool = False
    index_result: bool = False
    decides: bool = False

    def values(self, node: Node) -> dict[str, Attr]:
        """Every attribute of a node of this operator, defaults filled in. KeyError on a missing one that
        has no default, ValueError on one that the operator does not have."""
        given = dict(node.attrs)
        if unknown := set(given) - set(self.attributes):
            raise ValueError(f"{self.name} has no attribute {sorted(unknown)[0]!r}")
        return {name: given[name] if name in given else _default(self, name) for name in self.attributes}

    def draw_attrs(self, rng: Random, first: EdgeState) -> tuple[tuple[str, Attr], ...]:
        """Attributes that suit the first argument, those at their default left out."""
        drawn = ((name, domain.draw(rng, first)) for name, domain in self.attributes.items())
        return tuple((name, value) for name, value in drawn if value != self.attributes[name].default)

    def accepts(self, count: int) -> bool:
        """Whether it takes that many arguments."""
        return count >= self.arity if self.variadic else count == self.arity

    def unmet(self, states: States, attrs: Attrs, *, soft: bool = False) -> list[str]:
        """The first requirement that does not hold; where all do and `soft` is set, every soft one that
        does not. A requirement may assume those before it."""
        if not self.accepts(len(states)):
            return ["argument count"]
        for requirement in self.requirements:
            if not requirement.soft and not requirement.holds(states, attrs):
                return [requirement.name]
        return [r.name for r in self.requirements if soft and r.soft and not r.holds(states, attrs)]

    def render(self, args: Sequence[str], attrs: Attrs) -> str:
        """The call as one line of source."""
        mentioned = set(_PLACEHOLDER.findall(self.torch))
        rest = [
            f"{name}={self._written(name, attrs[name])}"
            for name, domain in self.attributes.items()
            if name not in mentioned and attrs[name] != domain.default
        ]

        def place(match: re.Match[str]) -> str:
            key = match.group(1)
            before, after = self.torch[: match.start()].rstrip(), self.torch[match.end() :]
            alone = before[-1:] in ("(", "[", ",") and after[:1] in (")", "]", ",", "{")
            if key.isdigit():
                return args[int(key)] if alone else operand(args[int(key)], before, after)
            if key == "args":
                return ", ".join(args)
            if key == "rest":
                opened = self.torch[match.start() - 1 : match.start()] == "("
                return ("" if opened or not rest else ", ") + ", ".join(rest)
            return self._written(key, attrs[key])

        return _PLACEHOLDER.sub(place, self.torch)

    def _written(self, name: str, value: Attr) -> str:
        domain = self.attributes[name]
        return domain.source(value) if domain.source else literal(value)


_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def _default(operator: Operator, name: str) -> Attr:
    default = operator.attributes[name].default
    if isinstance(default, _Required):
        raise KeyError(f"{operator.name} needs attribute {name!r}")
    return default


def operand(expression: str, before: str, after: str) -> str:
    """The expression as an operand between `before` and `after`, in parentheses where its own operator
    would bind less tightly or would confuse a reader."""
    if expression.isidentifier():
        return expression
    body = ast.parse(expression, mode="eval").body
    sign = isinstance(body, ast.UnaryOp) and not before and after[:1] == " "
    loose = isinstance(body, ast.BinOp | ast.UnaryOp | ast.Compare)
    return f"({expression})" if loose and not sign else expression


def literal(value: Attr) -> str:
    """An attribute's value as source."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"({', '.join(map(str, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
