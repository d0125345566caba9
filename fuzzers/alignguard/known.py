"""What the compiler has been seen to do, small enough to travel with every task.

Invariant: the same events make the same bits, whatever their order; standard library only, since both the
guide in the controller and the engine in the worker hold one.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from zlib import crc32

SEEN_BYTES = 1 << 15
"""Quarter of a million bits: an hour sees some ten thousand events."""


@dataclass
class Seen:
    """Which events have been seen: a bit each, by checksum. Two events may share one; then the second is
    taken for seen, which costs a compile that might have been worth it."""

    bits: bytearray = field(default_factory=lambda: bytearray(SEEN_BYTES))

    def __contains__(self, event: str) -> bool:
        place = crc32(event.encode()) % (8 * len(self.bits))
        return bool(self.bits[place // 8] >> place % 8 & 1)

    def add(self, event: str) -> None:
        """Note one."""
        place = crc32(event.encode()) % (8 * len(self.bits))
        self.bits[place // 8] |= 1 << place % 8

    def new(self, events: Iterable[str]) -> tuple[str, ...]:
        """Those that are not among the seen, each once."""
        return tuple(dict.fromkeys(e for e in events if e not in self))

    def to_json(self) -> str:
        """As text."""
        return b64encode(bytes(self.bits)).decode()

    @classmethod
    def from_json(cls, text: str) -> Seen:
        """What `to_json` gave. ValueError when it is not that."""
        bits = b64decode(text.encode(), validate=True)
        if len(bits) != SEEN_BYTES:
            raise ValueError(f"{len(bits)} bytes of events instead of {SEEN_BYTES}")
        return cls(bytearray(bits))
