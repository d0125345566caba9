"""Entry point of a worker: `python -P -s -m fuzzers.worker [--cold]`.

Invariant: the pipes to the controller are moved away from descriptors 0 and 1 before anything is
imported, so no print of a framework, a compiler or a candidate can reach the protocol.

`--cold` serves without importing the framework or changing any setting: a child is then as good as a
fresh process, which is what confirming a finding needs.
"""

from __future__ import annotations

import os
import sys


def main(arguments: list[str]) -> int:
    """Serve until the controller goes."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    from fuzzers.worker.server import Server

    if "--cold" in arguments:
        Server(source, sink, build=None, folders=False).serve()
        return 0
    from fuzzers.worker.identity import installed
    from fuzzers.worker.warmup import warm_up

    build = installed()
    warm_up()
    Server(source, sink, build).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
