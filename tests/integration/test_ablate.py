"""Parts of the real compiler are switched off one at a time, on bugs of torch and on planted ones."""

from __future__ import annotations

import pytest

from bot.asking import Asker
from bot.culprits import Culprits, culprits_of
from bot.localise import localise
from bot.target import Pool
from fuzzers.ablate import plain
from fuzzers.records import Ending, Kind, Limits

pytestmark = pytest.mark.timeout(600)

SCRIPT = """import torch
{planted}

def f(x):
    return {body}


x = {x}
expected = f(x.clone())
actual = torch.compile(f)(x.clone())
assert torch.equal(actual, expected), (actual, expected)
"""

RELU = """import torch._inductor.config as config

config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"

"""

PASS = """import torch._inductor.fx_passes.post_grad as post_grad

stock = post_grad.remove_assert_ops


def wrong(graph):
    stock(graph)
    for node in graph.nodes:
        if node.target is torch.ops.aten.neg.default:
            node.target = torch.ops.aten.abs.default


post_grad.remove_assert_ops = wrong

"""

DECOMPOSITION = """import torch._inductor.decomposition as decomposition

decomposition.select_decomp_table()[torch.ops.aten.silu.default] = lambda x: x * torch.tanh(x)

"""


def script(body: str, x: str, planted: str = "") -> str:
    return SCRIPT.format(body=body, x=x, planted=planted)


AMIN = script("x.amin()", "torch.full((2, 4), 2, dtype=torch.uint8)")
RIGHT = script("x.cos() * 0", "torch.arange(4.0)")


@pytest.fixture
def asker(pool: Pool) -> Asker:
    return Asker(pool, Limits(seconds=120.0))


def blame(text: str, asker: Asker) -> Culprits:
    place, _ = localise(Kind.WRONG, text, asker.runs)
    return culprits_of(text, place, asker)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        pytest.param(AMIN, "lowerings/amin", id="amin"),
        pytest.param(
            script("torch.relu(x) + 1", "torch.arange(-8.0, 8.0)", RELU), "lowerings/relu", id="relu"
        ),
        pytest.param(
            script("torch.neg(x) + 1", "torch.arange(8.0)", PASS),
            "post_grad_passes/remove_assert_ops",
            id="pass",
        ),
        pytest.param(
            script("torch.nn.functional.silu(x)", "torch.ones(4)", DECOMPOSITION),
            "decomposition/aten.silu",
            id="decomposition",
        ),
    ],
)
def test_the_culprits_hold_the_part_that_torchs_own_bisector_finds(
    text: str, part: str, asker: Asker
) -> None:
    found = blame(text, asker)
    theirs = asker.bisected(text)
    assert f"{theirs.subsystem}/{theirs.debug_name}" == part
    assert part in found.parts, found
    assert found.named() == (theirs.subsystem, theirs.debug_name)


def test_operators_that_go_wrong_only_inside_each_other_are_all_culprits_and_so_is_fusion(
    asker: Asker,
) -> None:
    found = blame(script("(-torch.cat([x, x]).abs()).sum()", "torch.arange(17, dtype=torch.uint8)"), asker)
    assert {"lowerings/abs", "lowerings/neg", "lowerings/sum", "codegen/fusion"} <= set(found.parts), found


def test_the_vectorised_loop_is_told_from_the_scalar_one(asker: Asker) -> None:
    found = blame(AMIN, asker)
    assert "codegen/vectorisation" in found.parts
    assert not found.without["codegen/fusion"]


def test_what_is_off_in_one_run_is_on_in_the_next_and_the_kernels_do_not_mix(asker: Asker) -> None:
    endings = [
        a.run.ending for a in asker.ablations(AMIN, "inductor", [["lowerings"], [], ["lowerings"], []])
    ]
    assert endings == [Ending.OK, Ending.ASSERTION, Ending.OK, Ending.ASSERTION]


def test_parts_are_listed_by_operator_in_the_order_of_their_use(asker: Asker) -> None:
    (seen,) = asker.ablations(script("(x + 1) * 2 + 3", "torch.arange(4.0)"), "inductor", [[]])
    assert seen.run.ending is Ending.OK
    assert [p for p in seen.parts if p.startswith("lowerings/")] == ["lowerings/add", "lowerings/mul"]


def test_every_switch_leaves_a_right_program_right(asker: Asker) -> None:
    switches = asker.switches()
    assert {"codegen/vectorisation", "codegen/fusion", "partition/cse"} <= set(switches)
    seen = asker.ablations(RIGHT, "inductor", [[switch] for switch in switches])
    assert {a.run.ending for a in seen} == {Ending.OK}, seen


DIES_UNLESS_FUSION_IS_OFF = """import os
from pathlib import Path

import torch
import torch._inductor.config as config

marker = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"], "half-built")
was_there = marker.exists()
marker.parent.mkdir(exist_ok=True)
marker.touch()
if config.max_fusion_size != 1:
    os.abort()
assert not was_there
"""

SLEEPS = """import time

time.sleep(600)
assert True
"""


def test_a_script_that_kills_its_process_takes_no_other_run_with_it_and_leaves_no_half_built_kernel(
    pool: Pool,
) -> None:
    args = {"script": DIES_UNLESS_FUSION_IS_OFF, "seconds": 60.0, "without": [[], ["codegen/fusion"]]}
    reply = pool.call("script.ablate", args)
    died, spared = (a["run"] for a in reply.value["ablations"])
    assert (died["ending"], died["signal"]) == (Ending.SIGNAL, "SIGABRT")
    assert spared["ending"] == Ending.OK, spared


def test_the_first_run_that_does_not_end_in_time_is_the_last_of_its_worker(asker: Asker) -> None:
    seen = asker.ablations(SLEEPS, None, [[]] * (asker.at_once + 1), Limits(seconds=1.0))
    assert [a.run.ending for a in seen] == [Ending.TIMEOUT] * asker.at_once + [Ending.CANNOT_RUN]


def test_a_run_that_we_break_ourselves_gives_no_verdict(pool: Pool) -> None:
    unhashable = [[["not a name"]]]
    reply = pool.call("script.ablate", {"script": RIGHT, "seconds": 60.0, "without": unhashable})
    (one,) = reply.value["ablations"]
    assert one["run"]["ending"] == Ending.CANNOT_RUN
    assert "TypeError" in one["run"]["log"]


@pytest.mark.parametrize(
    ("debug_name", "name"),
    [
        ("amin", "amin"),
        ("sum_1", "sum"),
        ("abs_12", "abs"),
        ("full_default_3", "full"),
        ("max_pool2d", "max_pool2d"),
        ("log1p_2", "log1p"),
        ("_to_copy_1", "_to_copy"),
        ("<OpOverload(op='aten.add', overload='Tensor')>", "aten.add"),
        ("<OpOverload(op='aten._softmax', overload='default')>", "aten._softmax"),
        ("pass_pattern_2", "pass_pattern_2"),
        ("", ""),
    ],
)
def test_names_lose_what_differs_between_two_programs(debug_name: str, name: str) -> None:
    assert plain(debug_name) == name
