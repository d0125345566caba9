"""Dynamo: iterators, loops, graph breaks, exceptions."""

from __future__ import annotations

import ast

from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    any_step,
    nodes,
    one_of,
)
from fuzzers.alignguard.needs import floating, numeric
from fuzzers.alignguard.reading.reader import Reading
from fuzzers.alignguard.variants import Variant, any_of


def _called(n: ast.AST, *names: str) -> bool:
    if not isinstance(n, ast.Call):
        return False
    name = n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "")
    return name in names


def _grown(reading: Reading) -> bool:
    """A loop over a name whose body makes it longer."""
    for top in reading.tree.body:
        for loop in ast.walk(top):
            if isinstance(loop, ast.For):
                over = {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name)}
                for n in (n for s in loop.body for n in ast.walk(s)):
                    if _called(
                        n, "append", "extend", "insert", "pop", "setdefault", "add", "appendleft"
                    ) and (
                        isinstance(n, ast.Call)
                        and isinstance(n.func, ast.Attribute)
                        and isinstance(n.func.value, ast.Name)
                        and n.func.value.id in over
                    ):
                        return True
    return False


DYNAMO_LOOPS: tuple[Characteristic, ...] = (
    Characteristic(
        "iterator partly consumed",
        Stage.DYNAMO,
        "An iterator or generator is advanced by `next`, then a loop takes the rest, or what is "
        "left is read later.",
        "Its position is state that the tracer keeps itself, and must hand over at a graph break.",
        "it = iter([1, 2, 3])\nnext(it)\nfor v in it:\n    x = x * v\nreturn x",
        nodes(lambda n: _called(n, "next")),
        any_of(
            Variant(
                "{it} = iter([2, 3, 4])\nnext({it})\n{y} = {x}\nfor {v} in {it}:\n    {y} = {y} * {v}",
                (numeric,),
                same=True,
            ),
            Variant(
                "{it} = zip(range(1, 5), [3, 4, 5])\n{a}, {b} = next({it})\n"
                "{y} = {x} * {b}\nfor {a}, {b} in {it}:\n"
                "    {y} = {y} - {a} * {b}",
                (numeric,),
                same=True,
            ),
            Variant(
                "{it} = {count0}({x})\n{y} = next({it})\n{y} = {y} - next({it})\n{also} = list({it})[-1]",
                (numeric,),
                module="def {count0}({p}):\n    for {k0} in range(1, 5):\n        yield {p} * {k0}",
            ),
            Variant(
                "{it} = iter(range(1, 5))\n{y} = {x} * next({it})\ntorch._dynamo.graph_break()\n"
                "{y} = {y} * next({it}) - sum({it})",
                (numeric,),
                same=True,
            ),
            Variant(
                "{it} = iter([{x}, {x} * 2, {x} * 3])\nnext({it})\n{y} = torch.stack(list({it})).sum(0) - "
                "next({it}, {x})",
                (floating,),
                same=True,
            ),
            Variant(
                "{it} = enumerate(reversed([1, 2, 3]))\nnext({it})\n{y} = {x}\n"
                "while True:\n    {a} = next({it}, None)\n"
                "    if {a} is None:\n        break\n    {y} = {y} * {a}[1] - {a}[0]",
                (numeric,),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "container grown in a loop over it",
        Stage.DYNAMO,
        "A list or deque gets longer, or shorter, while a loop runs over it.",
        "The tracer unrolls the loop over what was there at its start, and Python does not.",
        "items = [x]\nfor v in items:\n    if len(items) < 4:\n        items.append(v * 2)\n"
        "return torch.stack(items)",
        _grown,
        any_of(
            Variant(
                "{items} = [{x}]\nfor {v} in {items}:\n    if len({items}) < 4:\n"
                "        {items}.append({v} * 2)\n"
                "{y} = torch.stack({items}).sum(0)",
                (floating,),
                same=True,
            ),
            Variant(
                "{items} = [1, 2, 3, 4]\n{y} = {x}\nfor {v} in {items}:\n"
                "    {y} = {y} * {v}\n    if {v} == 2:\n"
                "        {items}.pop()",
                (numeric,),
                same=True,
            ),
            Variant(
                "{items} = [1, 2]\n{y} = {x}\nfor {k0}, {v} in enumerate({items}):\n    if {k0} < 3:\n"
                "        {items}.insert(0, {v} + 1)\n    {y} = {y} * {v} - {k0}\n"
                "    if {k0} > 5:\n        break",
                (numeric,),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "a number out of a tensor in a loop",
        Stage.DYNAMO,
        "A loop calls `.item()` or `tolist`, or branches on a tensor's value, which breaks the "
        "graph in its middle.",
        "Loop variables, iterators and half-built values must be carried over the break.",
        "for i in range(3):\n    x = x + i\n    if x.sum().item() > 10:\n        x = x * 2\nreturn x",
        one_of(
            any_step(
                lambda s: s.call.name == "tolist" or (s.call.name in ("item", "graph_break") and s.loops > 0)
            ),
            nodes(
                lambda n: (
                    isinstance(n, ast.For)
                    and any(isinstance(m, ast.If) and "graph_break" in ast.unparse(m) for m in ast.walk(n))
                )
            ),
        ),
        any_of(
            Variant(
                "{y} = {x}\nfor {i} in range(3):\n    {y} = {y} * {i} - {x}\n"
                "    if {y}.sum().item() > 1e6:\n        {y} = {y} * 2",
                (numeric,),
                same=True,
            ),
            Variant(
                "{y} = {x}\nfor {i}, {v} in enumerate([3, 1, 2]):\n    {y} = {y} * {v}\n    if {i} == 1:\n"
                "        torch._dynamo.graph_break()\n    {y} = {y} - {i}",
                (numeric,),
                same=True,
            ),
            Variant(
                "{parts} = []\nfor {v} in torch.arange(3):\n    {parts}.append({x} * {v}.item())\n"
                "{y} = sum({parts})",
                (numeric,),
                same=True,
            ),
            Variant(
                "{y} = {x}\nfor {v} in (torch.arange(4) * 2).tolist():\n    {y} = {y} - {v}",
                (numeric,),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "exceptions and contexts",
        Stage.DYNAMO,
        "f raises and catches, has a `finally`, or sets and restores a mode by a context manager or a call.",
        "The order of handlers, and what is restored when, are modelled by the tracer.",
        "try:\n    y = x * 2\n    raise ValueError\nexcept ValueError:\n"
        "    y = y + 1\nfinally:\n    y = y * 3\nreturn y",
        nodes(
            lambda n: (
                (
                    isinstance(n, ast.Try)
                    and bool(n.finalbody or any(isinstance(m, ast.Raise) for m in ast.walk(n)))
                )
                or _called(n, "set_grad_enabled", "enable_grad", "contextmanager", "suppress")
            )
        ),
        any_of(
            Variant(
                "try:\n    {y} = {x} * 2\n    raise ValueError\nexcept ValueError:\n"
                "    {y} = {y} - 1\nfinally:\n    {y} = {y} * 3",
                (numeric,),
                same=True,
            ),
            Variant(
                "with torch.no_grad():\n    {t} = {x} * 2\n    with torch.enable_grad():\n"
                "        {y} = {x} * 3 - {t}",
                (numeric,),
                same=True,
            ),
            Variant(
                "{y} = {x}\nfor {k0} in range(3):\n    try:\n        if {k0} == 1:\n"
                "            continue\n        {y} = {y} * 2\n"
                "    finally:\n        {y} = {y} - 1",
                (numeric,),
                same=True,
            ),
            Variant(
                "with {scaled}(3) as {s}:\n    {y} = {x} * {s}\n{y} = {y} - {state}[0]",
                (numeric,),
                same=True,
                module="import contextlib\n\n{state} = [0]\n\n\n@contextlib.contextmanager\n"
                "def {scaled}(by):\n"
                "    {state}[0] = 1\n    try:\n        yield by\n    finally:\n        {state}[0] = 2",
                setup="{state}[0] = 0",
            ),
        ),
    ),
    Characteristic(
        "container semantics",
        Stage.DYNAMO,
        "f depends on the order of a dictionary or deque, on shared inner lists, on sorting, or on "
        "slices of lists.",
        "Every container method is written again in the tracer.",
        "d = collections.OrderedDict(a=1, b=2)\nd.move_to_end('a')\n"
        "for v in d.values():\n    x = x * 2 - v\nreturn x",
        nodes(
            lambda n: _called(
                n,
                "OrderedDict",
                "deque",
                "defaultdict",
                "Counter",
                "sorted",
                "sort",
                "move_to_end",
                "popitem",
                "reversed",
                "accumulate",
                "chain",
                "islice",
                "product",
            )
        ),
        any_of(
            Variant(
                "{d} = collections.OrderedDict(a=1, b=2, c=3)\n{d}.move_to_end('a')\n"
                "{y} = {x}\nfor {v} in {d}.values():\n    {y} = {y} * 2 - {v}",
                (numeric,),
                same=True,
                module="import collections",
            ),
            Variant(
                "{d} = collections.deque([1, 2, 3], maxlen=3)\n{d}.append(4)\n"
                "{d}.rotate(1)\n{y} = {x}\nfor {v} in {d}:\n    {y} = {y} * 2 - {v}",
                (numeric,),
                same=True,
                module="import collections",
            ),
            Variant(
                "{d} = [[0]] * 3\n{d}[0].append(2)\n{y} = {x}\nfor {v} in sorted([3, 1, 2], key=lambda "
                "{k0}: -{k0}):\n    {y} = {y} * {v} - {d}[2][1]",
                (numeric,),
                same=True,
            ),
            Variant(
                "{d} = {{'b': 2, 'a': 1}}\n{d}['c'] = {d}.pop('b')\n{y} = {x} * {d}.popitem()[1] - "
                "next(iter({d}.values()))",
                (numeric,),
                same=True,
            ),
            Variant(
                "{y} = {x}\nfor {v} in itertools.accumulate(itertools.chain([1, 2], "
                "itertools.islice(range(9), 2, 6, 2))):\n    {y} = {y} * 2 - {v}",
                (numeric,),
                same=True,
                module="import itertools",
            ),
        ),
    ),
)
