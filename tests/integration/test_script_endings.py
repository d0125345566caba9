"""How scripts that really compile end, in a warm worker and in a fresh process."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from bot import fresh
from bot.asking import Asker
from bot.errors import UserMistake
from bot.target import Pool, probe
from fuzzers.records import Build, Ending, Limits, Run

LIMITS = Limits(seconds=120.0)

RELU = """import torch
import torch._inductor.config

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = {bug!r}


def f(x):
    return x.relu() + 1


x = torch.linspace(-1, 1, 20)
expected = f(x)
actual = torch.compile(f)(x)
assert torch.equal(actual, expected), (actual, expected)
"""

BODY = """import torch


def f(x):
    {body}
    return x.sin()


x = torch.linspace(-1, 1, 20, requires_grad=True)
{before}
expected = f(x)
actual = torch.compile(f)(x)
{after}
assert torch.allclose(actual, expected)
"""


def script(body: str = "pass", before: str = "", after: str = "") -> str:
    return BODY.format(body=body, before=before, after=after)


COMPILING = "torch.compiler.is_compiling()"

ASSERTING_OPERATOR = """import torch

broken = False


@torch.library.custom_op("nightfuzz_test::check", mutates_args=())
def check(x: torch.Tensor) -> torch.Tensor:
    assert not broken
    return x.clone()


check.register_fake(lambda x: torch.empty_like(x))


def f(x):
    return check(x) + 1


x = torch.ones(4)
expected = f(x)
broken = True
actual = torch.compile(f)(x)
assert torch.equal(actual, expected)
"""

FAILING_BACKWARD = """import torch


class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        {body}
        return g


def f(x):
    return Identity.apply(x).sum()


x = torch.ones(3, requires_grad=True)
f(x).backward()
expected = x.grad.clone()
x.grad = None
torch.compile(f)(x).backward()
assert torch.equal(x.grad, expected)
"""

ENDINGS: dict[str, tuple[str, Ending, str]] = {
    "right": (script(), Ending.OK, ""),
    "wrong result": (RELU.format(bug="accuracy"), Ending.ASSERTION, "AssertionError"),
    "the compiler's compiler rejects its code": (
        RELU.format(bug="compile_error"), Ending.EXCEPTION, "InductorError",
    ),
    "its code raises": (RELU.format(bug="runtime_error"), Ending.EXCEPTION, "RuntimeError"),
    "an assertion inside the compiled call": (
        ASSERTING_OPERATOR, Ending.EXCEPTION, "AssertionError",
    ),
    "an error only when compiled": (
        script(f"x = x.view(7) if {COMPILING} else x"), Ending.EXCEPTION, "TorchRuntimeError",
    ),
    "an assertion before the last statement": (
        script(after="assert actual is expected"), Ending.CANNOT_RUN, "AssertionError",
    ),
    "an error on the eager side": (script("x = x.view(7)"), Ending.CANNOT_RUN, "RuntimeError"),
    "an operator that this build lacks": (
        script("x = torch.of_tomorrow(x)"), Ending.CANNOT_RUN, "AttributeError",
    ),
    "a compiler module that this build lacks": (
        script(before="import torch._inductor.of_tomorrow"), Ending.CANNOT_RUN, "ModuleNotFoundError",
    ),
    "a compiler setting that this build lacks": (
        script(before="import torch._inductor.config as c; c.of_tomorrow = 1"),
        Ending.CANNOT_RUN, "AttributeError",
    ),
    "an error in torch.func, run eagerly": (
        script(before="torch.func.vmap(lambda a, b: a)(x, x[:3])"), Ending.CANNOT_RUN, "ValueError",
    ),
    "an error in a function that is never compiled": (
        script(before="torch._dynamo.disable(lambda: x.view(7))()"), Ending.CANNOT_RUN, "RuntimeError",
    ),
    "an error in checkpoint, run eagerly": (
        script(before="torch.utils.checkpoint.checkpoint(lambda a: a.view(7), x, use_reentrant=False)"),
        Ending.CANNOT_RUN, "RuntimeError",
    ),
    "a mark that cannot be set": (
        script(before="torch._dynamo.mark_dynamic(None, 0)"), Ending.CANNOT_RUN, "AttributeError",
    ),
    "a lack of memory": (
        script(before="torch.empty(2**45)"), Ending.CANNOT_RUN, "RuntimeError",
    ),
    "leaving by itself": (script(after="raise SystemExit"), Ending.CANNOT_RUN, "SystemExit"),
}  # fmt: skip


def run(pool: Pool, text: str, backend: str | None = None, limits: Limits = LIMITS) -> Run:
    (ended,) = Asker(pool, limits).runs([(text, backend)])
    return ended


@pytest.mark.parametrize("name", ENDINGS)
def test_how_a_script_ends_in_a_warm_worker(pool: Pool, name: str) -> None:
    text, ending, exception = ENDINGS[name]
    ended = run(pool, text)
    assert (ended.ending, ended.exception) == (ending, exception), ended
    assert ended.compiled_side is (ending is Ending.EXCEPTION)
    assert bool(ended.reason) is (ending is Ending.CANNOT_RUN)


def test_an_exception_of_the_compiled_backward_is_the_compilers(pool: Pool) -> None:
    text = FAILING_BACKWARD.format(body=f"g = g.view(7) if {COMPILING} else g")
    assert run(pool, FAILING_BACKWARD.format(body="pass")).ending is Ending.OK
    assert run(pool, text).ending is Ending.EXCEPTION


def test_frames_name_places_and_hold_nothing_of_this_machine(pool: Pool) -> None:
    ended = run(pool, RELU.format(bug="runtime_error"))
    assert ended.frames[-1] == "<generated>:call"
    assert "torch._inductor.output_code:__call__" in ended.frames
    assert not any("/" in frame or frame[-1].isdigit() for frame in ended.frames)


def test_a_forced_backend_leaves_out_what_lies_above_it(pool: Pool) -> None:
    ladder = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor", None)
    endings = [run(pool, RELU.format(bug="accuracy"), backend).ending for backend in ladder]
    assert endings == [Ending.OK] * 3 + [Ending.ASSERTION] * 2


def test_a_forced_backend_takes_the_options_of_inductor_away(pool: Pool) -> None:
    text = script().replace("torch.compile(f)", 'torch.compile(f, options={"max_fusion_size": 8})')
    assert run(pool, text, "aot_eager").ending is Ending.OK
    assert run(pool, text, "inductor").ending is Ending.OK


def test_threads_are_set_in_the_child_alone(pool: Pool) -> None:
    text = "import torch\nassert torch.get_num_threads() == {}, torch.get_num_threads()\n"
    asked = pool.call("script.run", {"script": text.format(2), "backend": None, "threads": 2})
    assert asked.value["ending"] == Ending.OK
    assert run(pool, text.format(1)).ending is Ending.OK


def test_signals_and_time_outs_of_scripts_are_read_by_the_parent(pool: Pool) -> None:
    crashed = run(pool, "import ctypes\nctypes.string_at(0)\n")
    assert (crashed.ending, crashed.signal) == (Ending.SIGNAL, "SIGSEGV")
    assert run(pool, "while True:\n    pass\n", limits=Limits(seconds=1.0)).ending is Ending.TIMEOUT
    assert run(pool, "import os\nos._exit(0)\n").ending is Ending.CANNOT_RUN


JUDGED = RELU.format(bug="accuracy")


def test_a_judgement_holds_the_rung_before_and_the_oracles_word(pool: Pool) -> None:
    (judged,) = Asker(pool, LIMITS).judge([JUDGED], "aot_eager_decomp_partition", examine=True)
    assert judged.run.ending is Ending.ASSERTION
    assert judged.before is not None
    assert judged.before.ending is Ending.OK
    assert judged.report is not None
    assert judged.report["differences"][0]["aspect"] == "values"


def test_a_script_that_ends_well_is_not_examined(pool: Pool) -> None:
    (judged,) = Asker(pool, LIMITS).judge([script()], "eager", examine=True)
    assert (judged.run.ending, judged.before, judged.report) == (Ending.OK, None, None)


RECORDED = """
import torch
from fuzzers.judge import recorded

base = torch.arange(12.0)

def f(a, b, n, *, c):
    a.add_(1)
    return a + b.sum() + n + c.sum()

with recorded() as calls:
    g = torch.compile(f, backend="eager", dynamic=True)
    g(base[::2], base[2:8].view(2, 3).t(), 3, c=base)
    g(base[:2], base[:2], 4, c=base[:1])
(call,) = calls
(a, b, n), kwargs = call.arguments
c = kwargs["c"]
assert call.settings == {"backend": "eager", "dynamic": True}
assert n == 3 and c.equal(torch.arange(12.0)) and a.equal(torch.arange(12.0)[::2])
assert (a.stride(), b.stride(), b.storage_offset()) == ((2,), (1, 3), 2)
a.zero_()
assert c[0] == 0 and c[2] == 0 and c[1] == 1 and base[1] == 2
"""


def test_what_is_recorded_is_the_first_call_as_it_was_with_its_layout_and_sharing(pool: Pool) -> None:
    ended = run(pool, RECORDED)
    assert ended.ending is Ending.OK, ended.log


def test_a_fresh_process_has_stock_settings_and_nothing_of_ours(
    build: Build, warm_folder: Path, pool: Pool
) -> None:
    text = (
        "import sys\nassert 'torch' not in sys.modules\nimport os\n"
        "assert not [n for n in os.environ if n.startswith(('TORCH', 'OMP', 'MKL', 'MALLOC'))]\n"
        "import torch, torch._inductor.config, torch._functorch.config\n"
        "assert torch._inductor.config.fx_graph_cache and torch._functorch.config.enable_autograd_cache\n"
        f"assert torch.get_num_threads() == {stock_threads()}\n"
    )
    ended = fresh.run(build, text, headers=warm_folder)
    assert ended.ending is Ending.OK, ended


def stock_threads() -> int:
    import torch

    return int(torch.get_num_threads())


@pytest.mark.parametrize("name", ["wrong result", "an operator that this build lacks"])
def test_a_script_ends_in_a_fresh_process_as_in_a_warm_worker(
    build: Build, warm_folder: Path, pool: Pool, name: str
) -> None:
    text, ending, exception = ENDINGS[name]
    ended = fresh.run(build, text, headers=warm_folder)
    assert (ended.ending, ended.exception) == (ending, exception), ended


def test_a_fresh_process_that_crashes_or_hangs_is_data(build: Build) -> None:
    crashed = fresh.run(build, "import os\nos.abort()\n")
    assert (crashed.ending, crashed.signal) == (Ending.SIGNAL, "SIGABRT")
    stuck = fresh.run(build, "while True:\n    pass\n", limits=Limits(seconds=1.0))
    assert stuck.ending is Ending.TIMEOUT


def test_fresh_memory_is_filled_when_asked(build: Build) -> None:
    text = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.malloc.restype = ctypes.c_void_p\n"
    text += "seen = ctypes.string_at(libc.malloc(4096), 4096)\nassert seen == bytes([255 - 165]) * 4096\n"
    assert fresh.run(build, text, perturb=165).ending is Ending.OK
    assert fresh.run(build, text).ending is Ending.ASSERTION


def test_only_the_header_and_the_probes_are_carried_over(
    build: Build, warm_folder: Path, pool: Pool, tmp_path: Path
) -> None:
    fresh.carry_over(warm_folder, tmp_path)
    carried = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    probes = [path.name for path in fresh.probes(warm_folder)]
    kernels = {path.name for path in warm_folder.glob("inductor/??/*.so")}
    assert sorted(name.rpartition(".")[2] for name in carried) == ["gch", "h", *["so"] * len(probes)]
    assert 0 < len(probes) < len(kernels), (probes, kernels)
    assert set(probes) == kernels & set(carried)


NO_BUILDING = """from torch._inductor.cpp_builder import CppBuilder
from torch._inductor.cpu_vec_isa import pick_vec_isa


def build(self):
    raise RuntimeError("nothing is built here")


CppBuilder.build = build
assert pick_vec_isa()
"""


def test_a_fresh_process_need_not_build_the_probes(build: Build, warm_folder: Path, pool: Pool) -> None:
    assert fresh.run(build, NO_BUILDING, headers=warm_folder).ending is Ending.OK
    assert fresh.run(build, NO_BUILDING).ending is Ending.ASSERTION


@pytest.mark.parametrize(
    "left", [0, 63, 4096, -1], ids=["nothing", "half a header", "a page", "all but a byte"]
)
def test_a_probe_that_was_cut_short_is_not_carried_over(
    warm_folder: Path, pool: Pool, tmp_path: Path, left: int
) -> None:
    (whole, *_) = fresh.probes(warm_folder)
    folder = tmp_path / "inductor" / whole.parent.name
    folder.mkdir(parents=True)
    shutil.copy(whole.with_suffix(".cpp"), folder)
    (folder / whole.name).write_bytes(whole.read_bytes())
    assert [path.name for path in fresh.probes(tmp_path)] == [whole.name]
    (folder / whole.name).write_bytes(whole.read_bytes()[:left])
    assert not list(fresh.probes(tmp_path))


def test_probing_tells_the_build(build: Build) -> None:
    assert build.framework == "torch"
    assert build.interpreter == sys.executable
    assert len(build.git_sha) == 40


@pytest.mark.parametrize("name", ["no/such/python", "/tmp", "nightfuzz-no-such-command"])
def test_an_interpreter_that_is_not_there_is_the_users_mistake(name: str) -> None:
    with pytest.raises(UserMistake, match="no interpreter at"):
        probe(name)


def test_an_interpreter_without_torch_is_the_users_mistake(tmp_path: Path) -> None:
    import venv

    venv.create(tmp_path / "bare", symlinks=True)
    with pytest.raises(UserMistake, match="has no torch"):
        probe(tmp_path / "bare" / "bin" / "python")


def test_a_command_that_is_no_python_is_the_users_mistake() -> None:
    with pytest.raises(UserMistake, match="is no Python"):
        probe(shutil.which("true") or "true")
