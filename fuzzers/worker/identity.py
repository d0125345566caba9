"""Which framework build this interpreter has. `python -m fuzzers.worker.identity` prints it as JSON.

Invariant: standard output carries the one JSON line and nothing else, whatever an import prints.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from pathlib import Path

from fuzzers import framework
from fuzzers.records import Build, encode


def installed() -> Build:
    """This interpreter's build of the worker's framework. ImportError when it has none that can be
    imported."""
    return _OF[framework.name()]()


def _torch() -> Build:
    import torch

    cuda = torch.version.cuda
    return Build(
        framework="torch",
        version=torch.__version__,
        variant="cu" + cuda.replace(".", "") if cuda else "cpu",
        git_sha=torch.version.git_version or "",
        interpreter=sys.executable,
        python=platform.python_version(),
    )


def _mindspore() -> Build:
    import mindspore

    # The wheel says what it was made of in a file of its own: `[sha1]:abc...,[branch]:...`.
    file = Path(mindspore.__file__).parent / ".commit_id"
    said = re.search(r"sha1\W*([0-9a-f]{7,40})", file.read_text()) if file.is_file() else None
    return Build(
        framework="mindspore",
        version=mindspore.__version__,
        variant="cpu",
        git_sha=said.group(1) if said else "",
        interpreter=sys.executable,
        python=platform.python_version(),
    )


_OF = {"torch": _torch, "mindspore": _mindspore}


if __name__ == "__main__":
    answer = os.dup(1)
    os.dup2(2, 1)
    os.write(answer, json.dumps(encode(installed())).encode() + b"\n")
