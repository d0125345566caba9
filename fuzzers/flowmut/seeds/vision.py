"""Seeds that see: convolutions, patches, windows, boxes, and models that make images."""

from __future__ import annotations

from fuzzers.flowmut.program import Program
from fuzzers.flowmut.seeds.block import Block


def residual() -> Program:
    """Convolution, batch normalisation and ReLU twice around a shortcut, pooling, a linear head."""
    b = Block()
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


def detection() -> Program:
    """The head of a detector: best boxes by score, gathered, masked, and counted."""
    b = Block()
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


def mobile() -> Program:
    """An inverted residual: expand, depthwise convolution, squeeze and excite, project."""
    b = Block()
    x = b.input(2, 3, 5, 5)
    wide = b.node("conv2d", x, b.input(6, 3, 1, 1), b.input(6))
    wide = b.node("hardswish", wide)
    deep = b.node("conv2d", wide, b.input(6, 1, 3, 3), b.input(6), padding=1, groups=6)
    deep = b.node(
        "batch_norm", deep, b.input(6), *(b.input(6, fill="positive") for _ in range(2)), b.input(6)
    )
    deep = b.node("relu", deep)
    pooled = b.node("mean", deep, dim=(2, 3), keepdim=True)
    gate = b.node("relu", b.node("conv2d", pooled, b.input(2, 6, 1, 1), b.input(2)))
    gate = b.node("sigmoid", b.node("conv2d", gate, b.input(6, 2, 1, 1), b.input(6)))
    gated = b.node("mul", deep, gate)
    narrow = b.node("conv2d", gated, b.input(3, 6, 1, 1), b.input(3))
    return b.program("mobile", (b.node("add", narrow, x),))


def convnext() -> Program:
    """Depthwise convolution, then normalisation and a bottleneck with the channels last."""
    b = Block()
    x = b.input(1, 4, 6, 7)
    deep = b.node("conv2d", x, b.input(4, 1, 3, 3), b.input(4), padding=1, groups=4)
    last = b.node("permute", deep, dims=(0, 2, 3, 1))
    normed = b.node("layer_norm", last, b.input(4), b.input(4), shape=(4,))
    wide = b.node("gelu", b.node("linear", normed, b.input(8, 4), b.input(8)))
    norm = b.node("vector_norm", wide, dim=(1, 2), keepdim=True)
    mean = b.node("mean", norm, dim=-1, keepdim=True)
    response = b.node("div", norm, b.node("add_scalar", mean, value=1.5))
    scaled = b.node("mul", b.node("mul", wide, response), b.input(8))
    back = b.node("linear", b.node("add", scaled, wide), b.input(4, 8), b.input(4))
    first = b.node("permute", back, dims=(0, 3, 1, 2))
    return b.program("convnext", (b.node("add", first, x),))


def patches() -> Program:
    """A vision transformer's front: patches, a class token, positions, one attention over them."""
    b = Block()
    image = b.input(2, 3, 8, 8)
    patch = b.node("conv2d", image, b.input(6, 3, 4, 4), b.input(6), stride=4)
    tokens = b.node("transpose", b.node("reshape", patch, shape=(2, 6, 4)), dim0=1, dim1=2)
    token = b.node("expand", b.input(1, 1, 6), sizes=(2, 1, 6))
    tokens = b.node("add", b.node("cat", token, tokens, dim=1), b.input(1, 5, 6))
    normed = b.node("layer_norm", tokens, b.input(6), b.input(6), shape=(6,))
    q, k, v = (b.node("linear", normed, b.input(6, 6), b.input(6)) for _ in range(3))
    mixed = b.node("attention", q, k, v)
    added = b.node("add", tokens, mixed)
    front = b.node("select", added, dim=1, index=0)
    return b.program("patches", (b.node("tanh", b.node("linear", front, b.input(3, 6), b.input(3))),))


def windows() -> Program:
    """Shifted windows: roll, cut into windows, attend with a position bias, put together, roll back."""
    b = Block()
    x = b.input(1, 4, 4, 6)
    shifted = b.node("roll", b.node("roll", x, shifts=-1, dim=1), shifts=-1, dim=2)
    cut = b.node("reshape", shifted, shape=(1, 2, 2, 2, 2, 6))
    cut = b.node("reshape", b.node("permute", cut, dims=(0, 1, 3, 2, 4, 5)), shape=(4, 4, 6))
    scores = b.node("bmm", cut, b.node("transpose", cut, dim0=1, dim1=2))
    biased = b.node("add", b.node("mul_scalar", scores, value=0.5), b.input(4, 4))
    masked = b.node("masked_fill", biased, b.input(4, 4, 4, dtype="bool", fill="bool"), value=-1.0)
    mixed = b.node("bmm", b.node("softmax", masked, dim=-1), cut)
    joined = b.node("reshape", mixed, shape=(1, 2, 2, 2, 2, 6))
    joined = b.node("reshape", b.node("permute", joined, dims=(0, 1, 3, 2, 4, 5)), shape=(1, 4, 4, 6))
    back = b.node("roll", b.node("roll", joined, shifts=1, dim=2), shifts=1, dim=1)
    return b.program("windows", (b.node("add", back, x),))


def unet() -> Program:
    """Down and up once, with the skipped part cropped, padded and concatenated."""
    b = Block()
    x = b.input(1, 2, 9, 7)
    first = b.node("leaky_relu", b.node("conv2d", x, b.input(4, 2, 3, 3), b.input(4), padding=1))
    down = b.node("max_pool2d", first, kernel_size=2)
    deep = b.node("relu", b.node("conv2d", down, b.input(6, 4, 3, 3), b.input(6), padding=1))
    up = b.node("conv_transpose2d", deep, b.input(6, 4, 2, 2), b.input(4), stride=2)
    padded = b.node("pad", up, pad=(0, 1, 0, 1))
    skipped = b.node("narrow", first, dim=2, start=0, length=9)
    joined = b.node("cat", skipped, padded, dim=1)
    out = b.node("conv2d", joined, b.input(2, 8, 1, 1), b.input(2))
    mask = b.node("gt_scalar", b.node("sigmoid", out), value=0.5)
    smooth = b.node("avg_pool2d", out, kernel_size=3, stride=1, padding=1)
    return b.program("unet", (out, mask, b.node("upsample_nearest", smooth, scale=2)))


def suppression() -> Program:
    """Boxes sorted by score; those that overlap a better one too much are dropped in place."""
    b = Block()
    boxes, scores = b.input(6, 4, fill="positive"), b.input(6)
    order = b.node("argsort", scores, dim=0, descending=True)
    ordered = b.node("index_select", boxes, order, dim=0)
    low = b.node("narrow", ordered, dim=1, start=0, length=2)
    high = b.node("add", low, b.node("narrow", ordered, dim=1, start=2, length=2))
    ones, others = (b.node("unsqueeze", t, dim=1) for t in (low, high))
    left, right = b.node("maximum", ones, low), b.node("minimum", others, high)
    side = b.node("clamp", b.node("sub", right, left), min=0, max=5)
    shared = b.node("prod", side, dim=2)
    area = b.node("prod", b.node("sub", high, low), dim=1)
    total = b.node("sub", b.node("add", b.node("unsqueeze", area, dim=1), area), shared)
    close = b.node("gt_scalar", b.node("div", shared, total), value=0.5)
    earlier = b.node("triu", close, diagonal=1)
    drop = b.node("any", earlier, dim=0)
    kept = b.node("clone", b.node("index_select", scores, order, dim=0))
    wrote = b.node("masked_fill_", kept, drop, value=0)
    return b.program("suppression", (wrote, drop, ordered))


def vae() -> Program:
    """Mean and log-variance from an encoder, a sample with given noise, the divergence, a decoder."""
    b = Block()
    x = b.input(3, 9)
    hidden = b.node("elu", b.node("linear", x, b.input(8, 9), b.input(8)))
    both = b.node("linear", hidden, b.input(8, 8), b.input(8))
    mean, wide = (b.node("narrow", both, dim=1, start=at, length=4) for at in (0, 4))
    log_variance = b.node("clamp", wide, min=-1.0, max=3)
    spread = b.node("exp", b.node("mul_scalar", log_variance, value=0.5))
    sample = b.node("addcmul", mean, spread, b.input(3, 4))
    variance = b.node("exp", log_variance)
    inner = b.node("sub", b.node("add", b.node("square", mean), variance), log_variance)
    divergence = b.node("sum", b.node("add_scalar", inner, value=-1.0), dim=1)
    decoded = b.node("sigmoid", b.node("linear", sample, b.input(9, 4), b.input(9)))
    error = b.node("mean", b.node("square", b.node("sub", decoded, x)), dim=1)
    return b.program("vae", (decoded, b.node("add", error, divergence)))


def diffusion() -> Program:
    """A residual block of a diffusion model: normalised by group, moved by an embedding of the time."""
    b = Block()
    x, time = b.input(2, 4, 5, 5), b.input(2, 1, fill="positive")
    angle = b.node("mul", time, b.input(3, fill="positive"))
    encoded = b.node("cat", b.node("sin", angle), b.node("cos", angle), dim=1)
    moved = b.node("linear", b.node("silu", encoded), b.input(8, 6), b.input(8))
    scale, shift = (b.node("narrow", moved, dim=1, start=at, length=4) for at in (0, 4))
    y = b.node("silu", b.node("group_norm", x, b.input(4), b.input(4), groups=2))
    y = b.node("conv2d", y, b.input(4, 4, 3, 3), b.input(4), padding=1)
    scale, shift = (b.node("reshape", t, shape=(2, 4, 1, 1)) for t in (scale, shift))
    y = b.node("addcmul", shift, y, b.node("add_scalar", scale, value=1))
    y = b.node("conv2d", b.node("silu", y), b.input(4, 4, 3, 3), b.input(4), padding=1)
    return b.program("diffusion", (b.node("add", y, x),))
