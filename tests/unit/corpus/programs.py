"""What a program of the corpus is."""

from __future__ import annotations

from dataclasses import dataclass

COMPILED = """import torch


@torch.compile(fullgraph=True)
def $f($x):
    return {body}


$f(torch.ones($a, $b, dtype=torch.$dtype))
"""


@dataclass(frozen=True)
class Program:
    """One program and the root cause or call site of its failure: what a maintainer would call one bug or
    one refusal. The text has `$f`, `$x`, `$y` for names, `$a`, `$b`, `$c` for sizes (all different), `$dtype`
    and `$word`."""

    kind: str
    text: str


def one(kind: str, body: str) -> Program:
    """A program whose compiled function of one tensor `$x` ($a by $b) returns `body`."""
    return Program(kind, COMPILED.format(body=body))
