"""Which changed file goes to which engine."""

from __future__ import annotations

import pytest

from bot.errors import UserMistake
from bot.pulls.routes import ROUTES, Route, is_model, routed
from bot.settings import load
from bot.trackers.pulls import ChangedFile

MODEL = "def model(): ...\ndef inputs(): ...\n"
KERNELBENCH = "class Model: ...\ndef get_inputs(): ...\n"
TEXTS = {
    "models/vision.py": MODEL,
    "level1/12_gemm.py": KERNELBENCH,
    "setup.py": "import sys\n",
    "broken.py": "def model(:\n",
    "tests/test_vision.py": MODEL,
    "kernels/softmax.cu": "__global__ void f() {}\n",
    "README.md": "# x\n",
}


def routes_of(*names: str, **given: object) -> dict[str, str]:
    """Path -> engine, for changed files of these names."""
    asked = {"engines": (), "paths": (), "routes": ROUTES, **given}
    files = [ChangedFile(name, "modified", (1,)) for name in names]
    found, _ = routed(files, text=TEXTS.get, **asked)  # type: ignore[arg-type]
    return {one.file.path: one.engine for one in found}


def left_of(*names: str, **given: object) -> list[str]:
    """Why files of these names are not looked at."""
    asked = {"engines": (), "paths": (), "routes": ROUTES, **given}
    files = [ChangedFile(name, "modified", (1,)) for name in names]
    return routed(files, text=TEXTS.get, **asked)[1]  # type: ignore[arg-type]


def test_model_files_of_both_forms_go_to_flowmut() -> None:
    assert routes_of(*TEXTS) == {"models/vision.py": "flowmut", "level1/12_gemm.py": "flowmut"}


@pytest.mark.parametrize(
    ("name", "engine"), [("kernels/softmax.cu", "dirigo"), ("tests/test_vision.py", "alignguard")]
)
def test_a_file_for_an_engine_that_is_not_there_is_left_with_the_reason(name: str, engine: str) -> None:
    left = left_of(name, routes=(Route("*", "not-yet"),))
    assert left == [f"{name} is for not-yet, which is not in this version"]
    assert next(r.engine for r in ROUTES if r.engine == engine)


def test_only_the_paths_that_were_named_are_looked_at() -> None:
    assert routes_of(*TEXTS, paths=("models/vision.py",)) == {"models/vision.py": "flowmut"}


def test_a_named_file_that_is_no_model_is_left_with_the_reason() -> None:
    (said,) = left_of("setup.py", paths=("setup.py",))
    assert "neither `model` and `inputs` nor" in said
    assert left_of("setup.py") == []


def test_only_the_engines_that_were_named_look() -> None:
    assert routes_of(*TEXTS, engines=("flowmut",)) == routes_of(*TEXTS)
    assert routes_of("models/vision.py", engines=("dirigo",)) == {}


def test_the_first_pattern_that_fits_decides() -> None:
    mine = (Route("models/*", "flowmut"), Route("*.py", "alignguard"))
    assert routes_of("models/vision.py", routes=mine) == {"models/vision.py": "flowmut"}


@pytest.mark.parametrize("text", ["", "x = 1", "def model(): ...", "def inputs(): ...", "\0", "(" * 5000])
def test_what_defines_no_model_is_none(text: str) -> None:
    assert not is_model(text)


def test_the_table_is_a_setting(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("nightfuzz.toml", "w") as file:  # noqa: PTH123
        file.write('routes = [{pattern = "nets/*", engine = "flowmut"}]\n')
    assert load({}).routes == (Route("nets/*", "flowmut"),)
    with open("nightfuzz.toml", "w") as file:  # noqa: PTH123
        file.write('routes = [{patern = "nets/*", engine = "flowmut"}]\n')
    with pytest.raises(UserMistake, match="routes"):
        load({})
