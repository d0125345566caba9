"""The guide of a campaign, with a language model beside AlignGuard's when the settings name one.

Invariant: a model that fails, or a program of it that the gate refuses, costs programs and one line each,
never the campaign or its exit code. The key goes from the settings to the endpoint and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.endpoints import endpoint
from bot.proposing import read_proposals
from bot.settings import Settings
from fuzzers import guides
from fuzzers.alignguard.guide import AlignGuardGuide
from fuzzers.alignguard.llm.assisted import Assisted
from fuzzers.alignguard.llm.cache import Cache
from fuzzers.alignguard.llm.client import Client
from fuzzers.alignguard.llm.supply import Supply
from fuzzers.alignguard.llm.writer import Writer
from fuzzers.engine import Guide


def check(settings: Settings) -> None:
    """UserMistake when the file of proposals is none: better before a build is installed than after."""
    if settings.proposals is not None:
        read_proposals(settings.proposals)


@contextmanager
def guide(engine: str, settings: Settings, say: Callable[[str], None]) -> Iterator[Guide | None]:
    """The guide of an engine; None when it has none. While the context lasts, the model may be asked.
    UserMistake when the file of proposals is none."""
    made = guides.load(engine, settings.seed)
    where = endpoint(settings)
    if not isinstance(made, AlignGuardGuide) or (where is None and settings.proposals is None):
        yield made
        return
    offered = read_proposals(settings.proposals, say) if settings.proposals is not None else ()
    supply = None
    if where is not None:
        writer = Writer(Client(where, Cache(settings.cache / "llm")))
        supply = Supply(writer, settings.seed, say)
    try:
        yield Assisted.of(made, offered, supply)
    finally:
        if supply is not None:
            supply.close()
            counts = ", ".join(f"{name} {count}" for name, count in supply.writer.document().items())
            say(f"the model {where.model if where else ''}: {counts}")
