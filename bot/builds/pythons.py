"""What an interpreter takes: its version, its platform, the tags of its wheels, its markers.

Invariant: asked of the interpreter itself, never guessed from the one that runs nightfuzz.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import packaging

from bot.errors import UserMistake

_SECONDS = 60.0

_ASKED = """
import json, platform, sys, sysconfig
sys.path.append(sys.argv[1])
from packaging import markers, tags
print(json.dumps({
    "version": platform.python_version(),
    "platform": sysconfig.get_platform(),
    "tags": [str(tag) for tag in tags.sys_tags()],
    "markers": markers.default_environment(),
}))
"""


@dataclass(frozen=True)
class Python:
    """An interpreter that environments are made with. `tags` maps a wheel tag to its rank, 0 the best."""

    path: str
    version: str
    platform: str
    tags: dict[str, int]
    markers: dict[str, str]


@cache
def examine(path: str) -> Python:
    """What the interpreter at `path` says of itself. UserMistake when it says nothing."""
    ours = str(Path(packaging.__file__).parents[1])
    try:
        told = subprocess.run(
            [path, "-I", "-c", _ASKED, ours],
            capture_output=True, text=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        plain = json.loads(told.stdout)
    except OSError as error:
        raise UserMistake(f"{path} cannot be run: {error.strerror}") from error
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise UserMistake(f"{path} is no Python that environments can be made with") from error
    ranks = {tag: rank for rank, tag in enumerate(dict.fromkeys(plain["tags"]))}
    return Python(path, plain["version"], plain["platform"], ranks, plain["markers"])
