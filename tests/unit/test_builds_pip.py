"""pip is found without a trace in this process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bot.builds.pip import _runner

TREE = Path(__file__).parents[2]


def test_pips_runner_is_a_file() -> None:
    assert Path(_runner()).is_file()


def test_looking_for_pip_leaves_setuptools_as_it_was() -> None:
    """An import system that was asked for pip gives setuptools the wrong distutils, and torch imports it."""
    code = "from bot.builds.pip import _runner; _runner(); import setuptools"
    done = subprocess.run([sys.executable, "-c", code], cwd=TREE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
