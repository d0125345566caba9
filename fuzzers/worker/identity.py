"""Which framework build this interpreter has. `python -m fuzzers.worker.identity` prints it as JSON.

Invariant: standard output carries the one JSON line and nothing else, whatever an import prints.
"""

from __future__ import annotations

import json
import os
import platform
import sys

from fuzzers.records import Build, encode


def installed() -> Build:
    """The torch build of this interpreter. ImportError when it has none that can be imported."""
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


if __name__ == "__main__":
    answer = os.dup(1)
    os.dup2(2, 1)
    os.write(answer, json.dumps(encode(installed())).encode() + b"\n")
