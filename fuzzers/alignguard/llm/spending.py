"""What has been spent of an allowance.

Invariant: a request begins only when its worst case still fits, so a bound is never passed by more than
what a server charges beyond what it was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from fuzzers.alignguard.llm.endpoint import Allowance
from fuzzers.records import Json

CHARACTERS_A_TOKEN = 3
"""Of code and English, on the safe side: tokenizers take about four."""

MILLION = 1_000_000


def estimated(text: str) -> int:
    """Tokens that a text has at most, more or less."""
    return len(text) // CHARACTERS_A_TOKEN + 1


@dataclass
class Spending:
    """Counts of one run. `calls` are requests that were sent, those without an answer too."""

    allowance: Allowance
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0

    @property
    def money(self) -> float:
        """At the allowance's prices."""
        return self._cost(self.tokens_in, self.tokens_out)

    def exceeded_by(self, tokens_in: int, tokens_out: int) -> str:
        """Which bound a request of this size might pass; empty when none."""
        allowed = self.allowance
        if self.calls >= allowed.calls:
            return f"its {allowed.calls} calls are used up"
        if self.tokens_in + self.tokens_out + tokens_in + tokens_out > allowed.tokens:
            return f"its {allowed.tokens} tokens are used up"
        if allowed.money is not None and self.money + self._cost(tokens_in, tokens_out) > allowed.money:
            return f"its money, {allowed.money:g}, is used up"
        return ""

    def _cost(self, tokens_in: int, tokens_out: int) -> float:
        allowed = self.allowance
        return (tokens_in * allowed.price_in + tokens_out * allowed.price_out) / MILLION

    def document(self) -> Json:
        """For people and records."""
        return {
            "calls": self.calls,
            "cached": self.cached,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "money": round(self.money, 6),
        }
