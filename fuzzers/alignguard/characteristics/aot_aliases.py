"""Functionalization: arguments and results that share memory, dtypes read through views, transforms over
writes."""

from __future__ import annotations

from fuzzers.alignguard import form
from fuzzers.alignguard.characteristics.declaration import Characteristic, Stage
from fuzzers.alignguard.characteristics.traits import (
    all_of,
    any_step,
    calls,
    has_again,
    literal_dtype,
    one_of,
    second_call,
    text,
    writes,
)
from fuzzers.alignguard.needs import (
    filled,
    floating,
    inputlike,
    numeric,
    rank,
    typed,
    ungraded,
    writable,
)
from fuzzers.alignguard.reading import names
from fuzzers.alignguard.reading.call import tensors
from fuzzers.alignguard.reading.notes import Step
from fuzzers.alignguard.reading.reader import Reading
from fuzzers.alignguard.variants import Variant, any_of

TRANSFORMS = "grad vjp jvp jacrev jacfwd grad_and_value"


def _given_storages(reading: Reading) -> list[int]:
    return [t.storage for v in reading.given.values() for t in tensors(v) if t.storage >= 0]


def _arguments_share(reading: Reading) -> bool:
    found = _given_storages(reading)
    return len(set(found)) < len(found)


def _argument_written(reading: Reading) -> bool:
    given = set(_given_storages(reading))
    return any(s.call.in_place and s.call.first.storage in given for s in reading.of(form.F))


def _results_share(reading: Reading) -> bool:
    found = [t.storage for t in tensors(reading.returned) if t.storage >= 0]
    return len(set(found)) < len(found) or bool(set(found) & set(_given_storages(reading)))


def _written_and_returned(reading: Reading) -> bool:
    written = {s.call.first.storage for s in reading.of(form.F) if s.call.in_place}
    return any(t.views and t.storage in written for t in tensors(reading.returned))


def _views_as_another_dtype(s: Step) -> bool:
    return s.call.name == "view" and len(s.call.args) > 1 and literal_dtype(s.call.args[1]) is not None


def _joined_in_again(reading: Reading) -> bool:
    """The second call gets one argument made of another, which the first one did not."""
    if not has_again(reading) or reading.form is None:
        return False
    shared = [t for s in reading.of(form.AGAIN) for t in tensors(s.result) if t.views]
    return bool(shared) and not _arguments_share(reading)


AOT_ALIASES: tuple[Characteristic, ...] = (
    Characteristic(
        "two arguments share memory",
        Stage.AOT,
        "Two arguments of f are views of one tensor, and one of them is written.",
        "The compiled graph treats arguments as separate unless it finds out, and rebuilds both "
        "from one base.",
        "# y is x[:, 1:]\ny.add_(1)\nreturn x * y.sum()",
        _arguments_share,
        any_of(
            Variant("{w}.{write}", (writable,), inputs={"w": "{source}[...]"}, argument=True),
            Variant(
                "{w}.{write}", (writable, rank(1), filled), inputs={"w": "{source}[..., :1]"}, argument=True
            ),
            Variant("{w}.{write}", (writable,), inputs={"w": "{source}.transpose(0, -1)"}, argument=True),
            Variant(
                "{x}.{write}\n{also} = {w}.clone()", (writable,), inputs={"w": "{source}"}, argument=True
            ),
            Variant(
                "{x}.{write}\n{also} = {w} * {value}",
                (writable, rank(1), typed),
                inputs={"w": "{source}[::2]"},
                argument=True,
            ),
        ),
    ),
    Characteristic(
        "arguments come to share memory",
        Stage.AOT,
        "In the first call two arguments are separate; in the second one is a view of the other.",
        "The first compilation took them as separate; only a guard can notice that this no longer holds.",
        "# again(): y = x[...]\ny.mul_(2)\nreturn x + 1",
        all_of(_joined_in_again, _argument_written),
        any_of(
            Variant(
                "{w}.{write}\n{also} = {x}.clone()",
                (writable,),
                inputs={"w": "{source}.clone()"},
                again="{params} = inputs()\n{w} = {x}[...]\nreturn {params}",
                argument=True,
            ),
            Variant(
                "{x}.{write}\n{also} = {w}.clone()",
                (writable, typed),
                inputs={"w": "{source}.clone()"},
                again="{params} = inputs()\n{w} = {x}.view_as({x})\nreturn {params}",
                argument=True,
            ),
        ),
    ),
    Characteristic(
        "an argument is written",
        Stage.AOT,
        "An argument is written in place and used before and after.",
        "The new value must be computed and copied back when the graph has run, after all who read "
        "the old one.",
        "y = x * 2\nx.add_(1)\nreturn y, x * 2",
        _argument_written,
        any_of(
            Variant("{also} = {x} * {value}\n{x}.{write}", (writable, typed), argument=True),
            Variant("{x}[..., :1].{write}", (writable, rank(1)), argument=True),
            Variant(
                "{t} = {x}.clone()\n{x}.{write}\n{x}.copy_({t})\n{x}.{write}", (writable,), argument=True
            ),
            Variant("{x}.transpose(0, -1).{write}\n{also} = {x}.clone()", (writable,), argument=True),
        ),
    ),
    Characteristic(
        "a view of something written is returned",
        Stage.AOT,
        "f returns a view of a tensor that it wrote, so that results share memory with arguments "
        "or one another.",
        "Such results are made again outside of the graph, from a base and the story of its views.",
        "x.add_(1)\nreturn x.t(), x[0]",
        _written_and_returned,
        any_of(
            Variant("{x}.{write}\n{also} = {x}.transpose(0, -1)", writes=True),
            Variant("{also} = {x}.unsqueeze(0)\n{x}.{write}", writes=True),
            Variant("{x}.{write}\n{also} = {x}[..., ::2]", (rank(1),), writes=True),
            Variant("{also} = {x}.detach()\n{x}.{write}", writes=True),
        ),
    ),
    Characteristic(
        "a result is an alias",
        Stage.AOT,
        "f returns a tensor and an alias of it, or an alias of an argument.",
        "Results that alias are handed out by rules of their own, and their number must stay what it was.",
        "y = x + 1\nreturn y, y.view_as(y), y",
        _results_share,
        any_of(
            Variant("{also} = {x}.view_as({x})"),
            Variant("{also} = {x}.transpose(0, -1)"),
            Variant("{also} = {x}.unsqueeze(0).expand(2, *{x}.shape)"),
            Variant("{also} = {x}.detach()"),
        ),
    ),
    Characteristic(
        "shape changed in place",
        Stage.AOT,
        "A tensor's shape is changed by an in-place operator (`t_`, `transpose_`, `unsqueeze_`, `squeeze_`).",
        "No value changes, only what the variable looks like; views taken before keep the old shape.",
        "c = x.clone()\nc.transpose_(0, 1)\nc.add_(1)\nreturn c",
        writes(lambda s: s.call.name in names.RESHAPING and s.call.method),
        any_of(
            Variant(
                "{c} = {x}.clone()\n{v} = {c}.view_as({c})\n{c}.transpose_({dim}, {other})\n{c}.{write}\n"
                "{also} = {v} * {value}\n{y} = {c}",
                (rank(2), typed),
            ),
            Variant("{c} = {x}.clone()\n{c}.unsqueeze_(0)\n{c}.{write}\n{y} = {c}"),
            Variant("{c} = {x}.clone()\n{c}.unsqueeze_(-1).squeeze_(-1)\n{c}.{write}\n{y} = {c}", same=True),
            Variant("{c} = {x}.clone()\n{c}.t_()\n{y} = {c} * {value}", (rank(2, 2), typed)),
        ),
    ),
    Characteristic(
        "view of another dtype read after a write",
        Stage.AOT,
        "A tensor is seen as another dtype of the same width, the tensor is written, and the other "
        "view is read.",
        "The bits must be taken again after the write; many compilers drop a view that looks like a cast.",
        "v = x.view(torch.int32)\nx.add_(1)\nreturn v.view(torch.float32)",
        any_step(_views_as_another_dtype),
        any_of(
            Variant(
                "{c} = {x}.contiguous().clone()\n{v} = {c}.view({bits})\n"
                "{c}.{write}\n{y} = {v}.view({dtype}).clone()",
                (typed, lambda t: t.dtype not in ("bool", "complex64", "complex128", "complex32")),
                same=True,
            ),
            Variant(
                "{v} = {x}.view({bits})\n{y} = {v}.view({dtype})",
                (numeric, ungraded),
                same=True,
            ),
            Variant(
                "{c} = {x}.clone()\n{v} = {c}.view({bits})\n{v}[...] = 0\n{y} = {x} + {c}",
                (numeric, inputlike),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "gradient of a function that writes",
        Stage.AOT,
        "`torch.func.grad` or `jvp` is taken of a function that writes in place inside.",
        "Two transformations, one for derivatives and one for writes, have to be undone in the right order.",
        "def g(v):\n    w = v.clone()\n    w[0] = 2\n    return (w * v).sum()\n"
        "\nreturn torch.func.grad(g)(x)",
        all_of(calls(TRANSFORMS), writes()),
        any_of(
            Variant(
                "def {g1}({p}):\n    {q} = {p}.clone()\n    {q}.mul_(2)\n    {q}[...].add_({p})\n"
                "    return ({q} * {p}).sum()\n\n{y} = torch.func.grad({g1})({x})",
                (floating,),
                same=True,
            ),
            Variant(
                "def {g1}({p}):\n    {q} = {p} * 2\n    {q}.view_as({q}).add_({p})\n    return {q}.sin()\n\n"
                "{v}, {t} = torch.func.jvp({g1}, ({x},), (torch.ones_like({x}),))\n{y} = {v} + {t}",
                (floating,),
                same=True,
            ),
            Variant(
                "def {g1}({p}):\n    {q} = {p}.clone()\n    {q}[..., ::2] = 0\n"
                "    return ({q} * {p}).sum()\n\n"
                "{y} = torch.func.grad({g1})({x})",
                (floating, rank(1)),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "vmap of a function that writes",
        Stage.AOT,
        "`torch.vmap` is taken of a function that writes in place inside, along a dimension that "
        "may not be the "
        "first.",
        "The batch dimension moves through views and writes, whose numbers then mean something else.",
        "def g(v):\n    w = v.clone()\n    w[1:] = 0\n    return w + v\n\nreturn torch.vmap(g, in_dims=1)(x)",
        all_of(calls("vmap"), writes()),
        any_of(
            Variant(
                "def {g1}({p}):\n    {q} = {p}.clone()\n    {q}.{write}\n    return {q} - {p}\n\n"
                "{y} = torch.vmap({g1}, in_dims={some}, out_dims={some})({x})",
                (numeric, filled),
                same=True,
            ),
            Variant(
                "def {g1}({p}):\n    {q} = {p}.clone()\n    {q}[..., :1] = 0\n    return {q} + {p}\n\n"
                "{y} = torch.vmap({g1}, in_dims=0)({x})",
                (numeric, rank(2), filled),
                same=True,
            ),
            Variant(
                "def {g1}({p}):\n    {q} = torch.zeros_like({p})\n    {q}.copy_({p})\n    {q}.{write}\n"
                "    return {q}.sum()\n\n{y} = torch.vmap({g1}, in_dims={some})({x})",
                (numeric, filled),
            ),
        ),
    ),
    Characteristic(
        "write without gradient",
        Stage.AOT,
        "A tensor is written under `no_grad`, or through `data` or `detach`, between uses that are "
        "differentiated.",
        "The write must happen for the values and not for the graph of derivatives.",
        "y = x * 2\nwith torch.no_grad():\n    y.add_(1)\nreturn y * x",
        all_of(writes(), one_of(calls("no_grad", "inference_mode", "set_grad_enabled"), text(".data."))),
        any_of(
            Variant("with torch.no_grad():\n    {x}.{write}", writes=True),
            Variant("{x}.data.{write}", writes=True),
            Variant(
                "{t} = {x} * 2\nwith torch.no_grad():\n    {t}.add_({x})\n{y} = {t} - {x}",
                (numeric,),
                same=True,
            ),
        ),
    ),
    Characteristic(
        "an argument's memory is replaced",
        Stage.AOT,
        "In the second call an argument has another layout, offset or need of a gradient than in the first.",
        "How views are made again was decided for the first layout.",
        "# again(): x = x.t().contiguous().t()\ny = x.view_as(x)\ny.add_(1)\nreturn x",
        all_of(second_call(lambda n: "contiguous" in getattr(n, "attr", "")), _argument_written),
        any_of(
            Variant(
                "{x}.{write}\n{also} = {x}.transpose(0, -1)",
                (writable, rank(2)),
                again="{params} = inputs()\n{x} = {x}.transpose(0, -1).contiguous().transpose(0, -1)\n"
                "return {params}",
                argument=True,
            ),
            Variant(
                "{v} = {x}[..., :1]\n{v}.{write}",
                (writable, rank(1), filled),
                again="{params} = inputs()\n{x} = torch.stack([{x}, {x}], -1).contiguous()[..., 1]\n"
                "return {params}",
                argument=True,
            ),
        ),
    ),
)
