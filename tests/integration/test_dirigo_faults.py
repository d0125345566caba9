"""What a kernel does wrong is an event with its line, seen in an output exactly where it gets there."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.emulate import HERE, Interpreted, Launch, compiled_text, interpreted

from fuzzers.dirigo.simt.events import Kind, Unknown
from fuzzers.dirigo.simt.tape import Op

SOURCE = (HERE / "faults.cu").read_text().splitlines()
RNG = np.random.default_rng(0)


def line_of(text: str) -> int:
    """The line of faults.cu that holds this text."""
    found = [number for number, line in enumerate(SOURCE, 1) if text in line]
    assert len(found) == 1, found
    return found[0]


def floats(count: int) -> np.ndarray:
    return RNG.standard_normal(count).astype(np.float32)


def empty(count: int) -> np.ndarray:
    return np.full(count, np.nan, np.float32)


def run(
    kernel: str,
    arguments: tuple,
    *,
    threads: int = 64,
    blocks: int = 1,
    reverse: bool = False,
    steps: int = 20_000,
) -> Interpreted:
    launch = Launch("faults.cu", kernel, (blocks, 1, 1), (threads, 1, 1), arguments)
    return interpreted(launch, reverse=reverse, steps=steps)


def assert_event(found: Interpreted, kind: Kind, text: str) -> None:
    lines = {(event.kind, event.line) for event in found.run.events}
    assert (kind, line_of(text)) in lines, found.run.events


def reaches(found: Interpreted, buffer: int, index: int) -> set[str]:
    """The kinds of events that the slice of an output element shows."""
    node = found.buffers[buffer].node(index)
    return {kind for kind, _ in found.device.tape.slice(node).undefined()}


def test_a_missing_barrier_is_a_race_that_reaches_the_sum() -> None:
    found = run("no_barrier", (floats(200), empty(1), np.int32(200)))
    assert_event(found, Kind.RACE, "held[t] += held[t + s]")
    assert Kind.RACE in reaches(found, 1, 0)


def test_a_buffer_filled_again_before_everybody_has_read_it_is_a_race() -> None:
    found = run("early_reuse", (floats(128), empty(128)))
    assert_event(found, Kind.RACE, "held[t] = x[k * 64 + t]")


def test_threads_beyond_the_output_write_outside() -> None:
    found = run("no_bounds", (floats(64), empty(100)), blocks=2)
    assert_event(found, Kind.WRITE_OUTSIDE, "no_bounds")
    assert found.run.events[0].times == 28
    assert found.run.events[0].block == (1, 0, 0)


def test_a_read_past_the_end_reaches_the_last_element_only() -> None:
    found = run("reads_past", (floats(64), empty(64), np.int32(64)))
    assert_event(found, Kind.READ_OUTSIDE, "if (i < n) y[i]")
    assert reaches(found, 1, 63) == {Kind.READ_OUTSIDE}
    assert reaches(found, 1, 62) == set()


def test_shared_memory_that_is_too_small_is_overrun() -> None:
    found = run("shared_overrun", (floats(32), empty(32)), threads=32)
    assert_event(found, Kind.WRITE_OUTSIDE, "held[threadIdx.x + 2]")


def test_shared_memory_that_nobody_wrote_is_uninitialised() -> None:
    found = run("unwritten_shared", (floats(32), empty(32), np.int32(20)), threads=32)
    assert_event(found, Kind.UNINITIALISED, "  y[threadIdx.x] = held[threadIdx.x];  // some")
    assert reaches(found, 1, 20) == {Kind.UNINITIALISED}
    assert reaches(found, 1, 19) == set()


def test_a_float4_at_an_odd_place_is_misaligned() -> None:
    found = run("crooked", (floats(64), empty(8)), threads=8)
    assert_event(found, Kind.MISALIGNED, "float4 v")


def test_barriers_in_two_branches_are_divergent() -> None:
    found = run("torn_barrier", (floats(64), empty(64)))
    assert {event.kind for event in found.run.events} == {Kind.BARRIER}


def test_a_stencil_in_place_races_between_blocks() -> None:
    found = run("in_place", (floats(128), np.int32(128)), threads=32, blocks=4)
    assert Kind.CROSS_BLOCK in {event.kind for event in found.run.events}


def test_many_values_for_one_place_disagree() -> None:
    found = run("everybody", (floats(32), empty(1)), threads=32)
    assert_event(found, Kind.DISAGREEING, "everybody")


@pytest.mark.parametrize(("kernel", "agrees"), [("last_one", False), ("sum_of_all", True)])
def test_the_other_schedule_shows_what_depends_on_order(kernel: str, agrees: bool) -> None:
    """A sum over the reals is the same in any order; who exchanges last is not."""
    arguments = (floats(256), np.zeros(1, np.float32))
    one, other = (run(kernel, arguments, blocks=4, reverse=reverse) for reverse in (False, True))
    leaves = [found.device.tape.slice(found.buffers[1].node(0)).leaves() for found in (one, other)]
    assert (leaves[0] == leaves[1]) is agrees


def test_a_kernel_that_never_ends_is_stopped_with_a_reason() -> None:
    found = run("for_ever", (floats(1), empty(8)), threads=32)
    assert found.run.stopped is not None
    assert found.run.stopped.reason.startswith("step limit")


def test_the_clock_is_unknown_by_name() -> None:
    found = run("clocked", (empty(32),), threads=32)
    assert found.run.stopped is not None
    assert "clock" in found.run.stopped.reason


def test_every_branch_that_data_decides_is_listed_with_its_sides() -> None:
    x = floats(64)
    x[5] = 30.0
    found = run("decided", (x, empty(64)))
    (decision,) = found.run.decisions
    assert decision.line == line_of("if (v > 20.0f)")
    went = dict(zip(decision.lanes.tolist(), decision.taken.tolist(), strict=True))
    assert sum(went[lane] != went[5] for lane in went) == 63


def test_a_slice_holds_the_operations_of_one_output_and_nothing_else() -> None:
    found = run("weighted", (floats(80), floats(20), empty(4), np.int32(20)), threads=4)
    slice_ = found.device.tape.slice(found.buffers[2].node(2))
    assert slice_.leaves() == frozenset([*range(40, 60), *range(80, 100)])
    assert [op for op in slice_.ops if op is Op.MUL] == [Op.MUL] * 20
    assert {slice_.lines[i] for i, op in enumerate(slice_.ops) if op is Op.ADD} == {
        line_of("sum += x[threadIdx.x * n + k] * w[k]")
    }
    assert np.uint32(slice_.bits[-1]).view(np.float32) == found.arrays()[2][2]


def test_a_function_that_calls_itself_is_unknown_and_no_endless_translation() -> None:
    source = """
    __device__ __noinline__ float deep(float x, int n) { return n ? deep(x * 2, n - 1) + deep(x, n / 2) : x; }
    __global__ void k(float* y, int n) { y[0] = deep(y[1], n); }
    """
    with pytest.raises(Unknown, match="call"):
        compiled_text(source, "k")


def test_a_barrier_for_some_threads_only_is_unknown_by_name() -> None:
    source = '__global__ void k(float* y) { asm volatile("bar.sync 1, 64;"); y[0] = 1; }'
    with pytest.raises(Unknown, match=r"bar\.sync"):
        compiled_text(source, "k")


def test_blocks_that_run_alone_give_what_all_blocks_give_together() -> None:
    launch = Launch(
        "faults.cu",
        "weighted",
        (3, 1, 1),
        (4, 1, 1),
        (floats(240), floats(20), empty(12), np.int32(20)),
    )
    together = interpreted(launch)
    alone = interpreted(launch, blocks=((1, 0, 0),))
    assert alone.arrays()[2][:4].tolist() == together.arrays()[2][:4].tolist()
    assert alone.run.lane_steps * 3 == together.run.lane_steps
