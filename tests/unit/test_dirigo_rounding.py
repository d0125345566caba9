"""Float arithmetic rounds once, as IEEE hardware does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from fuzzers.dirigo.simt import rounding

SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100)


def nearest(value: Fraction) -> np.float32:
    """The float32 closest to an exact number, the even one of two."""
    if not value:
        return np.float32(0)
    with np.errstate(all="ignore"):
        start = np.float32(float(value)) if abs(value) < Fraction(2) ** 1023 else np.float32(np.inf)
        if not np.isfinite(start):
            start = np.copysign(np.finfo(np.float32).max, np.float32(1 if value > 0 else -1))
            limit = Fraction(2) ** 128 - Fraction(2) ** 103
            return np.float32(start if abs(value) < limit else np.copysign(np.inf, start))
        around = [np.nextafter(start, np.float32(side)) for side in (-np.inf, np.inf)]
    finite = [start, *(v for v in around if np.isfinite(v))]
    return min(finite, key=lambda v: (abs(Fraction(float(v)) - value), int(v.view(np.uint32)) & 1))


@given(SINGLES, SINGLES, SINGLES)
@example(1.0000001192092896, 1.0000001192092896, -1.0)
@example(2.0**-75, 2.0**-75, 2.0**-149)
def test_fma_is_the_nearest_float_to_the_exact_value(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    with np.errstate(all="ignore"):
        found = rounding.fma32(*(np.array([v], np.float32) for v in (a, b, c)))[0]
    expected = nearest(exact)
    assert found == expected or (np.isinf(found) and np.isinf(expected))


def test_fma_does_not_round_twice_where_the_sum_lies_between_two_floats() -> None:
    """1 + 2^-24 is the middle of two float32; the product's last bit says which side is nearer."""
    a, b = np.float32(1 + 2**-12), np.float32(2**-24 * (1 - 2**-23))
    found = rounding.fma32(*(np.array([v], np.float32) for v in (a, b, np.float32(1))))[0]
    assert Fraction(float(found)) == Fraction(float(nearest(Fraction(float(a)) * Fraction(float(b)) + 1)))


@given(DOUBLES, DOUBLES, DOUBLES)
def test_double_fma_is_exact_before_it_rounds(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    found = rounding.fma64(*(np.array([v]) for v in (a, b, c)))[0]
    assert found == float(exact)


@given(st.floats(width=32))
def test_bfloat_goes_to_the_nearest(value: float) -> None:
    bits = rounding.f32_to_bf16(np.array([value], np.float32))
    back = rounding.bf16_to_f32(bits)[0]
    if np.isnan(value):
        assert np.isnan(back)
    else:
        near = [
            rounding.bf16_to_f32(np.array([b & 0xFFFF], np.uint16))[0]
            for b in (int(bits[0]) - 1, int(bits[0]) + 1)
        ]
        if np.isfinite(value) and np.isfinite(back) and np.isfinite(near).all():
            assert all(
                abs(Fraction(float(back)) - Fraction(value)) <= abs(Fraction(float(n)) - Fraction(value))
                for n in near
            )


def test_the_number_wins_against_not_a_number_and_plus_zero_against_minus() -> None:
    a, b = np.array([np.nan, -0.0, 0.0], np.float32), np.array([1.0, 0.0, -0.0], np.float32)
    assert not np.signbit(rounding.larger(a, b)).any()
    assert rounding.larger(a, b)[0] == rounding.smaller(a, b)[0] == 1.0
    assert np.signbit(rounding.smaller(a, b)[1:]).all()


def test_saturation_takes_what_is_not_a_number_to_zero() -> None:
    assert rounding.saturated(np.array([np.nan, -1, 0.5, 7], np.float32)).tolist() == [0, 0, 0.5, 1]


def test_inverse_of_the_error_function_undoes_it() -> None:
    points = np.linspace(-2, 2, 9)
    assert np.allclose(rounding.LIBRARY["erfinv"](rounding.LIBRARY["erf"](points)), points)
