"""Our own kernels in pairs: right, and wrong by one change; a pair for every kind of bug.

A twin's kernel is called `k`, takes the reference's inputs in their order (parameters first, as state_dict
has them), then the output, then the numbers in `extra`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fuzzers.dirigo.verdict import Fault

Three = tuple[int, int, int]

MODULE = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, {names}):
        return {body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


@dataclass(frozen=True)
class Twin:
    """`right` becomes wrong by one replacement, `was` by `becomes`, or by another grid."""

    bug: str
    body: str
    right: str
    was: str = ""
    becomes: str = ""
    shapes: tuple[str, ...] = ("4, 64",)
    init: str = "pass"
    grid: Three = (1, 1, 1)
    block: Three = (64, 1, 1)
    wrong_grid: Three | None = None
    extra: tuple[int, ...] = (64,)
    faults: frozenset[Fault] = frozenset({Fault.VALUE})
    out: str = "empty"
    note: bool = False

    @property
    def reference(self) -> str:
        names = ", ".join("abc"[: len(self.shapes)])
        inputs = ", ".join(f"torch.randn({shape})" for shape in self.shapes)
        return MODULE.format(init=self.init, names=names, body=self.body, inputs=inputs)

    def kernel(self, wrong: bool) -> str:
        if not wrong or not self.was:
            return self.right
        assert self.right.count(self.was) == 1, (self.bug, self.right.count(self.was))
        return self.right.replace(self.was, self.becomes)

    def launched(self, wrong: bool) -> Three:
        return self.wrong_grid if wrong and self.wrong_grid else self.grid


EACH = """\
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = VALUE;
  }
}
"""
LOOP = """\
__global__ void k(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    y[i] = 2.0f * x[i];
}
"""
ROWS = """\
__global__ void k(const float* x, float* y, int n) {
  int row = threadIdx.x;
  if (row < 4) {
    const float* p = x + row * n;
    BODY
  }
}
"""
NORM = """\
__global__ void k(PARAMETERSconst float* x, float* y, int n) {
  int row = threadIdx.x;
  if (row < 4) {
    const float* p = x + row * n;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += p[i];
    float mean = sum / n;
    float square = 0.0f;
    for (int i = 0; i < n; i++) square += (p[i] - mean) * (p[i] - mean);
    float var = square / n;
    for (int i = 0; i < n; i++) y[row * n + i] = VALUE;
  }
}
"""
SOFTMAX = """\
__global__ void k(const float* x, float* y, int n) {
  __shared__ float held[64];
  int t = threadIdx.x;
  const float* p = x + blockIdx.x * n;
  float* q = y + blockIdx.x * n;
  held[t] = t < n ? p[t] : -INFINITY;
  __syncthreads();
  for (int s = 32; s > 0; s /= 2) {
    if (t < s) held[t] = fmaxf(held[t], held[t + s]);
    __syncthreads();
  }
  float top = held[0];
  __syncthreads();  // everybody has read it
  held[t] = t < n ? expf(p[t] - top) : 0.0f;
  __syncthreads();
  for (int s = 32; s > 0; s /= 2) {
    if (t < s) held[t] += held[t + s];
    __syncthreads();  // between steps
  }
  if (t < n) q[t] = expf(p[t] - top) / held[0];
}
"""
MATMUL = """\
__global__ void k(const float* a, const float* b, float* c, int n) {
  __shared__ float s[16][16], t[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int at = 0; at < n; at += 16) {
    s[threadIdx.y][threadIdx.x] = a[row * n + at + threadIdx.x];
    t[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * 32 + column];
    __syncthreads();  // filled
    for (int l = 0; l < 16; l++) sum += s[threadIdx.y][l] * t[l][threadIdx.x];
    __syncthreads();  // used
  }
  c[row * 32 + column] = sum;
}
"""
RACE = frozenset({Fault.RACE})
FLOATING = frozenset({Fault.FLOATING, Fault.VALUE})


def each(bug: str, body: str, right: str, wrong: str, **more: object) -> Twin:
    """An elementwise pair: `wrong` in place of `right`."""
    text = EACH.replace("VALUE", right)
    given = {"grid": (4, 1, 1), "extra": (256,), **more}
    return Twin(bug, body, text, f"= {right};", f"= {wrong};", **given)  # type: ignore[arg-type]


def rows(bug: str, body: str, right: str, was: str, becomes: str, **more: object) -> Twin:
    return Twin(bug, body, ROWS.replace("BODY", right), was, becomes, **more)  # type: ignore[arg-type]


def norm(bug: str, right: str, wrong: str, **more: object) -> Twin:
    """A layer normalisation."""
    text = NORM.replace("VALUE", right).replace("PARAMETERS", str(more.pop("parameters", "")))
    given = {"body": "F.layer_norm(a, (64,))", **more}
    return Twin(bug=bug, right=text, was=right, becomes=wrong, **given)  # type: ignore[arg-type]


TWINS = (
    Twin(
        "missing bounds check, written",
        "a * 2",
        EACH.replace("VALUE", "v * 2.0f"),
        "if (i < n)",
        "if (i < n + 6)",
        shapes=("250",),
        grid=(4, 1, 1),
        extra=(250,),
        faults=frozenset({Fault.WRITE_OUTSIDE}),
    ),
    rows(
        "out-of-bounds read",
        "a.sum(1)",
        "float s = 0.0f; for (int i = 0; i < n; i++) s += p[i]; y[row] = s;",
        "i < n",
        "i <= n",
        faults=frozenset({Fault.VALUE, Fault.READ_OUTSIDE}),
    ),
    Twin(
        "wrong stride",
        "a.t().contiguous()",
        "__global__ void k(const float* x, float* y, int n) {\n"
        "  int i = blockIdx.x, j = threadIdx.x;\n  y[j * 4 + i] = x[i * n + j];\n}\n",
        "i * n + j",
        "i * 32 + j",
        grid=(4, 1, 1),
    ),
    Twin(
        "missing grid stride",
        "a * 2",
        LOOP,
        "i < n; i += blockDim.x * gridDim.x",
        "i < n; i += n",
        grid=(2, 1, 1),
        extra=(256,),
        faults=frozenset({Fault.UNWRITTEN}),
    ),
    Twin(
        "too small a grid",
        "a * 2",
        EACH.replace("VALUE", "v * 2.0f"),
        grid=(4, 1, 1),
        wrong_grid=(3, 1, 1),
        extra=(256,),
        faults=frozenset({Fault.UNWRITTEN}),
    ),
    rows(
        "hard-coded size",
        "a.sum(1)",
        "float s = 0.0f; for (int i = 0; i < n; i++) s += p[i]; y[row] = s;",
        "i < n",
        "i < 60",
    ),
    Twin(
        "missing barrier after the maximum",
        "torch.softmax(a, 1)",
        SOFTMAX,
        "  __syncthreads();  // everybody has read it\n",
        "",
        grid=(4, 1, 1),
        faults=RACE,
    ),
    Twin(
        "missing barrier in a reduction",
        "torch.softmax(a, 1)",
        SOFTMAX,
        "    __syncthreads();  // between steps\n",
        "",
        grid=(4, 1, 1),
        faults=RACE,
    ),
    Twin(
        "missing barrier in a tiled product",
        "a @ b",
        MATMUL,
        "    __syncthreads();  // used\n",
        "",
        shapes=("32, 48", "48, 32"),
        grid=(2, 2, 1),
        block=(16, 16, 1),
        extra=(48,),
        faults=RACE,
    ),
    Twin(
        "wrong index in a tiled product",
        "a @ b",
        MATMUL,
        "t[l][threadIdx.x]",
        "t[threadIdx.x][l]",
        shapes=("32, 48", "48, 32"),
        grid=(2, 2, 1),
        block=(16, 16, 1),
        extra=(48,),
    ),
    Twin(
        "barrier in divergent code",
        "torch.softmax(a, 1)",
        SOFTMAX,
        "    if (t < s) held[t] += held[t + s];\n    __syncthreads();  // between steps\n",
        "    if (t < s) { held[t] += held[t + s]; __syncthreads(); }\n"
        "    else { held[t] += 0.0f; __syncthreads(); }\n",
        grid=(4, 1, 1),
        faults=frozenset({Fault.BARRIER, Fault.RACE}),
    ),
    Twin(
        "shared-memory overrun",
        "torch.softmax(a, 1)",
        SOFTMAX,
        "float held[64]",
        "float held[48]",
        grid=(4, 1, 1),
        faults=frozenset({Fault.WRITE_OUTSIDE}),
    ),
    Twin(
        "shared memory that nobody wrote",
        "torch.softmax(a, 1)",
        SOFTMAX,
        "  held[t] = t < n ? p[t] : -INFINITY;",
        "  if (t < 60) held[t] = t < n ? p[t] : -INFINITY;",
        grid=(4, 1, 1),
        faults=frozenset({Fault.UNINITIALISED}),
    ),
    rows(
        "initial value of a maximum",
        "a.max(1)[0]",
        "float m = -INFINITY; for (int i = 0; i < n; i++) m = fmaxf(m, p[i]); y[row] = m;",
        "-INFINITY",
        "0.0f",
    ),
    rows(
        "initial value of a minimum",
        "a.min(1)[0]",
        "float m = INFINITY; for (int i = 0; i < n; i++) m = fminf(m, p[i]); y[row] = m;",
        "INFINITY",
        "100.0f",
        faults=FLOATING,
    ),
    rows(
        "initial value of a product",
        "a.abs().sum(1) + 1",
        "float s = 1.0f; for (int i = 0; i < n; i++) s += fabsf(p[i]); y[row] = s;",
        "float s = 1.0f",
        "float s = 0.0f",
    ),
    rows(
        "softmax without its maximum",
        "torch.softmax(a, 1)",
        "float m = -INFINITY; for (int i = 0; i < n; i++) m = fmaxf(m, p[i]);\n"
        "    float s = 0.0f; for (int i = 0; i < n; i++) s += expf(p[i] - m);\n"
        "    for (int i = 0; i < n; i++) y[row * n + i] = expf(p[i] - m) / s;",
        "float s = 0.0f;",
        "m = 0.0f; float s = 0.0f;",
        faults=FLOATING,
    ),
    norm(
        "eps left out", "(p[i] - mean) * rsqrtf(var + 1e-5f)", "(p[i] - mean) * rsqrtf(var)", faults=FLOATING
    ),
    norm(
        "eps outside the root", "(p[i] - mean) / sqrtf(var + 1e-5f)", "(p[i] - mean) / (sqrtf(var) + 1e-5f)"
    ),
    norm("eps of another size", "(p[i] - mean) / sqrtf(var + 1e-5f)", "(p[i] - mean) / sqrtf(var + 1e-4f)"),
    norm(
        "unbiased variance",
        "(p[i] - mean) / sqrtf(var + 1e-5f)",
        "(p[i] - mean) / sqrtf(square / (n - 1) + 1e-5f)",
    ),
    norm(
        "ignored parameter",
        "(p[i] - mean) * rsqrtf(var + 1e-5f) * g[i] + b[i]",
        "(p[i] - mean) * rsqrtf(var + 1e-5f)",
        init="self.norm = nn.LayerNorm(64)",
        body="self.norm(a)",
        parameters="const float* g, const float* b, ",
    ),
    Twin(
        "variance by cancellation",
        "F.layer_norm(a, (64,))",
        NORM.replace("VALUE", "(p[i] - mean) * rsqrtf(var + 1e-5f)").replace("PARAMETERS", ""),
        "square += (p[i] - mean) * (p[i] - mean);\n    float var = square / n;",
        "square += p[i] * p[i];\n    float var = square / n - mean * mean;",
        faults=FLOATING,
    ),
    rows(
        "ignored batch",
        "a.sum(1)",
        "float s = 0.0f; for (int i = 0; i < n; i++) s += p[i]; y[row] = s;",
        "s += p[i]",
        "s += x[i]",
    ),
    each("constant output", "torch.sigmoid(a)", "1.0f / (1.0f + expf(-v))", "0.5f"),
    Twin(
        "stale output",
        "torch.relu(a)",
        EACH.replace("VALUE", "v > 0.0f ? v : 0.0f"),
        "y[i] = v > 0.0f ? v : 0.0f;",
        "if (v > 0.0f) y[i] = v;",
        grid=(4, 1, 1),
        extra=(256,),
        faults=frozenset({Fault.UNWRITTEN}),
    ),
    Twin(
        "vector load misaligned",
        "a[:, 2:34].contiguous()",
        "__global__ void k(const float* x, float* y, int n) {\n"
        "  int row = blockIdx.x, t = threadIdx.x;\n"
        "  float2 v = *reinterpret_cast<const float2*>(x + row * n + 2 + 2 * t);\n"
        "  y[row * 32 + 2 * t] = v.x;\n  y[row * 32 + 2 * t + 1] = v.y;\n}\n",
        "2 + 2 * t);",
        "1 + 2 * t);",
        grid=(4, 1, 1),
        block=(16, 1, 1),
        faults=frozenset({Fault.MISALIGNED, Fault.VALUE}),
    ),
    Twin(
        "integer overflow",
        "a * 2",
        EACH.replace("VALUE", "v * 2.0f"),
        "int i = ",
        "short i = (short)",
        shapes=("40000",),
        grid=(625, 1, 1),
        extra=(40000,),
        faults=frozenset({Fault.UNWRITTEN, Fault.WRITE_OUTSIDE}),
    ),
    each("not a number dropped", "torch.relu(a)", "v < 0.0f ? 0.0f : v", "fmaxf(v, 0.0f)", note=True),
    each("slope of a leaky relu", "F.leaky_relu(a)", "v > 0.0f ? v : 0.01f * v", "v > 0.0f ? v : 0.1f * v"),
    each(
        "threshold of a softplus",
        "F.softplus(a)",
        "v > 20.0f ? v : log1pf(expf(v))",
        "log1pf(expf(v))",
        faults=FLOATING,
    ),
    each("clamp on one side", "a.clamp(-1, 1)", "fminf(fmaxf(v, -1.0f), 1.0f)", "fminf(v, 1.0f)"),
)
"""Every kind of bug, each with the faults as which it may be told; `note`: it is told as a note."""
