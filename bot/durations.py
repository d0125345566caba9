"""Durations as people write them: `90s`, `10m`, `1h`, `1h30m`, `45` (seconds)."""

from __future__ import annotations

import re

UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0}

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([hms]?)\s*")


def seconds(value: str | int | float) -> float:
    """The positive number of seconds that `value` says; raises `ValueError`."""
    written = str(value).strip().lower()
    parts = _PART.findall(written)
    total = sum(float(number) * UNITS[unit] for number, unit in parts)
    if not _PART.sub("", written) and total > 0:
        return total
    raise ValueError("not a duration; write it like 90s, 10m or 1h")


def short(duration: float) -> str:
    """`75` as `1m15s`: whole seconds, no empty parts."""
    whole = max(0, round(duration))
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    parts = [(hours, "h"), (minutes, "m"), (secs, "s")]
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"
