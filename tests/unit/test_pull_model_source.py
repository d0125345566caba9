"""A model file as text: which can be used, and how it goes into one script."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fuzzers.flowmut.model_source import LARGEST, Unusable, read_source

FORM = "def model():\n    return f\n\n\ndef inputs():\n    return ()\n"


def written(folder: Path, **files: str) -> Path:
    """Python files in a folder; the path of `main.py`."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder / "main.py"


def reason(folder: Path, **files: str) -> str:
    """Why the file cannot be used."""
    with pytest.raises(Unusable) as caught:
        read_source(written(folder, **files))
    return str(caught.value)


def test_a_file_of_functions_is_taken_as_it_stands(tmp_path: Path) -> None:
    source = read_source(written(tmp_path, main=f"import torch\n\n# mine\n{FORM}"))
    assert source.text == f"import torch\n\n# mine\n{FORM}"
    assert (source.make, source.inputs) == ("model()", "inputs()")


def test_a_file_of_kernelbench_is_taken_with_what_its_model_is_made_of(tmp_path: Path) -> None:
    plain = "import torch\nclass Model(torch.nn.Module): ...\ndef get_inputs(): return []\n"
    assert read_source(written(tmp_path, main=plain)).make == "Model()"
    given = f"{plain}def get_init_inputs(): return [3]\n"
    source = read_source(written(tmp_path, main=given))
    assert (source.make, source.inputs) == ("Model(*get_init_inputs())", "get_inputs()")


def test_torch_is_imported_where_the_file_does_not(tmp_path: Path) -> None:
    assert read_source(written(tmp_path, main=FORM)).text.startswith("import torch\n")


def test_what_only_runs_by_hand_is_left_out(tmp_path: Path) -> None:
    text = f'import torch\n{FORM}\nif __name__ == "__main__":\n    print(model())\n'
    source = read_source(written(tmp_path, main=text))
    assert "print" not in source.text


def test_files_beside_it_are_put_before_it(tmp_path: Path) -> None:
    main = f"from blocks import scale, shift as moved\nimport torch\n{FORM}"
    blocks = (
        "from __future__ import annotations\nfrom deep import scale\n\ndef shift(x):\n    return scale(x)\n"
    )
    deep = "def scale(x):\n    return x\n"
    source = read_source(written(tmp_path, main=main, blocks=blocks, deep=deep))
    scope: dict[str, object] = {}
    text = source.text.replace("import torch\n", "")
    exec(compile(text, "script", "exec"), scope)
    assert scope["moved"] is scope["shift"]
    assert text.startswith("from __future__ import annotations\n")
    assert {"moved", "shift", "scale", "model"} <= source.names


def test_a_name_that_the_file_binds_is_not_free(tmp_path: Path) -> None:
    source = read_source(written(tmp_path, main=f"net = 1\nfor network in []: ...\n{FORM}"))
    assert source.free("net", "network") == "net2"
    assert source.free("args") == "args"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def model(): ...\n", "neither"),
        ("import requests\n" + FORM, "imports requests"),
        ("def model():\n    import requests\ndef inputs(): ...\n", "imports requests"),
        ("import beside\n" + FORM, "cannot be written as one script"),
        ("def model():\n    from beside import x\ndef inputs(): ...\n", "cannot be written as one script"),
        ("from . import beside\n" + FORM, "another folder"),
        ("from ..up import x\n" + FORM, "another folder"),
        ("from beside import x\ndef x(): ...\n" + FORM, "both define x"),
        ("from main import x\n" + FORM, "in a circle"),
        ("x = 1; import beside2\n" + FORM, "imports beside2"),
        ("def model(:\n", "not Python"),
        ("x = '\ud800'", "not Python"),
        ("#" * (LARGEST + 1), "more than"),
        ("if __name__ == '__main__': pass\nx = (1,\n2); y = 3; import os\n" + FORM, ""),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "beside.py").write_text("x = 1\n")
    path = tmp_path / "main.py"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    if said:
        with pytest.raises(Unusable, match=said):
            read_source(path)
    else:
        ast.parse(read_source(path).text)
