"""Seeds that compute with integers: pre- and post-processing, quantisation, hashing."""

from __future__ import annotations

from fuzzers.flowmut.program import Program
from fuzzers.flowmut.seeds.block import Block


def pixels() -> Program:
    """Pre-processing of a byte image in integers: differences, shifts, clamps, sums, then the scaling."""
    b = Block()
    image = b.input(3, 8, 16, dtype="uint8", fill="randint", high=256)
    background = b.input(3, 8, 16, dtype="uint8", fill="randint", high=256)
    difference = b.node("abs", b.node("sub", image, background))
    dark = b.node("shift_right_scalar", difference, value=2)
    wide = b.node("to", dark, dtype="int16")
    centred = b.node("add_scalar", wide, value=-3)
    clamped = b.node("clamp", centred, min=0, max=3)
    packed = b.node("to", clamped, dtype="int8")
    flipped = b.node("flip", packed, dims=(2,))
    counts = b.node("sum", flipped, dim=2)
    peak = b.node("amax", image, dim=(1, 2))
    scaled = b.node("div_scalar", b.node("to", image, dtype="float32"), value=255.0)
    bright = b.node("where", image, b.node("gt", image, background), background)
    return b.program("pixels", (counts, peak, b.node("permute", scaled, dims=(1, 2, 0)), bright))


def quantised() -> Program:
    """A quantised linear layer emulated in integers: zero points, int32 accumulation, requantisation."""
    b = Block()
    x = b.input(4, 8, dtype="float32")
    scaled = b.node("round", b.node("mul_scalar", x, value=16))
    low = b.node("clamp", scaled, min=-128, max=127)
    q = b.node("to", b.node("to", low, dtype="int8"), dtype="int32")
    shifted = b.node("add_scalar", q, value=3)
    weight = b.input(6, 8, dtype="int8", fill="randint", low=-8, high=9)
    products = b.node("mul", b.node("unsqueeze", shifted, dim=1), weight)
    total = b.node("sum", products, dim=2)
    biased = b.node("add", total, b.input(6, dtype="int32", fill="randint", low=-50, high=50))
    halved = b.node("floor_divide_scalar", biased, value=7)
    sign = b.node("bitwise_and", halved, b.input(6, dtype="int64", fill="randint", high=256))
    code = b.node("remainder_scalar", sign, value=3)
    best = b.node("argmax", halved, dim=1)
    back = b.node("mul_scalar", b.node("to", halved, dtype="float32"), value=0.5)
    return b.program("quantised", (back, b.node("to", code, dtype="uint8"), best))


def unpacked() -> Program:
    """Two 4-bit weights a byte, unpacked, centred, scaled by group, as quantised checkpoints are read."""
    b = Block()
    packed = b.input(6, 9, dtype="uint8", fill="randint", high=256)
    low = b.node("bitwise_and", packed, b.input(dtype="uint8", fill="full", low=15))
    high = b.node("shift_right_scalar", packed, value=4)
    pair = b.node("stack", low, high, dim=-1)
    codes = b.node("reshape", pair, shape=(6, 18))
    centred = b.node("add_scalar", b.node("to", codes, dtype="int8"), value=-8)
    sign = b.node("sign", centred)
    size = b.node("abs", centred)
    squared = b.node("mul", size, sign)
    peak = b.node("amax", size, dim=1, keepdim=True)
    ratio = b.node("floor_divide", squared, b.node("clamp", peak, min=1, max=8))
    total = b.node("sum", squared, dim=1)
    scaled = b.node("mul", b.node("to", squared, dtype="float32"), b.input(6, 1, fill="positive"))
    return b.program("unpacked", (scaled, ratio, total))


def samples() -> Program:
    """16-bit sound: clipping, a difference filter, companding to bytes, peaks and counts."""
    b = Block()
    sound = b.input(2, 33, dtype="int16", fill="randint", low=-50, high=50)
    before = b.node("narrow", sound, dim=1, start=0, length=32)
    after = b.node("narrow", sound, dim=1, start=1, length=32)
    step = b.node("sub", after, before)
    negative = b.node("lt", step, b.input(dtype="int16", fill="zeros"))
    size = b.node("clamp", b.node("to", b.node("abs", step), dtype="uint8"), min=0, max=90)
    code = b.node("bitwise_not", b.node("shift_right_scalar", size, value=1))
    flipped = b.node(
        "where", code, negative, b.node("bitwise_xor", code, b.input(dtype="uint8", fill="full", low=64))
    )
    framed = b.node("reshape", flipped, shape=(2, 4, 8))
    loudest = b.node("amax", framed, dim=2)
    crossings = b.node("sum", negative, dim=1)
    energy = b.node("sum", b.node("square", step), dim=1)
    return b.program("samples", (flipped, loudest, crossings, energy))


def morphology() -> Program:
    """A byte mask grown and shrunk by its neighbours, its border, and the rows that it covers."""
    b = Block()
    image = b.input(3, 19, dtype="uint8", fill="randint", high=256)
    mask = b.node("gt", image, b.input(dtype="uint8", fill="full", low=99))
    bytes_ = b.node("mul", b.node("to", mask, dtype="uint8"), image)
    left, right = (b.node("roll", bytes_, shifts=by, dim=1) for by in (1, -1))
    grown = b.node("maximum", b.node("maximum", left, right), bytes_)
    shrunk = b.node("minimum", b.node("minimum", left, right), bytes_)
    border = b.node("sub", grown, shrunk)
    dark = b.node("neg", border)
    halved = b.node("floor_divide_scalar", dark, value=2)
    phase = b.node("remainder_scalar", image, value=7)
    area = b.node("cumsum", border, dim=1)
    widest = b.node("argmax", halved, dim=0)
    covered = b.node("any", mask, dim=1)
    return b.program("morphology", (b.node("add", halved, phase), area, widest, covered))


def hashed() -> Program:
    """Token ids folded into buckets: shifts, exclusive or, remainders, and counts over a window."""
    b = Block()
    ids = b.input(4, 7, dtype="int32", fill="randint", high=1000)
    before = b.node("roll", ids, shifts=1, dim=1)
    folded = b.node("bitwise_xor", b.node("shift_left_scalar", ids, value=2), before)
    bucket = b.node("remainder_scalar", folded, value=31)
    byte = b.node("to", bucket, dtype="int8")
    odd = b.node("bitwise_and", byte, b.input(dtype="int8", fill="ones"))
    marked = b.node("masked_fill", byte, b.node("eq_scalar", odd, value=1), value=0)
    ranked = b.node("sort_values", marked, dim=1)
    table = b.input(31, 4)
    rows = b.node("lookup", table, b.node("to", bucket, dtype="int64"))
    mean = b.node("mean", rows, dim=1)
    most = b.node("amax", byte, dim=1)
    return b.program("hashed", (ranked, mean, most, b.node("cumsum", odd, dim=1)))
