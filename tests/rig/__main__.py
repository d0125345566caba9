"""The rig by hand: `python -m tests.rig [--port N]` serves one repository until it is interrupted, and prints
the environment in which the bot talks to it."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import tempfile
from pathlib import Path

from tests.rig.host import host
from tests.rig.node import missing
from tests.rig.service import BOT, emulated


def main() -> int:
    """Serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.rig", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="where to listen; a free one unless it is given")
    parser.add_argument("--out", type=Path, default=Path("out"), help="the bot's folder")
    given = parser.parse_args()
    if why := missing():
        print(why, file=sys.stderr)
        return 3
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        with emulated(where, 1) as url, host(url, f"{BOT}/triage-0", where / "rig", given.port) as one:
            for name, value in one.environment(given.out).items():
                print(f"export {name}={shlex.quote(value)}")
            print(f"# faults: {one.api}/_rig/faults; requests: {one.api}/_rig/log", flush=True)
            try:
                signal.pause()
            except KeyboardInterrupt:
                return 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
