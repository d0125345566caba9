"""Decides whether two executions of one program differ in a way that is a bug.

Invariant: the verdict depends only on the callable, its arguments and the build; nothing of an engine,
a campaign or a store is known here. Everything a user can observe is compared, and every difference
passes the same list of gates before it leaves this package: a false report costs more than a missed bug.
"""

from fuzzers.oracle.examine import examine
from fuzzers.oracle.report import Difference, Report
from fuzzers.oracle.thresholds import DEFAULTS, Settings

__all__ = ["DEFAULTS", "Difference", "Report", "Settings", "examine"]
