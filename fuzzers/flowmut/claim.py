"""What a reproducer says of a program: where, in which aspect and beyond which tolerance two sides differ.

Invariant: a claim is plain data and survives JSON, because it travels inside a suspect's opaque program.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """What a script asserts not to be. `where` is `output`, `input` or `grad`, `index` counts among
    those; `rtol` None compares exactly. `pair` names the two tensors of an aliasing claim, such as
    `("output 0", "input 1")`. `none` marks a gradient that is None on one side; `level` is the compiler's,
    where there are several."""

    kind: str
    aspect: str
    index: int = 0
    where: str = "output"
    rtol: float | None = None
    atol: float | None = None
    equal_nan: bool = True
    pair: tuple[str, str] = ("output 0", "input 0")
    none: bool = False
    level: str = ""

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {**asdict(self), "kind": str(self.kind), "aspect": str(self.aspect), "pair": list(self.pair)}


def claim_from_json(data: dict[str, Any]) -> Claim:
    """The claim from its JSON form; TypeError on an unknown key."""
    return Claim(**{**data, "pair": tuple(data.get("pair", ("output 0", "input 0")))})
