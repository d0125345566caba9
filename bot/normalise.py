"""Messages and logs with everything removed that differs between two occurrences of one bug.

Invariant: `normalise` and `message` are pure, and doing them twice is doing them once, so that a normalised
message can be compared with one that is not yet, by normalising both. What is removed is in tables
(`bot.normal_forms`, `bot.phrases`), held to a corpus of real logs (tests/unit/corpus).
"""

from __future__ import annotations

import re

from bot.normal_forms import NAMES, PLACES
from bot.phrases import PHRASES

RULES = (*PLACES, *PHRASES, *NAMES)

LONGEST = 240
"""Characters of a normalised message that are kept: what follows in torch's messages is dumps of graphs."""

FOOTERS = re.compile(
    r"^\s*(?:from user code:|Set TORCHDYNAMO_VERBOSE=1|Set TORCH_LOGS=|You can suppress this exception"
    r"|The above exception was the direct cause|While executing|Original traceback:|GraphModule:|Hint:"
    r"|Developer debug context:|For more details about this graph break|Use tlparse|target: |args\[\d+\]:"
    r"|Found from|Caused by:|For more information, run with|User Stack|The branch condition involves"
    r"|consider using data-dependent|This error most often comes from|-{10,}\s*\n- (?!Kernel select failed)"
    r"|\(See file '|For more details, please refer|More details please refer|node: @)",
    re.MULTILINE,
)
"""Where the part of a message ends that names the bug: what follows is the program, advice or a dump."""

BELOW: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^Caused by: .*\(\S+:\d+ in (\w+)\)$", re.MULTILINE), r"caused in \1"),
    (re.compile(r"^\s*Developer debug context: (raised exception .+)$", re.MULTILINE), r"\1"),
    (re.compile(r"^\s*Developer debug context: (\w+Error <.+)$", re.MULTILINE), r"\1"),
)
"""What stands below that and names the bug all the same: who in torch asked, what was raised."""

COMPILER_ERROR = re.compile(
    r"^.*?\b(?:error: (?P<refused>.*)|(?P<linked>undefined reference to .*))$", re.MULTILINE
)
"""The lines of a C++ compiler's or linker's output that say what it refused."""

PLUMBING = re.compile(
    r"torch\._dynamo\.utils:(?:_?get_fake_value\w*|_wrap_graph_break_with_torch_runtime_err|<lambda>)$"
    r"|torch\._dynamo\.exc:(?:unimplemented\w*|raise_observed_exception)$"
    r"|torch\._dynamo\.eval_frame:(?:compile_wrapper|_fn|__call__)$|torch\._dynamo\.convert_frame:"
    r"|torch\._dynamo\.variables\.builder:_?wrap_fx_proxy\w*$"
    r"|torch\._dynamo\.variables\.\w+:(?:_?call_\w+|_handle_insert_op_in_graph)$"
    r"|torch\._dynamo\.symbolic_convert:|torch\._ops:__call__$|torch:__call__$"
    r"|torch\._functorch\.aot_autograd:forward$|torch\._functorch\._aot_autograd\.\w*(?:runtime_wrappers|codegen)"
    r"|torch\._inductor\.output_code:__call__$|torch\._inductor\.runtime\.runtime_utils:assert_\w+$"
    r"|torch\._inductor\.graph:(?:run|run_node|call_function)$"
    r"|torch\.fx\.interpreter:run"
    r"|mindspore\.(?:ops|nn|mint)\.|mindspore\.common\.\w*tensor\w*:"
    r"|mindspore\.(?:graph|common)\.api:(?:staging_specialize|wrapper|__call__|compile|run_op_async)$"
)
"""Frames that failures of every sort come through, so that they tell nothing; a version that wraps an
exception once more would rename every bug. An operator of MindSpore runs in the background: what it raises
appears wherever the program next looks at a value, and in Graph mode the operator has no frame at all."""


def normalise(text: str) -> str:
    """`text` with the rules applied in order until none changes it, blank lines dropped.

    One replacement can make room for another rule's. It ends, because every rule takes away something that
    none puts back.
    """
    before = None
    while text != before:
        before = text
        for rule in RULES:
            text = rule.pattern.sub(rule.becomes, text)
        text = "\n".join(line.strip() for line in text.splitlines() if line.strip())
    return text


def message(text: str) -> str:
    """The short, comparable form of an exception's message: one line of at most `LONGEST` characters.

    A failed C++ compilation is named by the first error of the compiler, not by the command line that
    torch puts before it.
    """
    below = [found.expand(form) for pattern, form in BELOW if (found := pattern.search(text))]
    if footer := FOOTERS.search(text):
        head = text[: footer.start()]
        text = head if head.strip() else text
    if "C++ compile error" in text and (error := COMPILER_ERROR.search(text)):
        text = f"C++ compile error: {error['refused'] or error['linked']}"
    line = " ".join(normalise("\n".join([text, *below])).split())
    return normalise(line)[:LONGEST].strip()


def frames(names: tuple[str, ...], count: int = 3) -> tuple[str, ...]:
    """The innermost `count` framework frames (`module:function`, innermost last) without counters, generated
    names and plumbing; equal neighbours are merged (a recursion's depth is not part of a bug)."""
    kept: list[str] = []
    for name in names:
        if PLUMBING.match(name):
            continue
        plain = normalise(name)
        if not kept or kept[-1] != plain:
            kept.append(plain)
    return tuple(kept[-count:])
