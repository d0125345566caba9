"""The tape and the race checker's stamps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.dirigo.simt.plane import Plane
from fuzzers.dirigo.simt.races import Watch, stamps
from fuzzers.dirigo.simt.tape import Full, Op, Tape


def bits(*values: float) -> np.ndarray:
    return np.array(values, np.float32).view(np.uint32)


def tape_of_sums(pairs: list[tuple[int, int]]) -> tuple[Tape, list[set[int]]]:
    """A tape whose node i adds two earlier ones (or inputs), and the inputs that each node depends on."""
    tape = Tape()
    tape.add_input("f32", bits(*range(8)))
    numbers = [-1 - i for i in range(8)]
    depends = [{i} for i in range(8)]
    for a, b in pairs:
        left, right = a % len(numbers), b % len(numbers)
        ids = (np.array([numbers[left]], np.int32), np.array([numbers[right]], np.int32))
        numbers.append(int(tape.append(Op.ADD, "f32", 1, ids, bits(0.0))[0]))
        depends.append(depends[left] | depends[right])
    tape.numbers = numbers  # type: ignore[attr-defined]
    return tape, depends


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=40))
def test_a_slice_holds_the_inputs_that_its_root_depends_on_and_is_in_order(
    pairs: list[tuple[int, int]],
) -> None:
    tape, depends = tape_of_sums(pairs)
    for number, inputs in zip(tape.numbers, depends, strict=True):  # type: ignore[attr-defined]
        found = tape.slice(number)
        assert found.leaves() == inputs
        assert all(arg < at for at, args in enumerate(found.args) for arg in args)
        used = {arg for args in found.args for arg in args}
        assert used == set(range(len(found) - 1))


def test_a_vector_instruction_is_sliced_lane_by_lane() -> None:
    tape = Tape()
    tape.add_input("f32", bits(1, 2, 3, 4))
    x = np.array([-1, -2, -3, -4], np.int32)
    two = tape.constants(bits(2.0))
    doubled = tape.append(Op.MUL, "f32", 7, (x, two), bits(2, 4, 6, 8))
    found = tape.slice(int(doubled[2]))
    assert found.leaves() == {2}
    assert list(found.ops) == [Op.INPUT, Op.CONSTANT, Op.MUL]
    assert np.uint32(found.bits[-1]).view(np.float32) == 6


def test_a_constant_of_all_lanes_is_recorded_once() -> None:
    tape = Tape()
    assert tape.constants(bits(1.5))[0] == tape.constants(bits(1.5))[0]
    assert tape.constants(bits(1.5))[0] != tape.constants(bits(2.5))[0]


def test_several_roots_end_with_the_last_one() -> None:
    tape, _ = tape_of_sums([(0, 1), (2, 3)])
    first, second = tape.numbers[-2:]  # type: ignore[attr-defined]
    found = tape.slice(second, first)
    assert found.leaves() == {0, 1, 2, 3}
    assert {found.leaf[arg] for arg in found.args[-1]} == {0, 1}


def test_a_tape_that_is_full_says_so() -> None:
    tape = Tape(limit=10)
    with pytest.raises(Full):
        tape.append(Op.NEG, "f32", 1, (), bits(*range(20)))


def test_a_wide_value_read_as_halves_and_together() -> None:
    tape = Tape()
    plane = Plane("shared", np.zeros(16, np.uint8), 4)
    value = np.array([0x4000000000000001], np.uint64)
    node = tape.constants(value)
    plane.store(tape, np.array([8]), 8, value, node)
    whole, nodes = plane.load(tape, np.array([8]), 8)
    assert whole[0] == value[0]
    assert nodes[0] == node[0]
    _, halves = plane.load(tape, np.array([8, 12]), 4)
    assert [tape.slice(int(n)).ops[-1] for n in halves] == [Op.LOW, Op.HIGH]


# Two warps of one block, phases 1 and 2, and a warp of another block.
ONE = stamps(np.array([0]), np.array([1]), np.array([0]))
TWO = stamps(np.array([0]), np.array([1]), np.array([1]))
TWO_LATER = stamps(np.array([0]), np.array([2]), np.array([1]))
ELSEWHERE = stamps(np.array([1]), np.array([2]), np.array([0]))
PLACE = np.array([3])


def watch() -> Watch:
    return Watch(8, forgets=False, swaps=False)


@pytest.mark.parametrize(("now", "races"), [(ONE, False), (TWO, True), (TWO_LATER, False), (ELSEWHERE, True)])
def test_a_read_races_with_another_warps_write_of_the_same_phase_or_another_block(
    now: np.ndarray, races: bool
) -> None:
    seen = watch()
    assert seen.write(PLACE, ONE) is None
    assert (seen.read(PLACE, now) is not None) is races


@pytest.mark.parametrize(("now", "races"), [(ONE, False), (TWO, True), (TWO_LATER, False), (ELSEWHERE, True)])
def test_a_write_races_with_another_warps_read(now: np.ndarray, races: bool) -> None:
    seen = watch()
    assert seen.read(PLACE, ONE) is None
    assert (seen.write(PLACE, now) is not None) is races


def test_a_write_races_with_one_of_several_readers() -> None:
    seen = watch()
    seen.read(PLACE, ONE)
    seen.read(PLACE, TWO)
    assert seen.write(PLACE, ONE) is not None


def test_reads_never_race() -> None:
    seen = watch()
    assert all(seen.read(PLACE, now) is None for now in (ONE, TWO, ELSEWHERE))


def test_atomic_accesses_are_in_order_among_themselves_only() -> None:
    seen = watch()
    assert seen.atomic(PLACE, ONE) is None
    assert seen.atomic(PLACE, ELSEWHERE) is None
    assert seen.read(PLACE, TWO) is not None


def test_a_new_phase_orders_shared_memory() -> None:
    seen = Watch(8, forgets=True, swaps=False)
    seen.write(PLACE, ONE)
    seen.new_phase()
    assert seen.read(PLACE, TWO) is None


def test_more_input_elements_than_there_are_numbers_are_refused() -> None:
    tape = Tape()
    endless = np.broadcast_to(bits(1.0), (2**30,))
    tape.add_input("f32", endless)
    with pytest.raises(Full, match="input elements"):
        tape.add_input("f32", endless)
