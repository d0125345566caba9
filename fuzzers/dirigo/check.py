"""One pair of files checked: what `nightfuzz check` and the benchmark ask a worker for.

Invariant: whatever the files hold, the answer is a report; its reason says at which stage it ended.
"""

from __future__ import annotations

import resource
import time
from dataclasses import replace
from pathlib import Path

from fuzzers.dirigo import host, reference
from fuzzers.dirigo.examine import Limits, examine
from fuzzers.dirigo.hosted import Hosted
from fuzzers.dirigo.replay import Reference
from fuzzers.dirigo.simt.events import Stopped
from fuzzers.dirigo.verdict import Report, unknown


def check(kernel: str, model: str, limits: Limits) -> Report:
    """The report of the kernel in one file against the reference in another."""
    began = time.monotonic()
    found = _checked(kernel, model, limits)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return replace(found, seconds=time.monotonic() - began, peak_mib=peak)


def _checked(kernel: str, model: str, limits: Limits) -> Report:
    pair = host.load(Path(kernel), Path(model))
    if isinstance(pair, Stopped):
        return unknown(pair.reason)
    traced = reference.trace(pair.reference)
    if isinstance(traced, Stopped):
        return unknown(traced.reason)
    made = Reference.made(traced)
    if isinstance(made, Stopped):
        return unknown(made.reason)
    recorded = host.launches(pair, lenient=True)
    if isinstance(recorded, Stopped):
        return unknown(recorded.reason)
    if not recorded.kernel_launches():
        return unknown("no launch: forward reaches no kernel")
    hosted = Hosted.of(recorded, traced)
    if isinstance(hosted, Stopped):
        return unknown(hosted.reason)
    return examine(hosted, traced, made, limits)
