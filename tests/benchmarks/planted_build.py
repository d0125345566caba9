"""An interpreter whose torch has the planted bugs: a build like any other, for campaigns and replays.

    python -m tests.benchmarks.planted_build FOLDER

makes FOLDER/bin/python, which has the packages of the interpreter that made it.
"""

from __future__ import annotations

import site
import subprocess
import sys
from pathlib import Path

PLANTED = Path(__file__).parent / "planted"


def make(folder: Path) -> Path:
    """The interpreter of a planted build in `folder`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    asked = "import site; print(site.getsitepackages()[0])"
    packages = Path(subprocess.check_output([python, "-c", asked], text=True).strip())
    stock = site.getsitepackages()[0]
    lines = [stock, str(PLANTED), "import planted_bugs; planted_bugs.plant()"]
    (packages / "planted.pth").write_text("\n".join(lines) + "\n")
    return python


if __name__ == "__main__":
    print(make(Path(sys.argv[1])))
