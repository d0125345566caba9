"""Messages and logs with everything removed that differs between two occurrences of one bug.

Invariant: `normalise` is idempotent and pure, so that a normalised message can be compared with one that
is not yet, by normalising both. The rules are a table: each row says why it is there and shows one line
before and after, and the tests hold every row to its example and the whole table to a corpus of real logs
(tests/unit/corpus).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 240
"""Characters of a normalised message that are kept: what follows in torch's messages is dumps of graphs."""


@dataclass(frozen=True)
class Rule:
    """One replacement, with the reason for it and one line before and after (by this rule alone)."""

    pattern: re.Pattern[str]
    becomes: str
    reason: str
    before: str
    after: str


RULES: tuple[Rule, ...] = (
    Rule(
        re.compile(r"\bgot (\w+)\((['\"])(.*)\2\)"),
        r"got \1: \3",
        "dynamo quotes the message of the exception that names the bug",
        "fake tensors: got ValueError('Cannot view it')",
        "fake tensors: got ValueError: Cannot view it",
    ),
    Rule(
        re.compile(r"\x1b\[[0-9;]*[A-Za-z]"),
        "",
        "terminal colours depend on where it ran",
        "\x1b[31merror\x1b[0m: no member",
        "error: no member",
    ),
    Rule(
        re.compile(r"\b(?:0x[0-9a-fA-F]+)\b"),
        "<addr>",
        "addresses move with every run",
        "<function f at 0x7f5a3c2d1e50>",
        "<function f at <addr>>",
    ),
    Rule(
        re.compile(r"(?:(?<=[\s\"'(=:,\[])|^)/(?:[\w.+@~-]+/)*[\w.+@~-]+", re.MULTILINE),
        "<path>",
        "where Python, torch and temporary folders are installed",
        'File "/tmp/torchinductor_me/ab/cab.py", in call',
        'File "<path>", in call',
    ),
    Rule(
        re.compile(r"<path>:\d+(?::\d+)?"),
        "<path>",
        "line and column of a file",
        "<path>:17:30: error: invalid operands",
        "<path>: error: invalid operands",
    ),
    Rule(
        re.compile(r"\bline \d+\b"),
        "line <n>",
        "line numbers move between builds",
        "at line 217 of lowering",
        "at line <n> of lowering",
    ),
    Rule(
        re.compile(r"\b(?:cpp|triton)_(?:poi_|red_|per_|tem_)?fused_\w+"),
        "<kernel>",
        "a generated kernel is named after all that was fused into it",
        "in cpp_fused_abs_cat_neg_0",
        "in <kernel>",
    ),
    Rule(
        re.compile(r"\b(?:cpp|triton)_fused\b|\bkernel(?:_cpp)?_\d+\b"),
        "<kernel>",
        "a generated kernel with only a counter",
        "undefined symbol: kernel_cpp_0",
        "undefined symbol: <kernel>",
    ),
    Rule(
        re.compile(
            r"\b(?:buf|op|arg|primals_|tangents_|getitem_|in_ptr|out_ptr|in_out_ptr|tmp)\d+(?:_\d+)?\b"
        ),
        "<buffer>",
        "buffers, graph inputs and temporaries are numbered in order of creation",
        "buf12 = empty_strided_cpu(in_ptr0)",
        "<buffer> = empty_strided_cpu(<buffer>)",
    ),
    Rule(
        re.compile(r"\b(?:[suzf]|zuf|zf)\d+\b"),
        "<symbol>",
        "symbolic sizes are numbered in order of creation",
        "Eq(s77, 4*s27 + u0)",
        "Eq(<symbol>, 4*<symbol> + <symbol>)",
    ),
    Rule(
        re.compile(r"\b(tensor|Parameter|FakeTensor|Tensor)\((?:[^()]|\([^()]*\))*\)"),
        r"\1(...)",
        "values and sizes of a tensor that the message prints",
        "got tensor([1., 2.], dtype=torch.float64) here",
        "got tensor(...) here",
    ),
    Rule(
        re.compile(r"\(\*\(.*?\), \*\*\{[^}\n]*\}\)"),
        "(...)",
        "arguments of a call that dynamo prints",
        "call_method view(*(FakeTensor(...), 20), **{}): got",
        "call_method view(...): got",
    ),
    Rule(
        re.compile(r"\b(?:[a-zA-Z]+_)+\d+\b"),
        "<node>",
        "nodes of a graph carry a counter",
        "While executing %permute_default_2",
        "While executing %<node>",
    ),
    Rule(
        re.compile(r"‘([A-Za-z_][\w:]*)\([^’\n]*’"),
        r"\1(...)",
        "the function that g++ finds no match for names the bug, its arguments do not",
        "no matching function for call to ‘min_propagate_nan(int&, unsigned char&)’",
        "no matching function for call to min_propagate_nan(...)",
    ),
    Rule(
        re.compile(r"(?<![\w<])'[^'\n]*'|`[^`\n]*`|(?<![\w<])\"[^\"\n]*\"|‘[^’\n]*’"),
        "<quoted>",
        "what is quoted is a name that the program chose, or a value",
        "name 'foo_bar' is not defined",
        "name <quoted> is not defined",
    ),
    Rule(
        re.compile(r"(?<![A-Za-z_<])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![A-Za-z_])"),
        "<n>",
        "sizes, indices and values",
        "size mismatch at dimension 3: 17 vs 1.5e-3",
        "size mismatch at dimension <n>: <n> vs <n>",
    ),
    Rule(
        re.compile(r"[\[(]\s*<n>(?:\s*,\s*<n>)*\s*,?\s*[\])]"),
        "<shape>",
        "a shape of another rank is the same message",
        "shape [<n>, <n>] against (<n>,)",
        "shape <shape> against <shape>",
    ),
    Rule(
        re.compile(r"[ \t\r\f\v]+"),
        " ",
        "runs of blanks come from dumps that align",
        "a   b\tc",
        "a b c",
    ),
)

FOOTERS = re.compile(
    r"^\s*(?:from user code:|Set TORCHDYNAMO_VERBOSE=1|Set TORCH_LOGS=|You can suppress this exception"
    r"|The above exception was the direct cause|While executing|Original traceback:|GraphModule:|Hint:"
    r"|Developer debug context:|For more details about this graph break|Use tlparse|args\[\d+\]:|Found from"
    r"|Caused by:|For more information, run with|User Stack)",
    re.MULTILINE,
)
"""Where the part of a torch message ends that names the bug: what follows is the user's program or advice."""

COMPILER_ERROR = re.compile(r"^.*?\berror: .*$", re.MULTILINE)
"""The lines of a C++ compiler's output that say what it refused."""


def normalise(text: str) -> str:
    """`text` with the rules applied in order until none changes it, blank lines dropped.

    One replacement can make room for another rule's. It ends, because every rule takes away characters
    (digits, quotes, slashes, blanks) that none puts back.
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
    if footer := FOOTERS.search(text):
        head = text[: footer.start()]
        text = head if head.strip() else text
    if "C++ compile error" in text and (error := COMPILER_ERROR.search(text)):
        text = "C++ compile error " + error.group(0)
    line = " ".join(normalise(text).split())
    return normalise(line)[:LONGEST].strip()


def frames(names: tuple[str, ...], count: int = 3) -> tuple[str, ...]:
    """The innermost `count` framework frames (`module:function`, innermost last) with counters and
    generated names removed; equal neighbours are merged (a recursion's depth is not part of a bug)."""
    kept: list[str] = []
    for name in names:
        plain = normalise(name)
        if not kept or kept[-1] != plain:
            kept.append(plain)
    return tuple(kept[-count:])
