"""What the compiler did while it compiled a program: distinct short strings, at next to no cost.

Invariant: watching changes nothing. Hooks only read, sit around methods that are there anyway, and are taken
off again; a hook that does not fit this build, because its method is gone or what it reads has another form,
is named in `missing` and gives no events, and the compile goes on as if nobody watched. The reason for events
rather than line coverage: they cost a few per cent and keep yielding after an hour; coverage of inductor's
lines doubles the time of a compile and stops yielding after minutes (measured, torch 2.13.0).

Literals are stripped: sizes, offsets and numbered names do not make an event new.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from typing import Any
from zlib import crc32

LONGEST = 160
"""Characters of an event; what is cut off is kept apart by its checksum."""

_NUMBERED = re.compile(
    r"\b((?:tmp_acc|tmp|in_out_ptr|in_ptr|out_ptr|arg|buf|ks|primals|tangents|idx|acc|[rxyzps])_?)\d+\w*"
)
_NAMED_KERNEL = re.compile(r"\b(?:cpp|triton_\w+|kernel)_?fused_\w+")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d.]*(?:e[-+]?\d+)?[fLU]*\b")
_SIZES = re.compile(r"(?:_s?\d+)+\b")
"""`_8_8_4` at the end of what some counters count."""
_NOISE = re.compile(r"^(?:[{}()\[\];,'\"r]*|#.*|//.*|import .*|from .*|'''.*)$")


def literal_free(text: str) -> str:
    """The text with numbers as 0, and with numbered names as one name."""
    return " ".join(_NUMBER.sub("0", _NUMBERED.sub(r"\1", _NAMED_KERNEL.sub("kernel", text))).split())


def shortened(event: str) -> str:
    """At most LONGEST characters."""
    if len(event) <= LONGEST:
        return event
    return f"{event[: LONGEST - 9]}~{crc32(event.encode()):08x}"


@dataclass
class Watch:
    """What has been seen. `missing` names the hooks that this build does not have, or that do not fit it;
    `kernels` is how many kernels were generated since the last `take`."""

    missing: list[str] = field(default_factory=list)
    kernels: int = 0
    _seen: dict[str, None] = field(default_factory=dict)

    def note(self, event: str) -> None:
        """One event; it counts once, where it came first."""
        self._seen.setdefault(shortened(event))

    def take(self) -> tuple[str, ...]:
        """The events since the last time, in the order of their first coming."""
        taken, self.kernels = tuple(self._seen), 0
        self._seen.clear()
        return taken

    def misfit(self, name: str) -> None:
        """A hook that does not fit this build."""
        if name not in self.missing:
            self.missing.append(name)


Reader = Callable[[Watch, tuple[Any, ...], dict[str, Any]], None]
"""Notes what one call of a hooked method shows; the first argument is `self`."""


@dataclass(frozen=True)
class Hook:
    """A method of the compiler, and what is read of each call before it runs."""

    module: str
    owner: str
    method: str
    read: Reader

    @property
    def name(self) -> str:
        """How it is called in `missing`."""
        return f"{self.owner}.{self.method}"


def _kind(value: Any) -> str:
    """`Pointwise` of an IR value in its boxes; views keep their name, and what they show."""
    names: list[str] = []
    while True:
        name = type(value).__name__
        if name not in ("TensorBox", "StorageBox"):
            names.append(name)
        if name not in ("TensorBox", "StorageBox") and not name.endswith("View"):
            return ">".join(names)
        value = value.data


def _argument(value: Any) -> str:
    if hasattr(value, "get_dtype") and hasattr(value, "get_size"):
        dtype = str(value.get_dtype()).removeprefix("torch.")
        return f"{dtype}/{len(value.get_size())}/{_kind(value)}"
    return "" if isinstance(value, str) else type(value).__name__


def _flat(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple) and any(hasattr(v, "get_dtype") for v in value):
            yield from value
        else:
            yield value


def _lowering(watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """call_function(self, target, args, kwargs)"""
    target = getattr(args[1], "_name", "") or getattr(args[1], "__name__", str(args[1]))
    described = [_argument(value) for value in _flat(args[2])]
    watch.note(f"lower {literal_free(target)} {' '.join(filter(None, described))}")


def _node_kind(node: Any) -> str:
    """What kinds of scheduler node are in one, each once."""
    kinds = set()
    for inner in node.get_nodes():
        ir = inner.node
        data = getattr(ir, "data", ir)
        kinds.add(f"{type(data).__name__}:{str(ir.get_dtype()).removeprefix('torch.')}")
    return "+".join(sorted(kinds))


def _fusion(watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """fuse_two_nodes(self, node1, node2, fused_nodes)"""
    watch.note(f"fuse {_node_kind(args[1])} with {_node_kind(args[2])}")


def _no_fusion(watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """WhyNoFuse.__call__(self, reason, *args)"""
    watch.note(f"no fusion: {literal_free(args[1])}")


def _kernel(watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """define_kernel(self, kernel_name, kernel_body, ...)"""
    body = kwargs["kernel_body"] if "kernel_body" in kwargs else args[2]
    watch.kernels += 1
    for line in body.splitlines():
        stripped = literal_free(line.strip())
        if not _NOISE.match(stripped):
            watch.note(f"line {stripped}")


def _pattern(watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """apply(self, match, graph, node)"""
    entry, node = args[0], args[3]
    handler = getattr(entry, "handler", None)
    name = getattr(entry, "pattern_name", None) or getattr(handler, "__name__", type(entry).__name__)
    watch.note(f"pattern {literal_free(str(name))} at {getattr(node.target, '_name', node.target)}")


def _counted(watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The counters so far, in log2, as a graph's code is about to be made."""
    counters = import_module("torch._dynamo.utils").counters
    for group, counter in counters.items():
        for key, count in counter.items():
            first = str(key).strip().partition("\n")[0]
            if isinstance(count, int) and count > 0:
                watch.note(f"count {group} {literal_free(_SIZES.sub('', first))} {count.bit_length() - 1}")


HOOKS: tuple[Hook, ...] = (
    Hook("torch._inductor.graph", "GraphLowering", "call_function", _lowering),
    Hook("torch._inductor.graph", "GraphLowering", "codegen", _counted),
    Hook("torch._inductor.scheduler", "Scheduler", "fuse_two_nodes", _fusion),
    Hook("torch._inductor.scheduler", "WhyNoFuse", "__call__", _no_fusion),
    Hook("torch._inductor.codegen.wrapper", "PythonWrapperCodegen", "define_kernel", _kernel),
    Hook("torch._inductor.pattern_matcher", "LoweringPatternEntry", "apply", _pattern),
    Hook("torch._inductor.pattern_matcher", "GraphPatternEntry", "apply", _pattern),
    Hook("torch._inductor.pattern_matcher", "ReplacementPatternEntry", "apply", _pattern),
)
"""Every hook."""


def _watched(method: Callable[..., Any], hook: Hook, watch: Watch) -> Callable[..., Any]:
    @wraps(method)
    def around(*args: Any, **kwargs: Any) -> Any:
        if hook.name not in watch.missing:
            try:
                hook.read(watch, args, kwargs)
            except Exception:  # noqa: BLE001 - the compiler's internals in a form that the hook does not know
                watch.misfit(hook.name)
        return method(*args, **kwargs)

    return around


def _put_on(hook: Hook, watch: Watch, taken_off: ExitStack) -> None:
    try:
        owner = getattr(import_module(hook.module), hook.owner)
        method = vars(owner)[hook.method]
    except (ImportError, AttributeError, KeyError):
        watch.misfit(hook.name)
        return
    setattr(owner, hook.method, _watched(method, hook, watch))
    taken_off.callback(setattr, owner, hook.method, method)


@contextmanager
def watching(hooks: Sequence[Hook] = HOOKS) -> Iterator[Watch]:
    """Within, what the compiler does in this process is noted. `Watch.take` ends one program and begins the
    next."""
    watch = Watch()
    with ExitStack() as taken_off:
        for hook in hooks:
            _put_on(hook, watch, taken_off)
        yield watch
