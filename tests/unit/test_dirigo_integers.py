"""Integer instructions give what PTX says, for every width, on any operands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzers.dirigo.simt import integers

KINDS = [np.dtype(name) for name in ("i2", "u2", "i4", "u4", "i8", "u8")]


def numbers(kind: np.dtype) -> st.SearchStrategy[int]:
    limits = np.iinfo(kind)
    edges = st.sampled_from([int(limits.min), int(limits.max), 0, 1, 2])
    return edges | st.integers(int(limits.min), int(limits.max))


PAIRS = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), numbers(kind), numbers(kind)))


def wrapped(value: int, kind: np.dtype) -> int:
    bits = 8 * kind.itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind.kind == "i" and value >> (bits - 1) else value


def one(function: Callable[..., np.ndarray], kind: np.dtype, *values: int) -> int:
    with np.errstate(all="ignore"):
        return int(function(*(np.array([value], kind) for value in values))[0])


def towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@given(PAIRS)
def test_division_goes_towards_zero(drawn: tuple[np.dtype, int, int]) -> None:
    kind, a, b = drawn
    if b:
        assert one(integers.divide, kind, a, b) == wrapped(towards_zero(a, b), kind)
        assert one(integers.remainder, kind, a, b) == wrapped(a - towards_zero(a, b) * b, kind)


@given(PAIRS)
def test_both_halves_of_a_product_make_the_product(drawn: tuple[np.dtype, int, int]) -> None:
    kind, a, b = drawn
    assert one(integers.high_product, kind, a, b) == wrapped(a * b >> 8 * kind.itemsize, kind)


@given(PAIRS, st.integers(0, 200))
def test_shifts_past_the_width_leave_nothing_but_the_sign(drawn: tuple[np.dtype, int, int], by: int) -> None:
    kind, a, _ = drawn
    amount = np.array([by], np.uint32)
    with np.errstate(all="ignore"):
        left = int(integers.shift_left(np.array([a], kind), amount)[0])
        right = int(integers.shift_right(np.array([a], kind), amount)[0])
    assert left == wrapped(a << by, kind)
    assert right == a >> by


@given(st.integers(0, 2**32 - 1))
def test_leading_zeros_and_reversed_bits(value: int) -> None:
    kind = np.dtype("u4")
    assert one(integers.leading_zeros, kind, value) == 32 - value.bit_length()
    assert one(integers.reverse_bits, kind, value) == int(f"{value:032b}"[::-1], 2)


@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(0, 40))
def test_an_extracted_field_put_back_changes_nothing(value: int, start: int, length: int) -> None:
    bits, at, many = (np.array([v], np.uint32) for v in (value, start, length))
    field = integers.extract_field(bits, at, many)
    if start + length <= 32:
        assert int(field[0]) == value >> start & ((1 << length) - 1)
        assert int(integers.insert_field(field, bits, at, many)[0]) == value


@given(st.integers(0, 2**32 - 1), st.integers(0, 31), st.integers(1, 32))
def test_a_signed_field_extends_its_last_bit(value: int, start: int, length: int) -> None:
    bits = np.array([value], np.uint32).view(np.int32)
    found = integers.extract_field(bits, np.array([start], np.uint32), np.array([length], np.uint32))
    if start + length <= 32:
        field = value >> start & ((1 << length) - 1)
        assert int(found[0]) == field - (1 << length if field >> (length - 1) else 0)


@given(*[st.integers(0, 2**32 - 1)] * 3, st.integers(0, 255))
def test_any_function_of_three_bits(a: int, b: int, c: int, table: int) -> None:
    found = integers.lookup(*(np.array([v], np.uint32) for v in (a, b, c, table)))
    for at in range(32):
        row = (a >> at & 1) << 2 | (b >> at & 1) << 1 | c >> at & 1
        assert int(found[0]) >> at & 1 == table >> row & 1


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1))
def test_a_selector_picks_bytes_of_two_words(low: int, high: int, selector: int) -> None:
    found = int(integers.permute_bytes(*(np.array([v], np.uint32) for v in (low, high, selector)))[0])
    whole = (high << 32 | low).to_bytes(8, "little")
    for at, byte in enumerate(found.to_bytes(4, "little")):
        nibble = selector >> 4 * at & 15
        picked = whole[nibble & 7]
        assert byte == ((255 if picked & 128 else 0) if nibble & 8 else picked)


@pytest.mark.parametrize("kind", [np.dtype("i4"), np.dtype("u4")])
def test_division_by_zero_sets_every_bit_and_raises_nothing(kind: np.dtype) -> None:
    assert one(integers.divide, kind, 7, 0) == wrapped(-1, kind)
    assert one(integers.remainder, kind, 7, 0) == 7
