"""Dynamo: containers, closures and arguments that change between two calls, or that f itself changes."""

from __future__ import annotations

import ast
from collections.abc import Callable

from fuzzers.alignguard import form
from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import all_of, has_again, nodes, second_call
from fuzzers.alignguard.needs import filled, floating, numeric, rank
from fuzzers.alignguard.reading.reader import Reading
from fuzzers.alignguard.variants import Variant, any_of


def _calls(*names: str) -> Callable[[ast.AST], bool]:
    return lambda n: (
        isinstance(n, ast.Call)
        and (n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "")) in names
    )


def _assigns_item(n: ast.AST) -> bool:
    return isinstance(n, ast.Assign) and any(isinstance(t, ast.Subscript) for t in n.targets)


def _kinds_in_again(reading: Reading) -> bool:
    """A number among the arguments is set anew for the second call."""
    if reading.form is None or not reading.form.has_again:
        return False
    body = reading.form.functions[form.AGAIN].body
    return any(
        isinstance(s, ast.Assign)
        and isinstance(s.value, ast.Constant)
        and any(isinstance(t, ast.Name) and t.id in reading.form.parameters for t in s.targets)
        for s in body
    ) and not any(isinstance(s, ast.Global) for s in body)


def _resliced(n: ast.AST) -> bool:
    return (
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Subscript | ast.Call)
        and "inputs()" not in (ast.unparse(n.value))
    )


def _counts(n: ast.AST) -> bool:
    """Adds to an attribute or an item, or grows a container."""
    if isinstance(n, ast.AugAssign):
        return isinstance(n.target, ast.Attribute | ast.Subscript)
    return isinstance(n, ast.Expr) and _calls("append", "update", "setdefault", "add")(n.value)


AGAIN = "{params} = inputs()\n"

DYNAMO_STATE: tuple[Characteristic, ...] = (
    Characteristic(
        "closure changed between calls",
        Stage.DYNAMO,
        "f calls a closure over a list or a variable, which is changed before the second call.",
        "The cell's content is specialised on at the first call; its length may be guarded and its "
        "items not.",
        "# g closes over items = [2]; again(): items.append(3)\nreturn g(x)",
        second_call(_calls("append", "extend", "insert", "clear", "pop", "change")),
        any_of(
            Variant(
                "{y} = {g0}({x})",
                (numeric,),
                module="def {make}():\n    {items} = [2]\n\n    def {inner}({p}):\n"
                "        return {p} * {items}[-1]\n\n"
                "    return {inner}, {items}\n\n\n{g0}, {kept} = {make}()",
                setup="{kept}[:] = [2]",
                again="{kept}.append(3)",
            ),
            Variant(
                "{y} = {x}\nfor {v} in {items}:\n    {y} = {y} * {v}",
                (numeric,),
                same=True,
                module="{items} = [2, 1]",
                setup="{items}[:] = [2, 1]",
                again="{items}.insert(0, 3)",
            ),
            Variant(
                "{y} = {g0}({x})",
                (numeric,),
                module="def {make}():\n    {n0} = 2\n\n    def {inner}({p}):\n        return {p} * {n0}\n\n"
                "    def change(to):\n        nonlocal {n0}\n        {n0} = to\n"
                "\n    return {inner}, change\n\n\n"
                "{g0}, change = {make}()",
                setup="change(2)",
                again="change(3)",
            ),
        ),
    ),
    Characteristic(
        "container changed between calls",
        Stage.DYNAMO,
        "f reads a list, dictionary or global number whose items change before the second call.",
        "Keys, order, length and items each need a guard.",
        "# again(): table['scale'] = 3\nreturn x * table['scale']",
        second_call(lambda n: _assigns_item(n) or isinstance(n, ast.Global)),
        any_of(
            Variant(
                "{y} = {x} * {table}['scale']",
                (numeric,),
                same=True,
                module="{table} = {{'scale': 2}}",
                setup="{table}['scale'] = 2",
                again="{table}['scale'] = 3",
            ),
            Variant(
                "{y} = {x}\nfor {key} in {table}:\n    {y} = {y} * {table}[{key}]",
                (numeric,),
                same=True,
                module="{table} = {{'a': 2}}",
                setup="{table}.clear()\n{table}['a'] = 2",
                again="{table}['b'] = 3",
            ),
            Variant(
                "{y} = {x} * {N}",
                (numeric,),
                same=True,
                module="{N} = 2",
                setup="global {N}\n{N} = 2",
                again="global {N}\n{N} = 3",
            ),
            Variant(
                "{y} = {x} * {items}[0][1]",
                (numeric,),
                same=True,
                module="{items} = [[1, 2]]",
                setup="{items}[0][1] = 2",
                again="{items}[0][1] = 3",
            ),
        ),
    ),
    Characteristic(
        "number among the arguments changes",
        Stage.DYNAMO,
        "f takes a Python number, flag or None beside tensors, which is another one in the second call.",
        "Numbers start as constants and turn symbolic when they change; flags and None choose branches.",
        "# n is 3, then 4\nreturn x * n",
        _kinds_in_again,
        any_of(
            Variant(
                "{y} = {x} * {n}",
                (numeric,),
                same=True,
                inputs={"n": "3"},
                again=AGAIN + "{n} = 4\nreturn {params}",
            ),
            Variant(
                "{y} = {x} * {n}",
                (floating,),
                same=True,
                inputs={"n": "2.5"},
                again=AGAIN + "{n} = 0.5\nreturn {params}",
            ),
            Variant(
                "{y} = {x} * 2 if {n} else {x}",
                (numeric,),
                same=True,
                inputs={"n": "True"},
                again=AGAIN + "{n} = False\nreturn {params}",
            ),
            Variant(
                "{y} = {x}.flatten()[:{n}].sum() + {n}",
                (numeric,),
                inputs={"n": "1"},
                again=AGAIN + "{n} = 3\nreturn {params}",
            ),
            Variant(
                "{y} = {x} if {n} is None else {x} - {n}",
                (numeric,),
                same=True,
                inputs={"n": "None"},
                again=AGAIN + "{n} = 1\nreturn {params}",
            ),
            Variant(
                "{y} = torch.full(({n}, 2), {n}).sum() + {x}",
                (numeric,),
                inputs={"n": "2"},
                again=AGAIN + "{n} = 5\nreturn {params}",
            ),
        ),
    ),
    Characteristic(
        "second call with another shape",
        Stage.DYNAMO,
        "The second call has tensors of another size, perhaps 0 or 1, or of another number of dimensions.",
        "Sizes become symbols, and every simplification that assumed the first ones must be guarded.",
        "# again(): w = w[:1]\nreturn x + w.sum() * w.size(0)",
        all_of(has_again, second_call(_resliced)),
        any_of(
            Variant(
                "{y} = {x} + ({w} * 2).sum() * {w}.shape[0]",
                (numeric,),
                inputs={"w": "torch.arange(12).reshape(4, 3)"},
                again=AGAIN + "{w} = {w}[:{k}]\nreturn {params}",
            ),
            Variant(
                "{y} = {x} * {w}.sum()\n{also} = torch.cat([{w}, {w}]).reshape(-1)[1:]",
                (floating,),
                inputs={"w": "torch.randn(3, 5)"},
                again=AGAIN + "{w} = {w}.repeat(2, {k})\nreturn {params}",
            ),
            Variant(
                "{y} = {x} - {w}.mean()\n{also} = {w}.transpose(0, 1).reshape(-1)",
                (floating,),
                inputs={"w": "torch.randn(4, 4)"},
                again=AGAIN + "{w} = {w}[:, :1]\nreturn {params}",
            ),
            Variant(
                "{also} = {x}.{reduce}({dim})\n{also2} = {x}.shape[{dim}] * {x}",
                (numeric, rank(1), filled),
                again=AGAIN + "{x} = torch.cat([{x}, {x}], {dim})\nreturn {params}",
                argument=True,
                resizes=True,
            ),
        ),
    ),
    Characteristic(
        "state that f changes itself",
        Stage.DYNAMO,
        "f counts, appends to a list or fills a dictionary, and its result depends on what is in there.",
        "Such effects are replayed after the graph; the second call must find what the first one left.",
        "box.count += 1\nreturn x * box.count",
        all_of(nodes(_counts), has_again),
        any_of(
            Variant(
                "{box}.count += 1\n{y} = {x} * {box}.count",
                (numeric,),
                same=True,
                module="class {Box}:\n    count = 0\n\n\n{box} = {Box}()",
                setup="{box}.count = 0",
                again="pass",
            ),
            Variant(
                "{log}.append(2)\n{y} = {x} * len({log})",
                (numeric,),
                same=True,
                module="{log} = []",
                setup="{log}.clear()",
                again="pass",
            ),
            Variant(
                "{seen}['n'] = {seen}.setdefault('n', 1) + 1\n{seen}['n'] += 1\n{y} = {x} * {seen}['n']",
                (numeric,),
                same=True,
                module="{seen} = {{}}",
                setup="{seen}.clear()",
                again="pass",
            ),
            Variant(
                "{y} = {net}({x})",
                (numeric,),
                module="class {Net}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                "        self.calls = 0\n\n    def forward(self, {p}):\n        self.calls += 1\n"
                "        return {p} * self.calls\n\n\n{net} = {Net}()",
                setup="{net}.calls = 0",
                again="pass",
            ),
        ),
    ),
)
