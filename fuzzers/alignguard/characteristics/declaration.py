"""What a characteristic is: a property of programs that compilers have got wrong without a word.

Invariant: everything that is known of one stands in its declaration: what it is, why it is hard, how to see
that a program has it, how to give it to a program, and how to ask a language model for it. Nothing else in
the engine knows any of them by name.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from fuzzers.alignguard.reading.reader import Reading
from fuzzers.alignguard.variants import Rule

Detector = Callable[[Reading], bool]


class Stage(StrEnum):
    """Where in the compiler it goes wrong."""

    DYNAMO = "Dynamo, guards"
    AOT = "AOT, functionalization"
    DECOMPOSITIONS = "decompositions, patterns"
    LOWERING = "lowering, scheduling"
    CODEGEN = "codegen"


@dataclass(frozen=True)
class Characteristic:
    """One characteristic. `what` and `why` are one or two sentences each, `example` a few lines of f. The
    rule gives it to a program, or None where it finds no place; it must be a pure function of the program
    and the `random.Random` that it is handed."""

    name: str
    stage: Stage
    what: str
    why: str
    example: str
    detect: Detector
    rule: Rule

    @property
    def prompt(self) -> str:
        """The paragraph that tells a language model what to make."""
        code = textwrap.indent(textwrap.dedent(self.example).strip(), "    ")
        return (
            f"{self.name[0].upper()}{self.name[1:]} ({self.stage}). {self.what} {self.why} For "
            f"example:\n\n{code}"
        )
