"""The table of what differs between two occurrences of one bug, and of what it becomes.

Invariant: every rule takes something away (digits, quotes, slashes, blanks, words) that no rule puts back, so
that applying the table again and again comes to an end; and no rule takes away what tells two bugs apart:
the operator, the class of a dtype, the words of the message. Each row says why it is there and shows one line
before and after; the tests hold every row to its example and the table to a corpus of real logs
(tests/unit/corpus).

Two tables are here: places come first of all, names and numbers last; what frameworks say in between is in
`bot.phrases`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One replacement, with the reason for it and one line before and after (by this rule alone)."""

    pattern: re.Pattern[str]
    becomes: str
    reason: str
    before: str
    after: str


def dtypes(kind: str, names: str, before: str, after: str) -> Rule:
    """The rule for the dtypes of one class."""
    return Rule(
        re.compile(rf"\b(?:torch\.|mindspore\.)?(?:{names})\b"),
        f"<{kind}>",
        f"widths of {kind} share their code in a compiler",
        before,
        after,
    )


PLACES: tuple[Rule, ...] = (
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
        re.compile(r"\bhttps?://[^\s\"'`]+"),
        "<url>",
        "documentation moves",
        "see https://pytorch.org/docs/main/x.html for",
        "see <url> for",
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
)
"""Where it ran."""

NAMES: tuple[Rule, ...] = (
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
    dtypes("uint", "uint(?:8|16|32|64)|UInt(?:8|16|32|64)", "got torch.uint8 here", "got <uint> here"),
    dtypes("int", "int(?:8|16|32|64)|Int(?:8|16|32|64)", "got torch.int32 here", "got <int> here"),
    dtypes("half", "b?float16|B?Float16", "got torch.bfloat16 here", "got <half> here"),
    dtypes("float", "float(?:32|64)|Float(?:32|64)", "got Float64 here", "got <float> here"),
    dtypes("complex", "complex(?:32|64|128)|Complex(?:64|128)", "got complex64 here", "got <complex> here"),
    Rule(
        re.compile(r"(?<![\w<])'[^'\n]*'|`[^`\n]*`|(?<![\w<])\"[^\"\n]*\"|‘[^’\n]*’"),
        "<quoted>",
        "what is quoted is a name that the program chose, or a value",
        "name 'foo_bar' is not defined",
        "name <quoted> is not defined",
    ),
    Rule(
        re.compile(r"(?<![\w.<])v?\d+\.\d+\.\d+(?:[.+-]?\w+)*"),
        "<version>",
        "versions are what is compared",
        "needs torch 2.15.0.dev20261101+cpu",
        "needs torch <version>",
    ),
    Rule(
        re.compile(r"(?<![\w<])\d+(?:x\d+)+(?!\w)"),
        "<shape>",
        "sizes that are written as a product",
        "cannot be multiplied (4x5 and 3x3)",
        "cannot be multiplied (<shape> and <shape>)",
    ),
    Rule(
        re.compile(r"(?<![\w<])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)"),
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
        re.compile(r"\[const vector\]\{[^{}]*\}"),
        "<shape>",
        "a shape as MindSpore writes it",
        "x shape [const vector]{<n>, <n>} here",
        "x shape <shape> here",
    ),
    Rule(
        re.compile(r"((?:expected )?size <n>==<n>(?:, stride <n>==<n>)? at dim=<n>)(?:; \1)+"),
        "\\1",
        "generated code lists every dimension that is wrong",
        "size <n>==<n> at dim=<n>; size <n>==<n> at dim=<n>",
        "size <n>==<n> at dim=<n>",
    ),
    Rule(
        re.compile(r"[ \t\r\f\v]+"),
        " ",
        "runs of blanks come from dumps that align",
        "a   b\tc",
        "a b c",
    ),
)
"""What the program and the compiler called things, and how large they were."""
