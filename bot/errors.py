"""The exceptions of the controller, by how far they unwind.

    NightfuzzError
    ├── UserMistake        what was asked for cannot be done; one clear line, exit 2
    └── MachineryFailure   we failed, or what we stand on did; exit 3

Invariant: a target that crashes, hangs or miscompiles is data and never an exception, and both classes
are caught in one place, the command line.
"""


class NightfuzzError(Exception):
    """Anything that the command line turns into a message and an exit code."""

    exit_code = 3


class UserMistake(NightfuzzError):
    """The person asked for something that cannot be. The message says what, and how to put it right."""

    exit_code = 2


class MachineryFailure(NightfuzzError):
    """A part of nightfuzz, or of the machine it runs on, failed. Never counted for or against a build."""
