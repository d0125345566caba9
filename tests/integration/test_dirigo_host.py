"""A pair's forward, recorded by the host interpreter and run on the SIMT interpreter, gives what PyTorch
gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PAIRS = HERE / "kernels" / "pairs"
NAMES = sorted(path.name.removesuffix("_ref.py") for path in PAIRS.glob("*_ref.py"))
LIMITS = {"half_scale": 1e-3}

REFERENCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.rand(SHAPE)]

def get_init_inputs():
    return []
"""
KERNEL = """
#include <torch/extension.h>
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 2.0f;
}
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  BODY
  return y;
}
"""
LAUNCH = "twice<<<(n + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);"
BODIES: Mapping[str, tuple[str, str]] = {
    "right": (LAUNCH, ""),
    "endless": (f"while (n > 0) {{ n += 1; n -= 1; }} {LAUNCH}", "host: steps"),
    "huge_grid": (
        "twice<<<100000000, 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);",
        "threads in one launch",
    ),
    "failing_check": (f'TORCH_CHECK(n > 100, "too few: ", n); {LAUNCH}', "forward: HostError: too few: 40"),
    "thrown": (f'throw std::runtime_error("no"); {LAUNCH}', "forward: HostError: no"),
    "unknown_call": (f"n = mystery(n); {LAUNCH}", "host: call of mystery, line 10"),
    "broken_syntax": (f"n = = 3 +; {LAUNCH}", "host: syntax"),
    "wrong_type": (LAUNCH.replace("x.data_ptr<float>", "x.data_ptr<double>"), "expected scalar type double"),
    "divided_by_nothing": (f"n = n / (n - 40); {LAUNCH}", "integer division by zero"),
    "reads_the_device": (f"n = static_cast<int>(y.sum().item<float>()); {LAUNCH}", "host: data"),
}
CHILD = [sys.executable, str(HERE / "kernels" / "judged.py")]


def judged(folder: Path) -> dict[str, dict[str, Any]]:
    """What became of each pair of a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*CHILD, str(folder)], capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["name"]: row for row in rows}


@pytest.fixture(scope="module")
def own() -> dict[str, dict[str, Any]]:
    return judged(PAIRS)


@pytest.mark.parametrize("name", NAMES)
def test_an_own_pair_gives_what_pytorch_gives(name: str, own: dict[str, dict[str, Any]]) -> None:
    found = own[name]
    assert "reason" not in found, found
    assert found["launches"] > 0
    assert found["events"] == []
    assert found["shapes"][0] == found["shapes"][1]
    assert found["gap"] <= LIMITS.get(name, 2e-5)


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("pairs")
    for name, (body, _) in BODIES.items():
        (folder / f"{name}_ref.py").write_text(REFERENCE.replace("SHAPE", "40"))
        (folder / f"{name}.cu").write_text(KERNEL.replace("BODY", body))
    return judged(folder)


@pytest.mark.parametrize(("name", "reason"), [(name, reason) for name, (_, reason) in BODIES.items()])
def test_host_code_that_cannot_go_on_says_why(
    name: str, reason: str, refused: dict[str, dict[str, Any]]
) -> None:
    found = refused[name].get("reason", "")
    assert reason in found
    assert bool(found) is bool(reason), refused[name]


WRAPPER = '''
import torch
from torch.utils.cpp_extension import load_inline

try:
    built = load_inline(name="own", cpp_sources="CPP", cuda_sources="""SOURCE""", functions=["forward"])
except RuntimeError:
    built = None

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * 2 if built is None else built.forward(ARGUMENT)
'''
DECLARED = "torch::Tensor forward(torch::Tensor x);"
WRAPPERS: Mapping[str, tuple[str, str, str, int, str]] = {
    "declared": (DECLARED, "x", LAUNCH, 1, ""),
    "undeclared": ("", "x", LAUNCH, 0, ""),
    "wrong_argument": (DECLARED, "x, 3", LAUNCH, 0, "forward: TypeError"),
    "too_many_threads": (DECLARED, "x", LAUNCH.replace("32>>>", "2048>>>"), 0, ""),
    "looked_at_error": (
        DECLARED,
        "x",
        LAUNCH.replace("32>>>", "2048>>>") + "C10_CUDA_KERNEL_LAUNCH_CHECK();",
        0,
        "invalid configuration",
    ),
}


@pytest.fixture(scope="module")
def wrapped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("wrappers")
    for name, (declared, argument, body, _, _) in WRAPPERS.items():
        (folder / f"{name}_ref.py").write_text(REFERENCE.replace("SHAPE", "40"))
        text = WRAPPER.replace("CPP", declared).replace("SOURCE", KERNEL.replace("BODY", body))
        (folder / f"{name}.py").write_text(text.replace("ARGUMENT", argument))
    return judged(folder)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_is_built_called_and_refused_as_torch_does(
    name: str, wrapped: dict[str, dict[str, Any]]
) -> None:
    *_, launches, reason = WRAPPERS[name]
    found = wrapped[name]
    assert reason in found.get("reason", "")
    assert bool(reason) is ("reason" in found), found
    assert found.get("launches", 0) == launches


def test_a_launch_that_cuda_refuses_leaves_the_output_unwritten(wrapped: dict[str, dict[str, Any]]) -> None:
    found = wrapped["too_many_threads"]
    assert found["decisions"] and "refused" in found["decisions"][0]
    assert found["gap"] > 0
