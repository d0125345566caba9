"""`nightfuzz check` on whole files: a right kernel, a wrong one, and files that are neither."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kernels.twins import ROWS, Twin

from bot.cli import exit_code
from fuzzers.dirigo.verdict import Answer

SUM = Twin(
    "hard-coded size",
    "a.sum(1)",
    ROWS.replace("BODY", "float s = 0.0f; for (int i = 0; i < n; i++) s += p[i]; y[row] = s;"),
    "i < n",
    "i < 60",
)
HOST = """
#include <torch/extension.h>
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty({x.size(0)}, x.options());
  k<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}
"""


def checked(
    folder: Path, kernel: str, reference: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, dict]:
    """The exit code and the document."""
    (folder / "kernel.cu").write_text(kernel)
    (folder / "reference.py").write_text(reference)
    kernel_file, reference_file, log = (str(folder / n) for n in ("kernel.cu", "reference.py", "log.sarif"))
    given = ["--reference", reference_file, "--json", "--sarif", log, "--locations", "2"]
    code = exit_code(["check", kernel_file, *given])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_a_right_kernel_says_what_was_covered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = checked(tmp_path, SUM.kernel(False) + HOST, SUM.reference, capsys)
    assert (code, document["answer"]) == (0, Answer.EQUAL)
    assert all(place["cells"] > 0 for place in document["places"])


def test_a_wrong_kernel_is_told_with_its_line_and_an_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SUM.kernel(True) + HOST
    code, document = checked(tmp_path, text, SUM.reference, capsys)
    assert (code, document["answer"]) == (1, Answer.DIFFERENT)
    found = document["differences"][0]
    assert "i < 60" in text.splitlines()[found["line"] - 1]
    assert (found["input"], found["expected"], found["actual"]) == ("1 everywhere", "64", "60")
    log = json.loads((tmp_path / "log.sarif").read_text())
    (result,) = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == found["line"]


FOREVER = "__global__ void k(const float* x, float* y, int n) { while (n) y[0] = x[0]; }"
RAISES = SUM.reference.replace("return a.sum(1)", "raise ValueError('no')")
BAD = {
    "no CUDA": ("just words, and no kernel", SUM.reference),
    "does not parse": (
        "__global__ void k(const float* x, float* y, int n) { y[0] = ; }" + HOST,
        SUM.reference,
    ),
    "no launch": (SUM.kernel(False) + HOST.replace("k<<<1, 64>>>", "// "), SUM.reference),
    "reference raises": (SUM.kernel(False) + HOST, RAISES),
    "for ever": (FOREVER + HOST, SUM.reference),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_checked_is_unknown_in_one_line(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = checked(tmp_path, *BAD[what], capsys)
    assert (code, document["answer"]) == (0, Answer.UNKNOWN)
    assert document["reason"]
    assert "\n" not in document["reason"]


def test_a_file_that_is_not_there_is_the_users_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["check", str(tmp_path / "no.cu"), "--reference", str(tmp_path / "no.py")]) == 2
    assert "no such kernel" in capsys.readouterr().err
