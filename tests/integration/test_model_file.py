"""Model files on the real torch: read, cut into pieces, checked as they stand; what foreign code may try."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot import wire
from bot.pulls.workbench import reading_of
from bot.target import Pool
from fuzzers.engine import Reading, Sighting, StepOutcome, StepStatus
from fuzzers.records import Ending, Json, Kind, Limits, Run

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

INVERTED = f"""{HEAD}

class Inverted(nn.Module):
    def forward(self, frame):
        inverted = -frame
        return inverted.amax(dim=1), frame.float() / 255


def model():
    return Inverted()


def inputs():
    return (torch.randint(0, 256, (3, 40), dtype=torch.uint8),)
"""

ATTENTION = f"""{HEAD}

class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width)
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2)
        self.out = nn.Sequential(nn.Linear(width, width), nn.Dropout(0.1), nn.ReLU(inplace=True))
        self.eval()

    def forward(self, x, image):
        b, n, w = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q = q.view(b, n, self.heads, -1).transpose(1, 2)
        k = k.reshape(b, n, self.heads, -1).transpose(1, 2)
        v = v.reshape(b, n, self.heads, -1).transpose(1, 2)
        a = (q @ k.mT) * (w // self.heads) ** -0.5
        a = a.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf")).softmax(dim=-1)
        y = self.out((a @ v).transpose(1, 2).flatten(2)) + x
        s = F.gelu(self.pool(self.bn(self.conv(image)))).mean(dim=(2, 3)).clamp(min=0) >= 0.01
        y[:, 0] = 0
        z = y[:, 1:, ::2].pow(2).sum(-1).max(dim=1).values
        z.add_(1)
        return {{"y": y, "s": s, "z": (1 - z, 2 * z, torch.where(z > 1, z, z - 1))}}


def get_init_inputs():
    return [16, 4]


def get_inputs():
    return [torch.randn(2, 5, 16), torch.randn(2, 3, 8, 8)]
"""

DECLARED = (
    "layer_norm", "linear", "narrow", "view", "transpose", "reshape", "matmul", "mul_scalar", "triu",
    "masked_fill", "softmax", "add", "conv2d", "batch_norm", "max_pool2d", "gelu", "mean", "clamp", "ge",
    "slice", "pow_scalar", "sum", "max_values", "add_scalar_", "rsub_scalar", "gt_scalar", "add_scalar",
    "where",
)  # fmt: skip

LIMITS = Limits(seconds=120.0)


def plain(function: str, given: str = "torch.ones(3)", before: str = "") -> str:
    """A model file with a function of one tensor."""
    made = f"def model():\n    return f\n\n\ndef inputs():\n    return ({given},)\n"
    return f"{HEAD}{before}\n\ndef f(x):\n{function}\n\n\n{made}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the model file is written."""
    (tmp_path / "models").mkdir()
    return tmp_path / "models" / "net.py"


def read(pool: Pool, file: Path, text: str, lines: tuple[int, ...] = (), limits: Limits = LIMITS) -> Reading:
    """The file with this text, read."""
    file.write_text(text)
    args = {"engine": "flowmut", "path": str(file), "lines": list(lines)}
    return reading_of(pool.call("engine.read", args, limits))


def checked(pool: Pool, file: Path, text: str, aspects: str = "forward") -> StepOutcome:
    """The file with this text, checked as it stands."""
    file.write_text(text)
    args = {"engine": "flowmut", "path": str(file), "aspects": aspects}
    return outcome(pool, "engine.check_file", args)


def outcome(pool: Pool, job: str, args: Json) -> StepOutcome:
    """What a job that must end well came to."""
    reply = pool.call(job, args, LIMITS)
    assert reply.ended is Ending.OK, (reply.error, reply.log)
    return wire.convert(StepOutcome, reply.value)


def run(pool: Pool, script: str) -> Run:
    """How a script ends."""
    return wire.convert(Run, pool.call("script.run", {"script": script}, LIMITS).value)


def line_of(text: str, part: str) -> int:
    """The line of a text that has this in it."""
    return next(k for k, line in enumerate(text.splitlines(), 1) if part in line)


def test_calls_have_the_lines_of_the_file(pool: Pool, file: Path) -> None:
    reading = read(pool, file, INVERTED)
    assert not reading.refused
    told = {name: call.line for call in reading.calls for name in call.names}
    assert told["neg"] == line_of(INVERTED, "inverted = -frame")
    assert told["amax"] == told["to"] == line_of(INVERTED, "amax")
    assert next(call for call in reading.calls if "amax" in call.names).dtypes == ("uint8",)


def test_a_real_model_is_read_as_declared_operators(pool: Pool, file: Path) -> None:
    reading = read(pool, file, ATTENTION)
    assert not reading.refused
    assert set(DECLARED) <= {name for call in reading.calls for name in call.names}
    pieces = {node["op"] for piece in reading.pieces for node in piece.program["nodes"]}
    assert {"linear", "matmul", "softmax", "masked_fill", "conv2d", "max_values"} <= pieces


def test_pieces_of_wanted_lines_come_first(pool: Pool, file: Path) -> None:
    wanted = line_of(ATTENTION, "max(dim=1)")
    assert wanted in read(pool, file, ATTENTION, (wanted,)).pieces[0].lines


def test_every_piece_is_a_program_that_the_engine_checks(pool: Pool, file: Path) -> None:
    pieces = read(pool, file, ATTENTION).pieces
    some = pieces[:: max(1, len(pieces) // 4)]
    assert len(some) >= 3
    for piece in some:
        args = {"engine": "flowmut", "program": piece.program, "aspects": "forward"}
        done = outcome(pool, "engine.check_piece", args)
        assert done.counts.get("executed") == 1
        assert done.status in (StepStatus.CHECKED, StepStatus.DROPPED)


def test_a_miscompiled_model_is_shown_by_its_own_script(pool: Pool, file: Path) -> None:
    done = checked(pool, file, INVERTED)
    (seen,) = done.sightings
    assert seen.kind is Kind.WRONG
    assert "class Inverted(nn.Module)" in seen.script
    assert seen.script.splitlines()[-1].startswith("assert ")
    assert run(pool, seen.script).ending is Ending.ASSERTION


def test_a_miscompiled_model_is_shown_by_a_piece_of_it(pool: Pool, file: Path) -> None:
    found = []
    for piece in read(pool, file, INVERTED).pieces:
        args = {"engine": "flowmut", "program": piece.program, "aspects": "forward"}
        found += [(piece, seen) for seen in outcome(pool, "engine.check_piece", args).sightings]
    assert found
    for piece, seen in found:
        assert line_of(INVERTED, "amax") in piece.lines
        assert seen.detail["seed"] == f"net.py:{','.join(map(str, piece.lines))}"
        assert run(pool, seen.script).ending is Ending.ASSERTION


def test_a_model_that_does_not_compile_is_an_exception(pool: Pool, file: Path) -> None:
    text = plain("    return (x > 3).min(1).values", "torch.arange(120, dtype=torch.uint8).reshape(3, 40)")
    (seen,) = checked(pool, file, text).sightings
    assert seen.kind is Kind.EXCEPTION
    assert run(pool, seen.script).ending is Ending.EXCEPTION


def test_a_harmless_model_is_checked_without_a_difference(pool: Pool, file: Path) -> None:
    text = plain("    x.mul_(2)\n    return {'y': [x.sin()]}")
    done = checked(pool, file, text, "full")
    assert (done.status, done.sightings) == (StepStatus.CHECKED, ())


def test_chains_start_from_the_pieces(pool: Pool, file: Path) -> None:
    pieces = [piece.program for piece in read(pool, file, INVERTED).pieces]
    args = {"engine": "flowmut", "seed": 1, "chain": 0, "step": 0, "aspects": "forward", "state": None}
    done = outcome(pool, "engine.step", {**args, "seeds": pieces})
    state: Any = done.state or done.sightings[0].program["program"]  # type: ignore[index]
    assert str(state["origin"]).startswith("net.py:")


def test_files_beside_it_are_in_the_script(pool: Pool, file: Path) -> None:
    (file.parent / "blocks.py").write_text("def invert(x):\n    return (-x).amax(dim=1)\n")
    text = plain("    return invert(x)", "torch.arange(120, dtype=torch.uint8).reshape(3, 40)")
    text = text.replace(HEAD, f"{HEAD}from blocks import invert\n")
    reading = read(pool, file, text)
    assert next(c for c in reading.calls if "neg" in c.names).line == line_of(text, "return invert")
    (seen,) = checked(pool, file, text).sightings
    assert "blocks" not in seen.script
    assert run(pool, seen.script).ending is Ending.ASSERTION


REFUSED = {
    "it exits": (plain("    return x", before="import sys\nsys.exit(0)\n"), "raises SystemExit"),
    "it raises": (plain("    return x", before="1 / 0\n"), "raises ZeroDivisionError"),
    "it raises when called": (plain("    raise OSError('no')"), "does not run uncompiled: OSError"),
    "it draws": (plain("    return x + torch.rand(3)"), "draws random numbers or keeps state"),
    "it counts": (
        plain("    seen.append(1)\n    return x + len(seen)", before="seen = []\n"),
        "draws random numbers or keeps state",
    ),
    "it trains with dropout": (plain("    return F.dropout(x)", "torch.ones(99)"), "draws random numbers"),
    "it imports what is not there": (plain("    return x", before="import requests\n"), "imports requests"),
    "it has no model": ("x = 1\n", "neither `model`"),
    "it is no Python": ("def model(:\n", "not Python"),
    "it is sparse": (plain("    return x", "torch.ones(3).to_sparse()"), "cannot be copied"),
    "it dies": (plain("    return x", before="import os\nos.kill(os.getpid(), 11)\n"), "ends by SIGSEGV"),
    "it leaves": (plain("    return x", before="import os\nos._exit(0)\n"), "could not run"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(pool: Pool, file: Path, name: str) -> None:
    text, said = REFUSED[name]
    assert said in read(pool, file, text).refused


def test_a_file_that_does_not_end_is_refused(pool: Pool, file: Path) -> None:
    text = plain("    return x", before="while True: pass\n")
    assert read(pool, file, text, limits=Limits(seconds=5.0)).refused == "it does not end"


def test_a_model_that_kills_its_process_when_compiled_is_announced(
    pool: Pool, file: Path, tmp_path: Path
) -> None:
    body = (
        "    if torch.compiler.is_compiling():\n"
        "        torch._dynamo.graph_break()\n"
        "        import os\n"
        "        os.kill(os.getpid(), 11)\n"
        "    return x + 1"
    )
    file.write_text(plain(body))
    journal = tmp_path / "journal.json"
    args = {"engine": "flowmut", "path": str(file), "aspects": "forward"}
    reply = pool.call("engine.check_file", args, LIMITS, journal)
    announced = wire.read(Sighting, journal.read_bytes())
    assert announced.kind is Kind.CRASH
    assert "os.kill" in announced.script
    assert reply.ended in (Ending.SIGNAL, Ending.OK)
