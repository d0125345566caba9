"""A model that says what a test tells it, over a real connection, and programs for it to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzzers.alignguard.characteristics.table import CHARACTERISTICS
from fuzzers.alignguard.llm.cache import Cache
from fuzzers.alignguard.llm.client import Client
from fuzzers.alignguard.llm.endpoint import Allowance, Endpoint, Secret
from fuzzers.alignguard.llm.orders import Order, Seed
from tests.unit.answering import Says

KEY = "sk-test-0123456789abcdefghijklmnop"

SEED = """\
import torch


def f(x):
    return torch.cumsum(x, 0)


def inputs():
    torch.manual_seed(0)
    x = torch.randint(0, 9, (6, 4), dtype=torch.int32)
    return (x,)
"""

GOOD = """\
import torch


def f(x):
    row = x.t()[1]
    row.add_(2)
    return torch.cumsum(x, 0), row


def inputs():
    torch.manual_seed(0)
    x = torch.randint(0, 9, (6, 4), dtype=torch.int32)
    return (x,)
"""

HOSTILE = GOOD.replace("    row.add_(2)\n", "    row.add_(2)\n    open('canary', 'w').write('x')\n")

ORDER = Order(Seed("a seed", SEED), CHARACTERISTICS[:1], 3)
MESSAGES = [{"role": "user", "content": "Write a program."}]


def fenced(source: str) -> str:
    return f"Here it is:\n\n```python\n{source}```\nI hope that this helps!"


def completion(text: Any, tokens: tuple[int, int] | None = (100, 50)) -> Says:
    """A good answer of an endpoint."""
    plain: dict[str, Any] = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    if tokens:
        plain["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return Says(200, plain)


def client(url: str, folder: Path | None = None, key: str = KEY, **allowed: Any) -> Client:
    """A client in a hurry."""
    allowance = Allowance(**{"seconds": 5.0, **allowed})
    return Client(
        Endpoint(f"{url}/v1", "a-model", Secret(key), allowance), Cache(folder), backoff=0.01, rest=0.01
    )
