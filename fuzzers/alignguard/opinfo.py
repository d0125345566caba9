"""Seeds of the build under test itself: the samples of its operator tests, as texts in the normal form.

Invariant: a block of seeds is a pure function of (seed, start, size) and of the build. Every text was run
once, uncompiled, before it is handed over; what cannot be written or does not run is counted by reason. The
reason for blocks: reading the test database takes seconds, so a child that has read it makes many texts.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

import torch

from fuzzers.alignguard import spelling
from fuzzers.alignguard.program import load
from fuzzers.alignguard.spelling import Layout, NotSpelled
from fuzzers.records import Json

SAMPLES = 24
"""Samples of an operator among which one is drawn; later ones differ in little."""

DTYPES: dict[torch.dtype, int] = {
    torch.float32: 6,
    torch.float64: 1,
    torch.float16: 2,
    torch.bfloat16: 2,
    torch.complex64: 1,
    torch.int64: 2,
    torch.int32: 2,
    torch.int16: 2,
    torch.int8: 2,
    torch.uint8: 3,
    torch.bool: 2,
}
"""How often each is drawn, relative to the others that an operator has: unusual ones find more, float32 is
what people run."""

LAYOUTS: dict[Layout, int] = {
    Layout.PLAIN: 5,
    Layout.TRANSPOSED: 2,
    Layout.STRIDED: 2,
    Layout.EXPANDED: 2,
    Layout.CHANNELS_LAST: 2,
    Layout.OFFSET: 1,
}
"""The same for layouts; one that does not apply to a shape leaves it plain."""

INPLACE_SHARE = 0.15
"""Share of the samples of an operator with an in-place form that use it."""

TINY_SHARE = 0.15
"""Share of the samples that may be empty or a single element."""

NAMES = (*"xyzwuvabcdeghkmnpqrst",)
"""Of tensors, in order: `f` is taken, `i`, `l` and `o` read badly."""

NO_SEEDS = frozenset(
    {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}
)
"""Operators whose result is whatever was in memory."""


@dataclass(frozen=True)
class Sample:
    """One call of an operator, as its test makes it. `name` is how OpInfo calls it; `inplace` that the form
    which writes into its first argument is meant."""

    name: str
    first: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inplace: bool = False


class _Names:
    """Gives names to the tensors of a call, the same tensor once."""

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}

    def of(self, tensor: torch.Tensor) -> str:
        for name, known in self.tensors.items():
            if known is tensor:
                return name
        if len(self.tensors) == len(NAMES):
            raise NotSpelled("more tensors than names")
        fresh: str = NAMES[len(self.tensors)]
        self.tensors[fresh] = tensor
        return fresh

    def spelled(self, value: Any) -> str:
        """An argument with its tensors as names."""
        if isinstance(value, torch.Tensor):
            return self.of(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self.spelled, value))}]"
        if isinstance(value, tuple):
            inside = ", ".join(map(self.spelled, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        return spelling.literal(value)


def call(sample: Sample) -> tuple[list[str], dict[str, torch.Tensor]]:
    """The statements of f for a sample, and its tensors by parameter name. NotSpelled when there are none."""
    names = _Names()
    first = names.spelled(sample.first)
    rest = [names.spelled(a) for a in sample.args]
    rest += [f"{key}={names.spelled(value)}" for key, value in sample.kwargs.items()]
    if not names.tensors:
        raise NotSpelled("no tensor goes in")
    if sample.inplace:
        return [f"{first}.{sample.name}_({', '.join(rest)})", f"return {first}"], names.tensors
    return [f"return {_callee(sample, first, rest)}"], names.tensors


def _callee(sample: Sample, first: str, rest: list[str]) -> str:
    """The call as a user would write it: a function of `torch`, a method, or an attribute."""
    if sample.name == "__getitem__":
        return f"{first}[{rest[0]}]"
    method = getattr(torch.Tensor, sample.name, None)
    if _function(sample.name) is not None and sample.name not in AS_METHODS:
        return f"torch.{sample.name}({', '.join([first, *rest])})"
    if method is None or not isinstance(sample.first, torch.Tensor):
        raise NotSpelled("no public name")
    return f"{first}.{sample.name}({', '.join(rest)})" if callable(method) else f"{first}.{sample.name}"


AS_METHODS = frozenset(
    {"where", "polygamma", "bfloat16", "bool", "double", "float", "half", "int", "long", "short"}
)
"""Names that mean something else in `torch` than the method that is tested."""


def _function(name: str) -> Any:
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if callable(found) else None


def text(sample: Sample, layout: Layout, number: int, exact: bool = False) -> str:
    """A sample in the normal form. `number` seeds its inputs."""
    body, tensors = call(sample)
    built = {name: spelling.tensor(value, layout, exact) for name, value in tensors.items()}
    listed = ", ".join(built)
    lines = ["import torch", "", "", f"def f({listed}):"]
    lines += [f"    {row}" for row in body]
    lines += ["", "", "def inputs():", f"    torch.manual_seed({number})"]
    lines += [f"    {name} = {source}" for name, source in built.items()]
    lines += [f"    return ({listed}{',' if len(built) == 1 else ''})"]
    return "\n".join(lines) + "\n"


def running(sample: Sample, layout: Layout, number: int) -> str:
    """A text that runs uncompiled: with numbers drawn anew, or else with the sample's own. NotSpelled with
    what eager said when neither does."""
    refusal = ""
    for exact in (False, True):
        source = text(sample, Layout.PLAIN if exact else layout, number, exact)
        refusal = refused(source)
        if not refusal:
            return source
    raise NotSpelled(f"eager: {refusal}")


def refused(source: str) -> str:
    """What eager raises on a text; empty when it runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loaded = load(source, "seed")
            arguments = loaded.arguments()
            loaded.sequence(loaded.f, loaded.f.__code__.co_argcount)(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever eager says is the answer
            return type(error).__name__
    return ""


def database() -> list[Any]:
    """The build's operator tests. ImportError when its `expecttest` is missing."""
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def samples(info: Any, dtype: torch.dtype) -> list[Any]:
    """Some samples of an operator; small ones, as far as there are."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(islice(info.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES))


def block(seed: int, start: int, size: int) -> Json:
    """Texts of `size` operators from number `start` on, in an order drawn by `seed`; past the last operator
    it starts over, with other samples. {"seeds": [...], "refused": {reason: n}, "operators": how many there
    are, 0 for a build without a database}."""
    try:
        infos = [i for i in database() if i.name not in NO_SEEDS]
    except ImportError as e:
        return {"seeds": [], "refused": {f"no database: {e}": 1}, "operators": 0}
    Random(seed).shuffle(infos)
    made: list[Json] = []
    refusals: Counter[str] = Counter()
    for k in range(start, start + size):
        info = infos[k % len(infos)]
        rng = Random(f"{seed}/{k}")
        try:
            made.append(_one(info, rng))
        except NotSpelled as e:
            refusals[str(e)] += 1
        except Exception as e:  # noqa: BLE001 - the test's own sample maker may raise anything
            refusals[f"no sample: {type(e).__name__}"] += 1
    return {"seeds": made, "refused": dict(refusals), "operators": len(infos)}


def _one(info: Any, rng: Random) -> Json:
    dtype = _drawn(rng, {d: w for d, w in DTYPES.items() if d in info.dtypes})
    layout: Layout = _drawn(rng, LAYOUTS)
    given = rng.choice(_preferred(samples(info, dtype), rng.random() < TINY_SHARE))
    inplace = info.inplace_variant is not None and rng.random() < INPLACE_SHARE
    inplace = inplace and hasattr(torch.Tensor, f"{info.name}_")
    sample = Sample(info.name, given.input, tuple(given.args), dict(given.kwargs), inplace)
    source = running(sample, layout, rng.randrange(100))
    where = f"opinfo {info.name}{'_' if inplace else ''} {str(dtype).removeprefix('torch.')} {layout}"
    return {"source": source, "where": where}


def _preferred(given: list[Any], tiny: bool) -> list[Any]:
    """Samples that can be written, and have more than an element unless `tiny`; all when there are none, so
    that the reason is told."""
    small = [s for s in given if _largest(s) <= spelling.MOST_ELEMENTS]
    return [s for s in small if tiny or _largest(s) > 1] or small or given


def _largest(sample: Any) -> int:
    """Elements of the largest tensor that a sample is called with."""
    leaves = [sample.input, *sample.args, *sample.kwargs.values()]
    return max((v.numel() for v in leaves if isinstance(v, torch.Tensor)), default=2)


def _drawn(rng: Random, weights: dict[Any, int]) -> Any:
    if not weights:
        raise NotSpelled("no dtype of ours")
    return rng.choices(list(weights), list(weights.values()))[0]
