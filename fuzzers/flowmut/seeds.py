"""Blocks of real models, as neutral programs: what chains start from.

Invariant: each is legal as it stands, runs eagerly in milliseconds, and has 8 to 25 nodes. They are
blocks rather than whole models because a chain cuts a window of a few nodes out of one in any case; what
matters is that producers, consumers and value ranges meet as they do in real models.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzzers.flowmut.program import Attr, Input, Node, Program


class _Block:
    """Collects inputs and nodes; every call names the next tensor."""

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.nodes: list[Node] = []

    def input(
        self, *shape: int, dtype: str = "float32", fill: str = "randn", low: int = 0, high: int = 0
    ) -> str:
        self.inputs.append(Input(f"x{len(self.inputs)}", shape, dtype, fill, low, high))
        return self.inputs[-1].name

    def node(self, op: str, *args: str, **attrs: Attr) -> str:
        self.nodes.append(Node(f"t{len(self.nodes)}", op, args, tuple(attrs.items())))
        return self.nodes[-1].name

    def program(self, origin: str, outputs: Sequence[str]) -> Program:
        return Program(tuple(self.inputs), tuple(self.nodes), tuple(outputs), origin=origin)


def _residual() -> Program:
    """Convolution, batch normalisation and ReLU twice around a shortcut, pooling, a linear head."""
    b = _Block()
    x = b.input(2, 4, 6, 6)
    y = x
    for last in (False, True):
        y = b.node("conv2d", y, b.input(4, 4, 3, 3), b.input(4), padding=1)
        mean, var = b.input(4), b.input(4, fill="positive")
        y = b.node("batch_norm", y, mean, var, b.input(4), b.input(4))
        y = b.node("add", y, x) if last else y
        y = b.node("relu", y)
    pooled = b.node("max_pool2d", y, kernel_size=2)
    pooled = b.node("adaptive_avg_pool2d", pooled, output_size=1)
    flat = b.node("reshape", pooled, shape=(2, 4))
    logits = b.node("linear", flat, b.input(5, 4), b.input(5))
    return b.program("residual", (b.node("softmax", logits, dim=1),))


def _attention() -> Program:
    """Self-attention with a causal mask, then layer normalisation and a gated feed-forward part."""
    b = _Block()
    x = b.input(2, 5, 8)
    qkv = b.node("linear", x, b.input(24, 8), b.input(24))
    q, k, v = (b.node("narrow", qkv, dim=2, start=at, length=8) for at in (0, 8, 16))
    heads = [b.node("transpose", b.node("reshape", t, shape=(2, 5, 2, 4)), dim0=1, dim1=2) for t in (q, k, v)]
    scores = b.node("matmul", heads[0], b.node("transpose", heads[1], dim0=2, dim1=3))
    scores = b.node("mul_scalar", scores, value=0.5)
    mask = b.input(5, 5, dtype="bool", fill="bool")
    scores = b.node("masked_fill", scores, mask, value=-1.0)
    mixed = b.node("matmul", b.node("softmax", scores, dim=3), heads[2])
    merged = b.node("reshape", b.node("transpose", mixed, dim0=1, dim1=2), shape=(2, 5, 8))
    added = b.node("add", merged, x)
    normed = b.node("layer_norm", added, b.input(8), b.input(8), shape=(8,))
    return b.program("attention", (b.node("gelu", normed),))


def _recommendation() -> Program:
    """Embedding rows, pairwise dot products with the dense features, a small MLP."""
    b = _Block()
    table = b.input(16, 4)
    ids = b.input(3, 6, dtype="int64", fill="randint", high=16)
    rows = b.node("embedding", table, ids)
    dense = b.node("relu", b.node("linear", b.input(3, 5), b.input(4, 5), b.input(4)))
    features = b.node("cat", b.node("unsqueeze", dense, dim=1), rows, dim=1)
    dots = b.node("bmm", features, b.node("transpose", features, dim0=1, dim1=2))
    lower = b.node("tril", dots, diagonal=-1)
    flat = b.node("cat", dense, b.node("reshape", lower, shape=(3, 49)), dim=1)
    hidden = b.node("relu", b.node("linear", flat, b.input(8, 53), b.input(8)))
    out = b.node("linear", hidden, b.input(1, 8), b.input(1))
    return b.program("recommendation", (b.node("sigmoid", b.node("squeeze", out, dim=1)),))


def _recurrent() -> Program:
    """Two steps of an LSTM cell whose input gate is one minus the forget gate."""
    b = _Block()
    h, c = b.input(3, 4), b.input(3, 4)
    weight, recurrent, bias = b.input(12, 4), b.input(12, 4), b.input(12)
    for _ in range(2):
        given = b.node("linear", b.input(3, 4), weight, bias)
        gates = b.node("add", given, b.node("linear_no_bias", h, recurrent))
        opened = b.node("sigmoid", gates)
        forget, out = (b.node("narrow", opened, dim=1, start=at, length=4) for at in (0, 4))
        new = b.node("tanh", b.node("narrow", gates, dim=1, start=8, length=4))
        c = b.node("lerp", c, new, forget)
        h = b.node("mul", out, b.node("tanh", c))
    return b.program("recurrent", (h, c))


def _pixels() -> Program:
    """Pre-processing of a byte image in integers: differences, shifts, clamps, sums, then the scaling."""
    b = _Block()
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


def _quantised() -> Program:
    """A quantised linear layer emulated in integers: zero points, int32 accumulation, requantisation."""
    b = _Block()
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


def _detection() -> Program:
    """The head of a detector: best boxes by score, gathered, masked, and counted."""
    b = _Block()
    scores = b.node("sigmoid", b.input(2, 9))
    boxes = b.input(2, 9, 4)
    best = b.node("topk_values", scores, k=3, dim=1)
    order = b.node("argsort", scores, dim=1, descending=True)
    front = b.node("narrow", order, dim=1, start=0, length=3)
    index = b.node("expand", b.node("unsqueeze", front, dim=2), sizes=(2, 3, 4))
    chosen = b.node("gather", boxes, index, dim=1)
    corner = b.node("narrow", chosen, dim=2, start=0, length=2)
    size = b.node("exp", b.node("clamp", b.node("narrow", chosen, dim=2, start=2, length=2), max=2))
    area = b.node("prod", size, dim=2)
    keep = b.node("gt_scalar", best, value=0.5)
    place = b.node("cumsum", keep, dim=1)
    kept = b.node("where", area, keep, best)
    faint = b.node("logical_not", keep)
    masked = b.node("masked_fill", best, faint, value=0)
    joined = b.node("cat", corner, b.node("add", corner, size), dim=2)
    return b.program("detection", (joined, masked, kept, place))


def _unpacked() -> Program:
    """Two 4-bit weights a byte, unpacked, centred, scaled by group, as quantised checkpoints are read."""
    b = _Block()
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


def _samples() -> Program:
    """16-bit sound: clipping, a difference filter, companding to bytes, peaks and counts."""
    b = _Block()
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


def _morphology() -> Program:
    """A byte mask grown and shrunk by its neighbours, its border, and the rows that it covers."""
    b = _Block()
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


def _hashed() -> Program:
    """Token ids folded into buckets: shifts, exclusive or, remainders, and counts over a window."""
    b = _Block()
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


SEEDS: tuple[Program, ...] = (
    _residual(),
    _attention(),
    _recommendation(),
    _recurrent(),
    _pixels(),
    _quantised(),
    _detection(),
    _unpacked(),
    _samples(),
    _morphology(),
    _hashed(),
)
"""Every seed; a chain draws one."""
