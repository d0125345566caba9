"""What programs are made of: lines that may stand in f, and whole programs in the form."""

from __future__ import annotations

EXPRESSIONS = """\
torch.add(x, x, alpha=2)
torch.cumsum(x, 0)
torch.nn.functional.relu(x)
x.sum(0)
x.mean()
x.add_(1)
x.t()
x.view(-1)
x.reshape(1, 2)
x.to(torch.float64)
x.to(dtype=torch.bfloat16)
x.float().half()
x[::2]
x[..., None]
x[x > 0]
x.expand(3, 2)
x.as_strided((2,), (1,))
x.contiguous(memory_format=torch.contiguous_format)
x.softmax(-1)
x.clamp(min=0)
x.nan_to_num()
torch.where(x > 0, x, -x)
torch.einsum('i,i->', x, x)
torch.fft.fft(x)
torch.linalg.norm(x)
torch.special.expit(x)
torch.ops.aten.add.Tensor(x, x)
torch.ops.aten._to_copy(x)
x.detach().clone()
torch.index_put(x, (torch.tensor([0]),), torch.tensor([1.0]))
torch.nn.functional.dropout(x, 0.5, False)
x.scatter_add(0, torch.tensor([0, 0]), x)
torch.max(x, 0).values
x.topk(1)[0]
x.sort().indices
torch.zeros_like(x)
torch.full((2,), 3)
x.new_zeros(2)
x.type(torch.int8)
x.bool()
x.shape[0]
x.size(0)
x.numel()
x.stride()
x.dtype
x.device
x.is_contiguous()
x.T
x.item
x.unfold(0, 2, 1)
torch.func.vmap(torch.sin)(x)
torch.func.grad(lambda t: t.sum())(x)
x.requires_grad_()
torch.autograd.grad(x.sum(), x, allow_unused=True)
x.register_hook(lambda g: g * 2)
torch.vmap(torch.cos)(x)
torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)
torch.utils._pytree.tree_map(torch.sin, [x])
torch._dynamo.graph_break()
x.view(torch.int32)
x.flatten().unflatten(0, (1, 2))
x.roll(1)
x.flip(0)
torch.nn.Parameter(x)
torch.nn.Linear(2, 3)
torch.nn.init.ones_(torch.empty(2))
x.data.add_(1)
x.grad
torch.finfo(torch.float32).eps
torch.iinfo(torch.int8).max
torch.Size([2])
torch.inf
x.__add__(1)
x.__class__.__name__
torch.nn.functional.pad(x, (1, 1))
torch.cond(x.sum() > 0, lambda t: t, lambda t: -t, (x,))
torch.repeat_interleave(x, 3)
torch.arange(10)
torch.eye(4)
torch.randint(0, 100000, (3,))
x.var(correction=0)
x.cummax(0).indices
torch.stack([x, x]).amax((0, 1))
x.index_select(0, torch.tensor([1]))
"""

STATEMENTS = """\
for i in range(3):
    x = x + i
---
i = 0
while i < 3:
    i += 1
    x = x * 2
---
while True:
    x = x + 1
    break
---
y = [t * 2 for t in (x, x)]
---
y = {'a': x, 'b': [x]}
x = y['a'] + y.get('b')[0]
---
y, *rest = x, x, x
x = sum(rest, y)
---
if x.sum() > 0:
    x = -x
else:
    x = x + 1
---
try:
    x = x.view(3)
except RuntimeError as error:
    x = x + len(error.args)
---
with torch.no_grad():
    x = x + 1
---
with torch.autocast('cpu', dtype=torch.bfloat16):
    x = x + 1
---
def g(t, *, k=2, **more):
    return t * k
x = g(x, k=3, other=1)
---
g = lambda t: t + 1
x = g(x)
---
def outer():
    n = 0
    def inner():
        nonlocal n
        n += 1
        return n
    return inner
x = x + outer()()
---
def gen():
    yield x
    yield from (x, x)
x = sum(gen())
---
import math
x = x * math.pi
---
import itertools
x = x + sum(itertools.islice(itertools.count(), 3))
---
from functools import partial, reduce
x = reduce(torch.add, [x, x])
x = partial(torch.mul, other=x)(x)
---
import operator
x = operator.iadd(x, 1)
---
from collections import OrderedDict, defaultdict, namedtuple
P = namedtuple('P', 'left right')
x = P(x, x).left
---
from collections import deque
d = deque([x], maxlen=2)
d.appendleft(x)
x = d.pop()
---
from dataclasses import dataclass
@dataclass
class C:
    scale: float = 2.0
x = x * C().scale
---
from dataclasses import dataclass, replace
@dataclass(frozen=True)
class C:
    n: int
x = x * replace(C(1), n=2).n
---
from contextlib import contextmanager
@contextmanager
def c():
    yield 1
with c() as n:
    x = x + n
---
from enum import Enum
class E(Enum):
    A = 1
x = x + E.A.value
---
import copy
y = copy.deepcopy(x)
---
from functools import lru_cache
@lru_cache(None)
def g(n):
    return n
x = x + g(2)
---
class A:
    count = 0
    def __init__(self, n):
        self._n = n
    def __call__(self, t):
        self._n += 1
        return t * self._n
x = A(2)(x)
---
class A:
    def __len__(self):
        return 2
    def __getitem__(self, i):
        return i
    def __iter__(self):
        return iter((1, 2))
x = x + len(A()) + A()[1] + sum(A())
---
class A:
    @property
    def scale(self):
        return 2
    @staticmethod
    def g(n):
        return n
    @classmethod
    def h(cls):
        return cls()
x = x * A.h().scale * A.g(1)
---
class A:
    factor = 1
A.factor = 2
a = A()
a.factor += 1
a.__dict__['factor'] = 5
vars(a)['factor'] = 6
x = x * a.factor
---
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(2)
        self.register_buffer('steps', torch.zeros(1))
    def forward(self, x):
        self.steps.add_(1)
        return self.norm(x) * self.steps
x = M()(x)
---
class S(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t.clone()
    @staticmethod
    def backward(ctx, g):
        (t,) = ctx.saved_tensors
        return g * t
x = S.apply(x)
---
class T(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})
x = x.as_subclass(T)
---
x = getattr(x, 'sum')(0)
if hasattr(x, 'item'):
    x = x + 1
---
class A:
    pass
a = A()
setattr(a, 'scale', 3)
x = x * a.scale
delattr(a, 'scale')
---
m = torch.nn.Linear(2, 2)
m.weight.data.fill_(1)
m.training = False
m.bias = None
x = m(x)
---
assert x.shape == (2,), f'shape {tuple(x.shape)}'
---
x = x if isinstance(x, torch.Tensor) else torch.tensor(x)
---
n = type(x).__name__
x = x + len(n)
---
s = 'a-b'.split('-')
x = x + len(' '.join(s))
---
y = x[:, None]
y[0] = 1
y[1:] += 2
---
if (n := x.numel()) > 1:
    x = x / n
---
names = list(map(str, range(3)))
x = x + len(names)
---
import torch.nn.functional as F
x = F.gelu(x, approximate='tanh')
---
from torch import nn, Tensor
x = nn.ReLU()(x)
assert isinstance(x, Tensor)
---
from torch.nn import functional as F
x = F.silu(x)
---
x = torch.cat([x, x], dim=0)[::2].contiguous()
---
it = iter([x, x])
next(it)
for t in it:
    x = x + t
---
a, b = x.chunk(2)
x = torch.stack((a, b), -1)
---
x = 2**3 * x + (1 << 4) - 10 % 3 // 1
---
x = -x if not x.any() else +x
x = ~(x > 0) | (x < 1) & (x != 2) ^ (x == 3)
---
x = x @ x
---
x = x.masked_fill(x.isnan(), float('-inf'))
---
x = torch.tensor([255], dtype=torch.uint8) + x.to(torch.uint8)
"""

IN_F = (
    *(f"y = {one}" for one in EXPRESSIONS.splitlines()),
    *(one.strip("\n") for one in STATEMENTS.split("\n---\n")),
)

WHOLE = (
    """\
import torch


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 2.0
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x):
        self.offset.add_(1)
        return x * self.factor + self.offset


model = Scale()


def f(x):
    return model(x)


def setup():
    model.factor = 2.0
    model.offset.fill_(1)


def inputs():
    torch.manual_seed(1)
    x = torch.randn(3, 4, requires_grad=True)
    return (x,)


def again():
    torch.manual_seed(2)
    model.factor = 3.0
    x = torch.randn(5, 4, requires_grad=True)
    return (x,)
""",
    '''\
"""A counter in a closure, a list that grows, a class whose attribute changes."""

import itertools

import torch

counter = itertools.count(1)
history = []


class Config:
    scale = 1


def helper(x, *, bias=0.5):
    history.append(x.shape[0])
    return x * Config.scale + bias


def f(x, y):
    for index, part in enumerate(x.split(2)):
        y = y + helper(part).sum() * index
    return y, len(history)


def setup():
    history.clear()
    Config.scale = 1


def inputs():
    torch.manual_seed(0)
    x = torch.randn(6, 3)[::2].expand(2, 3, 3).reshape(6, 3)
    y = torch.zeros((), dtype=torch.float32)
    return (x, y)


def again():
    Config.scale = 2
    return inputs()
''',
)
"""Programs in the form."""
