"""The gate: what a text that a model wrote must pass before anything of it runs.

Invariant: an allow-list. A kind of syntax, a module, a name of a module, a builtin, an attribute that is in
no table is refused, so that what nobody thought of is refused too; the tables hold nothing that reads or
writes files, starts processes, opens connections, evaluates text, or reaches an attribute by a computed
name. Nothing is run to find out. The reason: a model's text is a stranger's code, and the seed that it was
shown may be a stranger's too. What passes still runs within the worker's limits, since no reading can tell
how long it takes.
"""

from __future__ import annotations

from fuzzers.alignguard.gate.rules import Refusal, refusals

__all__ = ["Refusal", "refusals"]
