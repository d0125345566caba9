"""What the night's shards test: builds that are not tested yet, by engine, each with a seed of its own.

Invariant: pure. A shard says all that a machine needs to run it; its name is unique in the night and is
that of its artifact; two nights, and two shards of one night, have different seeds.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot import wire
from bot.builds.offer import Offer
from bot.builds.untested import trial_that_tested
from bot.errors import UserMistake
from bot.states import Ledger
from fuzzers.records import Json, encode

MOST_SHARDS = 256
"""Entries of a matrix that Actions takes."""


@dataclass(frozen=True)
class Shard:
    """A slice of the night. `build` is what `nightfuzz run --build` takes, the wheel's hash in it where the
    index tells one; `version` is empty where only the machine knows it (the installed build)."""

    name: str
    framework: str
    variant: str
    build: str
    version: str
    engine: str
    seed: int


def shards(
    offers: Sequence[Offer], ledger: Ledger, engines: Sequence[str], each: int, day: str, python: str
) -> list[Shard]:
    """The shards of these builds (one a framework and variant), `each` times every engine, without those that
    an engine has tested under that Python."""
    found = []
    for offer in offers:
        for engine in engines:
            if offer.version and trial_that_tested(offer, ledger, engine, "", python) is not None:
                continue
            found += [_shard(offer, engine, number, day) for number in range(each)]
    return found[:MOST_SHARDS]


def installed(framework: str) -> Offer:
    """The build that a machine has, whatever it is."""
    return Offer(framework, "", interpreter="installed")


def matrix(found: Sequence[Shard]) -> Json:
    """As `strategy.matrix` takes it."""
    return {"include": [encode(shard) for shard in found]}


def read_matrix(text: str) -> list[Shard]:
    """The shards of a matrix. UserMistake."""
    try:
        plain = json.loads(text)
        return [wire.convert(Shard, one) for one in plain["include"]]
    except (ValueError, KeyError, TypeError, wire.UnreadableError) as error:
        raise UserMistake(f"that is no matrix of `nightfuzz plan`: {error}") from error


def _shard(offer: Offer, engine: str, number: int, day: str) -> Shard:
    build = "installed" if offer.interpreter else offer.url or "release"
    if offer.url and offer.digest:
        build = f"{offer.url}#{offer.digest}"
    label = re.sub(r"[^\w.+-]", "-", f"{offer.framework}-{offer.version or 'installed'}-{engine}-{number}")
    told = f"{day} {label}".encode()
    seed = int.from_bytes(hashlib.sha256(told).digest()[:4]) % 2**31
    name = label.replace("+", "-")
    return Shard(name, offer.framework, offer.variant, build, offer.version, engine, seed)
