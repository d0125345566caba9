"""Dynamo: constructors, subclasses, special methods, closures and containers."""

from __future__ import annotations

import ast
from collections.abc import Callable

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    FACTORIES,
    nodes,
)
from fuzzers.alignguard.needs import numeric, rank
from fuzzers.alignguard.variants import Variant, any_of


def _called(n: ast.AST, *names: str) -> bool:
    if not isinstance(n, ast.Call):
        return False
    name = n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "")
    return name in names


def _sized(n: ast.AST) -> bool:
    """A constructor whose arguments ask another tensor for its size."""
    return _called(n, *FACTORIES) and any(
        isinstance(m, ast.Attribute) and m.attr in ("shape", "size", "numel", "dim", "ndim")
        for m in ast.walk(n)
    )


def _listed(n: ast.AST) -> bool:
    return (
        _called(n, "tensor", "as_tensor")
        and isinstance(n, ast.Call)
        and bool(n.args)
        and any(isinstance(m, ast.List | ast.ListComp | ast.Tuple) for m in ast.walk(n.args[0]))
    )


def _class_with(*methods: str) -> Callable[[ast.AST], bool]:
    return lambda n: (
        isinstance(n, ast.ClassDef)
        and any(isinstance(m, ast.FunctionDef) and m.name in methods for m in n.body)
    )


def _subclass(n: ast.AST) -> bool:
    return isinstance(n, ast.ClassDef) and any(ast.unparse(b) == "torch.Tensor" for b in n.bases)


def _mutable_default(n: ast.AST) -> bool:
    return isinstance(n, ast.FunctionDef) and any(isinstance(d, ast.List | ast.Dict) for d in n.args.defaults)


def _unpacked(n: ast.AST) -> bool:
    return isinstance(n, ast.Call) and any(k.arg is None for k in n.keywords)


DUNDERS = [
    "__radd__",
    "__rmul__",
    "__mul__",
    "__call__",
    "__getitem__",
    "__len__",
    "__bool__",
    "__eq__",
    "__contains__",
    "__iter__",
    "__rsub__",
]

DYNAMO_OBJECTS: tuple[Characteristic, ...] = (
    Characteristic(
        "constructor fed with sizes",
        Stage.DYNAMO,
        "A tensor is made with the sizes or counts of another one, as its shape or as its values.",
        "Sizes may be symbols by then, and whether a value is a constant decides its dtype and its guard.",
        "return torch.full((x.size(0),), x.numel()) + torch.tensor([x.dim(), 2])[0]",
        nodes(_sized),
        any_of(
            Variant(
                "{y} = {x} * torch.full({x}.shape, {x}.dim() + 1)", (numeric, lambda t: t.shape is not None)
            ),
            Variant("{y} = {x} + torch.tensor([{x}.numel(), {x}.dim()]).sum()", (numeric,)),
            Variant("{y} = torch.arange({x}.shape[0]).sum() + {x}", (numeric, rank(1))),
            Variant("{y} = {x} * torch.ones({x}.size(), dtype=torch.int32)", (numeric,)),
            Variant(
                "{also} = torch.zeros({x}.shape[0], {x}.numel())\n{also2} = torch.tensor({x}.shape)",
                (rank(1),),
            ),
            Variant("{y} = torch.arange(0, {x}.numel(), 2).sum() * {x}", (numeric,)),
        ),
    ),
    Characteristic(
        "constructor fed with lists",
        Stage.DYNAMO,
        "`torch.tensor` gets a list: of numbers of mixed kinds, of a comprehension, or of values of tensors.",
        "The list is evaluated by the tracer, and the dtype must come out as Python would have had it.",
        "return x * torch.tensor([1, 2.5, True]) + torch.tensor([float(v) for v in range(3)]).sum()",
        nodes(_listed),
        any_of(
            Variant("{y} = {x} * torch.tensor([1, 2.5, True]).sum()", (numeric,)),
            Variant("{y} = {x} + torch.tensor([{v} * 2 for {v} in range(3)]).sum()", (numeric,)),
            Variant("{y} = {x} - torch.tensor([[1, 2], [3, 4]])[1].amax()", (numeric,)),
            Variant(
                "{items} = [True, False]\n{also} = torch.tensor({items} + [1])\n"
                "{y} = {x} * torch.tensor([{items}[0], 3]).sum()",
                (numeric,),
            ),
            Variant("{y} = {x} * torch.as_tensor((1.0, 2)).prod() - torch.tensor([]).sum()", (numeric,)),
            Variant("{y} = {x} + torch.tensor([{x}.sum().item(), 1]).to({dtype})[1]", (numeric,)),
        ),
    ),
    Characteristic(
        "tensor subclass",
        Stage.DYNAMO,
        "A subclass of Tensor, perhaps with a `__torch_function__` that changes what operators do, "
        "goes through f.",
        "Dispatch through the subclass is traced, and its attributes and type must survive.",
        "s = x.as_subclass(Doubling)\nreturn (s + 1).as_subclass(torch.Tensor)",
        nodes(_subclass),
        any_of(
            Variant(
                "{y} = ({x}.as_subclass({Sub}) * 2).as_subclass(torch.Tensor)",
                (numeric,),
                same=True,
                module="class {Sub}(torch.Tensor):\n    pass",
            ),
            Variant(
                "{y} = ({x}.as_subclass({Sub}) * 2).as_subclass(torch.Tensor)",
                (numeric,),
                same=True,
                module="class {Sub}(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, func, "
                "types, args=(), kwargs=None):\n"
                "        made = super().__torch_function__(func, types, args, kwargs or {{}})\n"
                "        return made - 1 if func is torch.Tensor.mul else made",
            ),
            Variant(
                "{y} = {apply0}({x})",
                (numeric,),
                module="class {Sub}(torch.Tensor):\n    def twice(self):\n        return self * 2\n\n\n"
                "def {make}({Kind}):\n    def {inner}({p}):\n"
                "        return {p}.as_subclass({Kind}).twice().as_subclass(torch.Tensor)\n"
                "\n    return {inner}\n\n\n"
                "{apply0} = {make}({Sub})",
            ),
        ),
    ),
    Characteristic(
        "dispatch through special methods",
        Stage.DYNAMO,
        "An object of the program meets a tensor in an operator, is called, indexed, compared or "
        "tested for truth.",
        "Which special method Python takes, reflected ones too, is decided again by the tracer.",
        "class Two:\n    def __rmul__(self, other):\n        return other + other\n\nreturn x * Two()",
        nodes(_class_with(*DUNDERS)),
        any_of(
            Variant(
                "{y} = {x} * {Num}(3)",
                (numeric,),
                same=True,
                module="class {Num}:\n    def __init__(self, value):\n        self.value = value\n\n"
                "    def __rmul__(self, other):\n        return other * self.value",
            ),
            Variant(
                "{y} = {Num}(3) * {x} if {Num}(0) else {x} - len({Num}(2))",
                (numeric,),
                same=True,
                module="class {Num}:\n    def __init__(self, value):\n        self.value = value\n\n"
                "    def __mul__(self, other):\n        return other * self.value\n\n"
                "    def __len__(self):\n        return self.value",
            ),
            Variant(
                "{c0} = {Num}(2)\n{y} = {c0}({x})[0] - {c0}[1]",
                (numeric,),
                module="class {Num}:\n    def __init__(self, value):\n        self.value = value\n\n"
                "    def __call__(self, other):\n        return [other * self.value]\n\n"
                "    def __getitem__(self, at):\n        return self.value + at",
            ),
            Variant(
                "{y} = {x}\nfor {v} in {Num}(3):\n    {y} = {y} * {v}\nif 2 in {Num}(3) and {Num}(1) == "
                "1:\n    {y} = {y} - 1",
                (numeric,),
                same=True,
                module="class {Num}:\n    def __init__(self, value):\n        self.value = value\n\n"
                "    def __iter__(self):\n        return iter(range(1, self.value))\n\n"
                "    def __contains__(self, item):\n        return item < self.value\n\n"
                "    def __eq__(self, other):\n        return self.value == other\n\n"
                "    def __hash__(self):\n        return self.value",
            ),
            Variant(
                "{y} = sum([{x}, {x}], start={Num}(2))",
                (numeric,),
                module="class {Num}:\n    def __init__(self, value):\n        self.value = value\n\n"
                "    def __add__(self, other):\n        return other * self.value\n\n"
                "    def __radd__(self, other):\n        return other - self.value",
            ),
        ),
    ),
    Characteristic(
        "late binding",
        Stage.DYNAMO,
        "Closures made in a loop share its variable, a default argument freezes it, or `nonlocal` "
        "changes it.",
        "Cells must be shared as in Python, and be read when called.",
        "fs = [lambda v: v * k for k in (1, 2, 3)]\nreturn fs[0](x)",
        nodes(
            lambda n: (
                isinstance(n, ast.Nonlocal) or (isinstance(n, ast.ListComp) and isinstance(n.elt, ast.Lambda))
            )
        ),
        any_of(
            Variant(
                "{fs} = [lambda {p}: {p} * {k0} for {k0} in (1, 2, 3)]\n{y} = {fs}[0]({x}) - {fs}[1]({x})",
                (numeric,),
                same=True,
            ),
            Variant(
                "{fs} = [lambda {p}, {k0}={k0}: {p} * {k0} for {k0} in (1, 2, 3)]\n"
                "{y} = {fs}[0]({x}) - {fs}[2]({x})",
                (numeric,),
                same=True,
            ),
            Variant(
                "{n0} = 1\n\ndef {g0}({p}):\n    nonlocal {n0}\n    {n0} += 1\n    return {p} * {n0}\n\n"
                "{y} = {g0}({x}) - {g0}({x}) * {n0}",
                (numeric,),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "defaults and partial calls",
        Stage.DYNAMO,
        "A function of the program has a mutable default, or is called through `functools.partial` or `**`.",
        "Defaults live as long as the function, and arguments are bound again by the tracer.",
        "def g(v, seen=[]):\n    seen.append(1)\n    return v * len(seen)\n\nreturn g(x) - g(x)",
        nodes(lambda n: _mutable_default(n) or _called(n, "partial") or _unpacked(n)),
        any_of(
            Variant(
                "{y} = {g0}({x}) - {g0}({x}) * 3",
                (numeric,),
                same=True,
                module="def {g0}({p}, {seen}=[]):\n    {seen}.append(1)\n    return {p} * len({seen})",
                setup="{g0}.__defaults__[0].clear()",
                again="pass",
            ),
            Variant(
                "{g0} = functools.partial({base}, scale=3)\n{y} = {g0}({x}) - {g0}({x}, scale=2)",
                (numeric,),
                same=True,
                module="import functools\n\n\ndef {base}({p}, scale=1):\n    return {p} * scale",
            ),
            Variant(
                "{d} = {{'scale': 3, 'less': 1}}\n{y} = {base}({x}, **{d}) - {base}({x}, *(1, 2))",
                (numeric,),
                same=True,
                module="def {base}({p}, less=0, scale=1):\n    return {p} * scale - less",
            ),
            Variant(
                "def {g0}({p}, {k0}=[2]):\n    {k0}[0] += 1\n    return {p} * {k0}[0]\n"
                "\n{y} = {g0}({x}) - {g0}({x})",
                (numeric,),
                same=True,
            ),
        ),
    ),
)
