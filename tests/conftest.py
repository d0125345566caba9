"""What holds for all tests: property tests have no deadline, because the machine may be busy with others."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
