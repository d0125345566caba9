"""The language model that the settings name: whether they make sense together, and as the engine takes it.

Invariant: what is wrong with the settings is one line that names the setting and never holds the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzers.alignguard.llm.endpoint import (
    Allowance,
    Endpoint,
    Secret,
    flaw_of_address,
    flaw_of_key,
)

if TYPE_CHECKING:
    from bot.settings import Settings


def flaw(settings: Settings) -> str:
    """What is wrong with the settings of the model; empty when nothing is, or there is none."""
    if not settings.llm_url:
        return "llm_model is set and llm_url is not: where is the model?" if settings.llm_model else ""
    if why := flaw_of_address(settings.llm_url):
        return f"llm_url: {why}"
    if not settings.llm_model.strip():
        return "llm_url is set and llm_model is not: which model is meant?"
    if why := flaw_of_key(settings.llm_key.get_secret_value()):
        return f"NIGHTFUZZ_LLM_KEY: {why}"
    if settings.llm_money is not None and not (settings.llm_price_in or settings.llm_price_out):
        return "llm_money is set, and neither llm_price_in nor llm_price_out: what does a token cost?"
    return ""


def endpoint(settings: Settings) -> Endpoint | None:
    """The model's endpoint; None when none is set."""
    if not settings.llm_url:
        return None
    return Endpoint(
        url=settings.llm_url,
        model=settings.llm_model.strip(),
        key=Secret(settings.llm_key.get_secret_value()),
        allowance=Allowance(
            calls=settings.llm_calls,
            tokens=settings.llm_tokens,
            money=settings.llm_money,
            price_in=settings.llm_price_in,
            price_out=settings.llm_price_out,
            seconds=settings.llm_seconds,
        ),
    )
