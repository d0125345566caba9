"""Running a script with parts of the compiler switched off, to see which part a failure needs.

Invariant: what is off is off for this one run, and nothing of it is left on disk: the compiler's caches of
graphs are off too, and what other runs may share are kernels, whose names are hashes of their source.

The compiler asks `CompilerBisector.disable_subsystem` before each pass, lowering and decomposition. We answer
in its stead, by name. The bisector itself answers by a count, and so finds one application where several
parts may each be to blame; it also keeps its state in files that the next compile reads.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from fuzzers.records import Json, encode
from fuzzers.script import run_script

Off: TypeAlias = Callable[[ExitStack], None]
"""Switches a part off until the stack is left."""


@dataclass(frozen=True)
class Setting:
    """A part that a setting of the framework switches off: `module` holds the `config`, in which `name`
    becomes `value`. A version that lacks the setting lacks the part."""

    module: str
    name: str
    value: object

    def there(self) -> bool:
        """Whether this version has the setting."""
        return hasattr(_config(self.module), self.name)

    def off(self, until: ExitStack) -> None:
        """Switch the part off."""
        until.enter_context(_config(self.module).patch({self.name: self.value}))


INDUCTOR, FUNCTORCH = "torch._inductor", "torch._functorch"

SETTINGS: dict[str, Setting] = {
    "partition/cse": Setting(FUNCTORCH, "cse", False),
    "passes/pattern_matcher": Setting(INDUCTOR, "pattern_matcher", False),
    "passes/joint_graph_constant_folding": Setting(INDUCTOR, "joint_graph_constant_folding", False),
    "codegen/loop_tails": Setting(INDUCTOR, "cpp.enable_loop_tail_vec", False),
    "codegen/inplace_buffers": Setting(INDUCTOR, "inplace_buffers", False),
    "codegen/buffer_reuse": Setting(INDUCTOR, "allow_buffer_reuse", False),
    "config/emulate_precision_casts": Setting(INDUCTOR, "emulate_precision_casts", True),
    "config/fallback_random": Setting(INDUCTOR, "fallback_random", True),
    "config/layout_optimization": Setting(INDUCTOR, "layout_optimization", False),
    "config/comprehensive_padding": Setting(INDUCTOR, "comprehensive_padding", False),
}
"""Parts that are settings. Those under `config` are the ones that the bisector tries too."""

CACHES = (
    Setting(INDUCTOR, "fx_graph_cache", False),
    Setting(FUNCTORCH, "enable_autograd_cache", False),
)
"""A graph that was compiled with other parts would be served from these."""


def scalar_loops(until: ExitStack) -> None:
    """No loop is tiled, so none is vectorised. `cpp.simdlen` would change the compiler's flags as well, and
    with them the precompiled header, which takes twenty seconds to build."""
    from torch._inductor.codegen.cpp import TilingSelect

    stock = TilingSelect.select_tiling

    @functools.wraps(stock)
    def untiled(self: Any, *args: Any, **kwargs: Any) -> Any:
        _, _, *rest = stock(self, *args, **kwargs)
        return ([], [], *rest)

    _replace(TilingSelect, "select_tiling", untiled, until)


def one_loop_each(until: ExitStack) -> None:
    """The result of each operator is written to memory by a loop of its own. `max_fusion_size` alone keeps
    loops apart, but leaves one operator computed inside another."""
    from torch._inductor.graph import GraphLowering
    from torch._inductor.ir import TensorBox

    stock = GraphLowering.run_node

    @functools.wraps(stock)
    def stored(self: Any, n: Any) -> Any:
        result = stock(self, n)
        if n.op == "call_function" and isinstance(result, TensorBox):
            result.realize()
        return result

    _replace(GraphLowering, "run_node", stored, until)
    Setting(INDUCTOR, "max_fusion_size", 1).off(until)


PATCHES: dict[str, Off] = {
    "codegen/vectorisation": scalar_loops,
    "codegen/fusion": one_loop_each,
}
"""Parts that no setting switches off well enough."""


def ablate(script: str, backend: str | None, without: Sequence[str]) -> Json:
    """{"run", "parts"}: how the script ends with the parts `without` switched off, and the parts that the
    compiler asked about, in the order in which it first did.

    A part is `<subsystem>/<name>`, or a subsystem alone for all of its parts. One that this version lacks
    changes nothing.
    """
    with switched_off(without) as asked:
        run = run_script(script, backend=backend)
    return {"run": encode(run), "parts": list(asked)}


def switches() -> list[str]:
    """The parts that the compiler does not ask about but that we can switch off in this version."""
    return [*PATCHES, *(part for part, setting in SETTINGS.items() if setting.there())]


@contextmanager
def switched_off(without: Sequence[str]) -> Iterator[dict[str, None]]:
    """While inside, the parts `without` are off; what is given lists the parts that were asked about."""
    from torch._inductor.compiler_bisector import CompilerBisector

    off = frozenset(without)
    asked: dict[str, None] = {}

    def is_off(backend: str, subsystem: str, debug_info: Callable[[], str] | None = None) -> bool:
        part = f"{subsystem}/{plain(debug_info())}" if debug_info else subsystem
        asked[part] = None
        return subsystem in off or part in off

    with ExitStack() as until:
        _replace(CompilerBisector, "disable_subsystem", staticmethod(is_off), until)
        for cache in CACHES:
            cache.off(until)
        for part in without:
            if part in PATCHES:
                PATCHES[part](until)
            elif part in SETTINGS and SETTINGS[part].there():
                SETTINGS[part].off(until)
        yield asked


def bisect(is_right: Callable[[], bool]) -> Json:
    """{"backend", "subsystem", "debug_name"}: what torch's own bisector says, with names as ours; each is
    empty when it cannot tell. `is_right` runs the script, from the start each time, in this process or in a
    fork of it. The bisector's files lie in a folder of its own, which it removes."""
    from torch._inductor.compiler_bisector import CompilerBisector

    found = CompilerBisector.do_bisect(is_right)
    return {
        "backend": found.backend if found else "",
        "subsystem": (found and found.subsystem) or "",
        "debug_name": plain((found and found.debug_info) or ""),
    }


OVERLOAD = re.compile(r"<OpOverload\(op='([^']+)', overload='[^']*'\)>")
COUNTER = re.compile(r"(?:_\d+)+$")
DEFAULT = re.compile(r"_default$")


def plain(debug_name: str) -> str:
    """A debug name without what differs between two programs: the counter of a node, and the overload.

    `pass_pattern_<n>` keeps its number: it is one of the fixed rounds of patterns, not an occurrence.
    """
    if found := OVERLOAD.fullmatch(debug_name):
        return found[1]
    if debug_name.startswith("pass_pattern_"):
        return debug_name
    return DEFAULT.sub("", COUNTER.sub("", debug_name))


def _config(package: str) -> Any:
    from importlib import import_module

    return import_module(f"{package}.config")


def _replace(owner: Any, name: str, new: object, until: ExitStack) -> None:
    """`owner.name` is `new` until the stack is left."""
    stock = owner.__dict__[name]
    setattr(owner, name, new)
    until.callback(setattr, owner, name, stock)
