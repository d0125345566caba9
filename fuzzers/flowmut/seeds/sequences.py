"""Seeds over sequences and graphs: text, speech, recommendation, recurrent cells, message passing."""

from __future__ import annotations

from fuzzers.flowmut.program import Program
from fuzzers.flowmut.seeds.block import Block


def attention() -> Program:
    """Self-attention with a causal mask, then layer normalisation and a gated feed-forward part."""
    b = Block()
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


def recommendation() -> Program:
    """Embedding rows, pairwise dot products with the dense features, a small MLP."""
    b = Block()
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


def recurrent() -> Program:
    """Two steps of an LSTM cell whose input gate is one minus the forget gate."""
    b = Block()
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


def encoder() -> Program:
    """An encoder's bottom: words, positions and types summed in place, normalised, masked attention."""
    b = Block()
    words, types = b.input(16, 6), b.input(2, 6)
    ids = b.input(2, 5, dtype="int64", fill="randint", high=16)
    x = b.node("embedding", words, ids)
    x = b.node("add_", x, b.node("embedding", types, b.input(2, 5, dtype="int64", fill="randint", high=2)))
    x = b.node("add_", x, b.input(5, 6))
    x = b.node("layer_norm", x, b.input(6), b.input(6), shape=(6,))
    padding = b.node("eq_scalar", ids, value=0)
    bias = b.node("mul_scalar", b.node("to", padding, dtype="float32"), value=-3)
    bias = b.node("unsqueeze", bias, dim=1)
    q, k = (b.node("linear", x, b.input(6, 6), b.input(6)) for _ in range(2))
    scores = b.node("add", b.node("matmul", q, b.node("transpose", k, dim0=1, dim1=2)), bias)
    mixed = b.node("matmul", b.node("softmax", scores, dim=-1), x)
    pooled = b.node("tanh", b.node("select", mixed, dim=1, index=0))
    return b.program("encoder", (mixed, pooled))


def cached() -> Program:
    """One step of a decoder with a cache of keys and values that is written in place."""
    b = Block()
    x = b.input(1, 1, 8)
    keys, values = b.input(1, 2, 7, 4), b.input(1, 2, 7, 4)
    at = b.input(1, dtype="int64", fill="full", low=3)
    q, k, v = (b.node("linear_no_bias", x, b.input(8, 8)) for _ in range(3))
    q, k, v = (
        b.node("transpose", b.node("reshape", t, shape=(1, 1, 2, 4)), dim0=1, dim1=2) for t in (q, k, v)
    )
    keys = b.node("index_copy_", keys, at, k, dim=2)
    values = b.node("index_copy_", values, at, v, dim=2)
    scores = b.node("matmul", q, b.node("transpose", keys, dim0=2, dim1=3))
    later = b.node("gt", b.input(7, dtype="int64", fill="arange"), at)
    scores = b.node("masked_fill", scores, later, value=-1.0)
    mixed = b.node("matmul", b.node("softmax", scores, dim=-1), values)
    merged = b.node("reshape", b.node("transpose", mixed, dim0=1, dim1=2), shape=(1, 1, 8))
    return b.program("cached", (b.node("linear_no_bias", merged, b.input(8, 8)),))


def relative() -> Program:
    """Attention with a bias by bucketed distance, scaled by the root mean square alone."""
    b = Block()
    x = b.input(2, 6, 8)
    rms = b.node(
        "rsqrt", b.node("add_scalar", b.node("mean", b.node("square", x), dim=-1, keepdim=True), value=0.5)
    )
    normed = b.node("mul", b.node("mul", x, rms), b.input(8))
    rows = b.node("unsqueeze", b.input(6, dtype="int64", fill="arange"), dim=1)
    apart = b.node("abs", b.node("sub", rows, b.input(6, dtype="int64", fill="arange")))
    near = b.node("clamp", apart, min=0, max=3)
    bias = b.node("select", b.node("embedding", b.input(4, 1), near), dim=-1, index=0)
    scores = b.node("matmul", normed, b.node("transpose", normed, dim0=1, dim1=2))
    mixed = b.node("matmul", b.node("softmax", b.node("add", scores, bias), dim=-1), normed)
    gate, up = (b.node("linear_no_bias", mixed, b.input(9, 8)) for _ in range(2))
    gated = b.node("mul", b.node("gelu_tanh", gate), up)
    return b.program("relative", (b.node("linear_no_bias", gated, b.input(8, 9)), near))


def rotary() -> Program:
    """Rotated queries and keys; fewer key heads than query heads, so that each is repeated."""
    b = Block()
    x = b.node("rms_norm", b.input(1, 5, 8), b.input(8), shape=(8,), eps=1e-5)
    q = b.node("reshape", b.node("linear_no_bias", x, b.input(16, 8)), shape=(1, 5, 4, 4))
    k = b.node("reshape", b.node("linear_no_bias", x, b.input(8, 8)), shape=(1, 5, 2, 4))
    q, k = (b.node("transpose", t, dim0=1, dim1=2) for t in (q, k))
    angle = b.node("outer", b.input(5, fill="arange"), b.input(4, fill="positive"))
    cosine, sine = b.node("cos", angle), b.node("sin", angle)
    low, high = (b.node("narrow", q, dim=3, start=at, length=2) for at in (0, 2))
    turned = b.node("cat", b.node("neg", high), low, dim=3)
    q = b.node("add", b.node("mul", q, cosine), b.node("mul", turned, sine))
    k = b.node("repeat_interleave", k, repeats=2, dim=1)
    scores = b.node("matmul", q, b.node("transpose", k, dim0=2, dim1=3))
    causal = b.node("triu", b.input(5, 5, dtype="bool", fill="ones"), diagonal=1)
    scores = b.node("masked_fill", scores, causal, value=-1.0)
    return b.program("rotary", (b.node("softmax", scores, dim=-1),))


def experts() -> Program:
    """A mixture: the best experts of each token by a router, their weights, and how much each expert gets."""
    b = Block()
    x = b.input(6, 8)
    router = b.node("softmax", b.node("linear_no_bias", x, b.input(4, 8)), dim=-1)
    order = b.node("argsort", router, dim=1, descending=True)
    chosen = b.node("narrow", order, dim=1, start=0, length=2)
    weight = b.node("gather", router, chosen, dim=1)
    weight = b.node("div", weight, b.node("sum", weight, dim=1, keepdim=True))
    taken = b.node("one_hot", chosen, classes=4)
    load = b.node("sum", b.node("to", taken, dtype="int32"), dim=(0, 1))
    spread = b.node("mul", b.node("to", taken, dtype="float32"), b.node("unsqueeze", weight, dim=2))
    mixing = b.node("sum", spread, dim=1)
    wide = b.node("einsum", b.node("repeat", x, repeats=(4, 1, 1)), b.input(4, 9, 8), equation="bij,bkj->bik")
    mixed = b.node("mul", b.node("silu", wide), b.node("unsqueeze", b.node("t", mixing), dim=2))
    return b.program("experts", (b.node("sum", mixed, dim=0), load))


def state_space() -> Program:
    """A selective scan: a causal convolution, steps that depend on the data, a scan as cumulative sums."""
    b = Block()
    x = b.input(2, 7, 4)
    moved = b.node("pad", b.node("transpose", x, dim0=1, dim1=2), pad=(2, 0))
    mixed = b.node("conv1d", moved, b.input(4, 1, 3), b.input(4), groups=4)
    u = b.node("silu", b.node("transpose", mixed, dim0=1, dim1=2))
    step = b.node("softplus", b.node("linear", u, b.input(4, 4), b.input(4)))
    decay = b.node("neg", b.node("mul", step, b.input(4, fill="positive")))
    total = b.node("clamp", b.node("cumsum", decay, dim=1), min=-1.0, max=2)
    grown = b.node("exp", b.node("neg", total))
    state = b.node("cumsum", b.node("mul", b.node("mul", u, step), grown), dim=1)
    read = b.node("mul", state, b.node("exp", total))
    skipped = b.node("addcmul", read, u, b.input(4))
    return b.program("state_space", (b.node("mul", skipped, b.node("silu", x)),))


def conformer() -> Program:
    """Speech: log energies, a gated depthwise convolution over time, half-step residuals."""
    b = Block()
    energies = b.node("log", b.node("add_scalar", b.node("square", b.input(2, 9, 6)), value=0.5))
    x = b.node("layer_norm", energies, b.input(6), b.input(6), shape=(6,))
    gated = b.node("glu", b.node("linear", x, b.input(12, 6), b.input(12)), dim=-1)
    moved = b.node("transpose", gated, dim0=1, dim1=2)
    deep = b.node("conv1d", moved, b.input(6, 1, 3), b.input(6), padding=1, groups=6)
    normed = b.node(
        "batch_norm", deep, b.input(6), *(b.input(6, fill="positive") for _ in range(2)), b.input(6)
    )
    back = b.node("transpose", b.node("silu", normed), dim0=1, dim1=2)
    half = b.node("mul_scalar", b.node("linear", back, b.input(6, 6), b.input(6)), value=0.5)
    added = b.node("add", x, half)
    pooled = b.node("max_pool1d", b.node("transpose", added, dim0=1, dim1=2), kernel_size=3, stride=2)
    scores = b.node("log_softmax", pooled, dim=1)
    return b.program("conformer", (scores, b.node("argmax", scores, dim=1)))


def graph() -> Program:
    """A graph convolution: messages along edges are added up in place, divided by the degree."""
    b = Block()
    nodes = b.input(6, 5)
    source, target = (b.input(9, dtype="int64", fill="randint", high=6) for _ in range(2))
    ones = b.input(9, fill="ones")
    degree = b.node("index_add", b.input(6, fill="ones"), target, ones, dim=0)
    norm = b.node("rsqrt", degree)
    weight = b.node("mul", b.node("lookup", norm, source), b.node("lookup", norm, target))
    hidden = b.node("linear_no_bias", nodes, b.input(4, 5))
    messages = b.node("mul", b.node("lookup", hidden, source), b.node("unsqueeze", weight, dim=1))
    total = b.node("index_add_", b.node("zeros_like", hidden), target, messages, dim=0)
    active = b.node("relu", b.node("add", total, b.input(4)))
    best = b.node("amax", active, dim=0)
    return b.program("graph", (b.node("log_softmax", active, dim=1), best))
