"""The interpreter gives, bit for bit, what g++ gives for the same kernels on random inputs."""

from __future__ import annotations

import numpy as np
import pytest
from kernels.emulate import Launch, emulated, interpreted

ONE = (1, 1, 1)


def floats(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def integers(*shape: int, high: int, seed: int = 0, low: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, shape).astype(np.int32)


def empty(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.full(shape, np.nan, dtype)


def zeros(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.zeros(shape, dtype)


def n(value: int) -> np.int32:
    return np.int32(value)


SHAPE = np.array([(5, 7, 1.5)], [("rows", "i4"), ("columns", "i4"), ("scale", "f4")])[0]
BYTES = np.random.default_rng(3).integers(0, 256, 50).astype(np.uint8)
LAUNCHES = {
    "relu": Launch("elementwise.cu", "relu", (3, 1, 1), (64, 1, 1), (floats(150), empty(150), n(150))),
    "grid stride": Launch(
        "elementwise.cu",
        "grid_stride",
        (2, 1, 1),
        (32, 1, 1),
        (floats(200), floats(200, seed=1), empty(200), n(200)),
    ),
    "gelu": Launch("elementwise.cu", "gelu", (2, 1, 1), (64, 1, 1), (floats(100), empty(100), n(100))),
    "float4": Launch(
        "elementwise.cu",
        "vectorised",
        (2, 1, 1),
        (16, 1, 1),
        (floats(101), empty(101), n(101), np.float32(0.01)),
    ),
    "template": Launch(
        "elementwise.cu", "polynomial<float, 5>", (2, 1, 1), (32, 1, 1), (floats(50), empty(50), n(50))
    ),
    "double template": Launch(
        "elementwise.cu",
        "polynomial<double, 3>",
        (2, 1, 1),
        (32, 1, 1),
        (floats(50, dtype="float64"), empty(50, dtype="float64"), n(50)),
    ),
    "half": Launch(
        "elementwise.cu",
        "halves",
        (2, 1, 1),
        (32, 1, 1),
        (floats(50, dtype="float16"), empty(50, dtype="float16"), n(50)),
    ),
    "half arithmetic": Launch(
        "elementwise.cu",
        "half_products",
        (2, 1, 1),
        (32, 1, 1),
        (floats(50, dtype="float16"), empty(50, dtype="float16"), n(50)),
    ),
    "fma": Launch(
        "elementwise.cu",
        "fused",
        (4, 1, 1),
        (128, 1, 1),
        (floats(512), floats(512, seed=1), floats(512, seed=2), empty(512), n(512)),
    ),
    "roundings": Launch(
        "elementwise.cu", "roundings", (2, 1, 1), (64, 1, 1), (floats(100), empty(100), n(100))
    ),
    "maths library": Launch(
        "elementwise.cu", "transcendental", (2, 1, 1), (64, 1, 1), (floats(100), empty(100), n(100))
    ),
    "softmax": Launch("rows.cu", "softmax", (5, 1, 1), (64, 1, 1), (floats(5, 100), empty(5, 100), n(100))),
    "shuffle sums": Launch("rows.cu", "row_sums", (4, 1, 1), (96, 1, 1), (floats(4, 200), empty(4), n(200))),
    "layer norm": Launch(
        "rows.cu",
        "layer_norm",
        (3, 1, 1),
        (32, 1, 1),
        (floats(3, 70), floats(70, seed=1), floats(70, seed=2), empty(3, 70), n(70), np.float32(1e-5)),
        shared=256,
    ),
    "butterfly": Launch("rows.cu", "butterfly", (2, 1, 1), (32, 1, 1), (floats(64), empty(64))),
    "scan": Launch("rows.cu", "scan", (2, 1, 1), (32, 1, 1), (floats(64), empty(64))),
    "votes": Launch("rows.cu", "votes", (2, 1, 1), (32, 1, 1), (floats(64), zeros(64, dtype="int32"))),
    "argmax": Launch(
        "rows.cu", "largest_index", (3, 1, 1), (64, 1, 1), (floats(3, 150), zeros(3, dtype="int32"), n(150))
    ),
    "matmul": Launch(
        "tiles.cu",
        "matmul",
        (3, 2, 1),
        (8, 8, 1),
        (floats(13, 19), floats(19, 21, seed=1), empty(13, 21), n(13), n(21), n(19)),
    ),
    "transpose": Launch(
        "tiles.cu", "transpose", (3, 2, 1), (8, 8, 1), (floats(13, 21), empty(21, 13), n(13), n(21))
    ),
    "convolution": Launch(
        "tiles.cu",
        "conv2d",
        (4, 1, 1),
        (64, 1, 1),
        (
            floats(3, 9, 10),
            floats(4, 3, 3, 3, seed=1),
            floats(4, seed=2),
            empty(4, 7, 8),
            n(3),
            n(9),
            n(10),
            n(4),
            n(3),
        ),
    ),
    "max pool": Launch(
        "tiles.cu", "max_pool", (2, 2, 1), (4, 4, 1), (floats(11, 14), empty(5, 7), n(11), n(14))
    ),
    "register tile": Launch(
        "tiles.cu",
        "register_tile",
        (1, 2, 1),
        (4, 4, 1),
        (floats(16, 16), floats(16, 16, seed=1), empty(16, 16), n(16)),
    ),
    "local array": Launch("tiles.cu", "local_array", (2, 1, 1), (32, 1, 1), (floats(50), empty(50), n(50))),
    "histogram": Launch(
        "order.cu",
        "histogram",
        ONE,
        (64, 1, 1),
        (integers(300, high=100), zeros(16, dtype="int32"), n(300)),
    ),
    "scatter add": Launch(
        "order.cu",
        "scatter_add",
        (2, 1, 1),
        (64, 1, 1),
        (floats(100), integers(100, high=7), zeros(7), n(100)),
    ),
    "compare and swap": Launch(
        "order.cu", "max_by_swap", (2, 1, 1), (64, 1, 1), (floats(100), zeros(4), n(100))
    ),
    "last block": Launch(
        "order.cu",
        "last_block",
        (3, 1, 1),
        (64, 1, 1),
        (floats(500), empty(3), empty(1), zeros(1, dtype="int32"), n(500)),
    ),
    "integers": Launch(
        "order.cu",
        "integers",
        (2, 1, 1),
        (64, 1, 1),
        (integers(100, low=-(2**31), high=2**31 - 1), zeros(100, dtype="int32"), n(100)),
    ),
    "doubles": Launch(
        "order.cu",
        "doubles",
        (2, 1, 1),
        (32, 1, 1),
        (floats(50, dtype="float64"), empty(50, dtype="float64"), n(50)),
    ),
    "called functions": Launch(
        "features.cu", "called", (2, 1, 1), (32, 1, 1), (floats(50), empty(50), n(50))
    ),
    "returned structures": Launch(
        "features.cu", "structures", (2, 1, 1), (32, 1, 1), (floats(50), empty(50), n(50))
    ),
    "parameters by value": Launch(
        "features.cu", "by_value", (2, 1, 1), (32, 1, 1), (floats(5, 7), empty(7, 5), SHAPE)
    ),
    "either space": Launch("features.cu", "either_space", ONE, (32, 1, 1), (floats(32), empty(32), n(5))),
    "bytes": Launch(
        "features.cu",
        "bytes",
        ONE,
        (64, 1, 1),
        (BYTES, np.zeros(50, np.uint8), np.zeros(50, np.int16), n(50)),
    ),
    "three dimensions": Launch(
        "features.cu",
        "three_d",
        (2, 2, 3),
        (3, 2, 2),
        (floats(5, 4, 5), empty(5, 4, 5), n(5), n(4), n(5)),
    ),
    "switch": Launch("features.cu", "switched", (2, 1, 1), (32, 1, 1), (floats(50), empty(50), n(50))),
    "divergence": Launch("order.cu", "diverging", (2, 1, 1), (64, 1, 1), (floats(100), empty(100), n(100))),
}


def assert_same_bits(launch: Launch) -> None:
    kernels = tuple(sorted({other.kernel for other in LAUNCHES.values() if other.file == launch.file}))
    found = interpreted(launch)
    assert found.run.stopped is None
    assert found.run.events == ()
    for ours, theirs in zip(found.arrays(), emulated(launch, kernels), strict=True):
        width = f"u{ours.dtype.itemsize}"
        different = np.flatnonzero(ours.view(width) != theirs.view(width))
        assert not different.size, (different[:5], ours[different[:5]], theirs[different[:5]])


@pytest.mark.parametrize("name", LAUNCHES)
def test_interpreter_agrees_bit_for_bit_with_gpp(name: str) -> None:
    assert_same_bits(LAUNCHES[name])
