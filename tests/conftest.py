"""What holds for all tests: property tests have no deadline, because the machine may be busy with others; and
the GitHub that some run against."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["tests.rig.pytest_rig"]

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
