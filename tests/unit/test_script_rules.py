"""How a script ended, for all that needs no framework to be told."""

from __future__ import annotations

import sys

import pytest

from fuzzers.records import Ending, Run
from fuzzers.script import is_compiling, run_script


def ended(text: str) -> tuple[Ending, str]:
    run = run_script(text)
    return run.ending, run.reason


ASSERTION_RULE: dict[str, tuple[str, Ending]] = {
    "true at the end": ("x = 1\nassert x == 1\n", Ending.OK),
    "no assert at all": ("x = 1\n", Ending.OK),
    "nothing at all": ("", Ending.OK),
    "false at the end": ("x = 1\nassert x == 2\n", Ending.ASSERTION),
    "false at the end, with a message": ("x = 1\nassert x == 2, (x, 2)\n", Ending.ASSERTION),
    "false at the end, over lines": ("x = 1\nassert (\n    x ==\n    2\n), (\n    x\n)\n", Ending.ASSERTION),
    "false before the end": ("assert 1 == 2\nassert 1 == 1\n", Ending.CANNOT_RUN),
    "false before the end, on its line": ("assert 1 == 2; assert 1 == 1\n", Ending.CANNOT_RUN),
    "false at the end, after another on its line": ("assert 1 == 1; assert 1 == 2\n", Ending.ASSERTION),
    "false in a function called by the last statement": (
        "def f():\n    assert False\nassert f()\n", Ending.CANNOT_RUN,
    ),
    "raised, not asserted, in the last statement": (
        "def f():\n    raise AssertionError('forged')\nassert f()\n", Ending.CANNOT_RUN,
    ),
    "the message of the last assert fails": ("assert False, 1 / 0\n", Ending.CANNOT_RUN),
    "asserted by the last statement, which is no assert": ("if True:\n    assert False\n", Ending.CANNOT_RUN),
    "raised where no assert is": ("raise AssertionError\n", Ending.CANNOT_RUN),
    "another class of exception in the last assert": ("assert {}['a']\n", Ending.CANNOT_RUN),
}  # fmt: skip


@pytest.mark.parametrize("name", ASSERTION_RULE)
def test_only_the_last_assert_itself_is_a_wrong_result(name: str) -> None:
    text, wanted = ASSERTION_RULE[name]
    assert run_script(text).ending is wanted


CANNOT_RUN: dict[str, tuple[str, str]] = {
    "import torch_of_tomorrow\n": ("ModuleNotFoundError", "No module named 'torch_of_tomorrow'"),
    "import os\nos.no_such_operator(1)\n": ("AttributeError", "no_such_operator"),
    "raise SystemExit(0)\n": ("SystemExit", "exits by itself"),
    "import sys\nsys.exit('bye')\n": ("SystemExit", "exits by itself"),
    "raise KeyboardInterrupt\n": ("KeyboardInterrupt", "interrupted"),
    "raise MemoryError\n": ("MemoryError", "out of memory"),
    "def f(:\n": ("SyntaxError", "not valid Python"),
    "x = '\0'\n": ("SyntaxError", "not valid Python"),
    "raise RuntimeError('g++: No space left on device')\n": ("RuntimeError", "the disk is full"),
    "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E\n": ("E", "no text"),
}


@pytest.mark.parametrize("text", CANNOT_RUN)
def test_what_says_nothing_about_the_build_has_a_reason(text: str) -> None:
    run = run_script(text)
    exception, reason = CANNOT_RUN[text]
    assert (run.ending, run.exception) == (Ending.CANNOT_RUN, exception)
    assert reason in run.reason


def test_output_that_looks_like_a_verdict_is_only_output() -> None:
    forged = (
        'print(\'{"ending": "assertion", "exception": "AssertionError"}\')\n'
        "import sys\nsys.stderr.write('Traceback (most recent call last):\\nAssertionError\\n')\n"
        "assert True\n"
    )
    assert run_script(forged).ending is Ending.OK


def test_a_script_is_main_and_leaves_nothing_behind() -> None:
    before = sys.modules["__main__"]
    text = "import sys\nassert __name__ == '__main__' and sys.modules['__main__'].marker == 1\n"
    assert run_script("marker = 1\n" + text).ending is Ending.OK
    assert sys.modules["__main__"] is before
    assert not hasattr(before, "marker")


def test_the_log_is_the_traceback_without_our_frames_and_folders() -> None:
    log = run_script("x = 1\nassert x == 2\n").log
    assert log.splitlines()[1:3] == ['  File "repro.py", line 2, in <module>', "    assert x == 2"]


def test_a_message_is_cut_off() -> None:
    run = run_script("raise ValueError('x' * 100000)\n")
    assert len(run.message) == 4096
    assert len(run.reason) <= 300


WHERE: dict[str, bool] = {
    "torch._dynamo.convert_frame:compile_frame": True,
    "torch._inductor.lowering:cat": True,
    "torch._functorch.aot_autograd:forward": True,
    "torch._functorch._aot_autograd.runtime_wrappers:runtime_wrapper": True,
    "<generated>:call": True,
    "torch._dynamo.eval_frame:compile_wrapper": True,
    "torch._dynamo.eval_frame:_fn": False,
    "torch._dynamo.decorators:mark_dynamic": False,
    "torch._inductor.config:<module>": False,
    "torch._inductor.lowering:<module>": False,
    "torch._functorch.vmap:vmap_impl": False,
    "torch._functorch.eager_transforms:grad": False,
    "torch._dynamos.x:f": False,
    "torch.nn.functional:relu": False,
    "repro:f": False,
}


@pytest.mark.parametrize("where", WHERE)
def test_which_frames_are_the_compiler_at_work(where: str) -> None:
    assert is_compiling(where) is WHERE[where]


def test_a_run_is_plain_data() -> None:
    assert isinstance(run_script("assert True\n"), Run)
