"""What frameworks and C++ compilers say around the words that name a bug.

Invariant: as for `bot.normal_forms`: every rule takes something away. These rules come after places,
whose forms they rely on, and before names and quoted text, which would otherwise hide what they keep.
"""

from __future__ import annotations

import re

from bot.normal_forms import Rule

OURS = "aten|prims?|inductor|higher_order|quantized|mkldnn|mkl|onednn|c10d|rngprims|debugprims|fsdp"
"""Namespaces of operators that belong to torch: any other was chosen by the program."""

PHRASES: tuple[Rule, ...] = (
    Rule(
        re.compile(r"\braised exception (?!KeyError)(\w+)\((['\"])(.*)\2\)"),
        r"raised exception \1: \3",
        "dynamo quotes the message of the exception that it traced",
        "raised exception ValueError('too large')",
        "raised exception ValueError: too large",
    ),
    Rule(
        re.compile(r"\bgot (?!KeyError)(\w+)\((['\"])(.*)\2\)"),
        r"got \1: \3",
        "dynamo quotes the message of the exception that names the bug, sometimes within another",
        "fake tensors: got ValueError('Cannot view it')",
        "fake tensors: got ValueError: Cannot view it",
    ),
    Rule(
        re.compile(
            r"\b(?:when making fake tensor call\s+Explanation: +)?"
            r"Dynamo failed to run FX node with fake tensors:"
        ),
        "in fake tensor call:",
        "dynamo's preamble would leave no room for what was refused",
        "E: Dynamo failed to run FX node with fake tensors: add",
        "E: in fake tensor call: add",
    ),
    Rule(
        re.compile(r"\bwhen making fake tensor call\s+Explanation:"),
        "in fake tensor call:",
        "dynamo's preamble again, with nothing in it",
        "TypeError when making fake tensor call Explanation: relu",
        "TypeError in fake tensor call: relu",
    ),
    Rule(
        re.compile(r"\bObserved exception\s+Explanation: Dynamo found no [\w -]+\. Exception will [a-z ]+\."),
        "Observed exception:",
        "dynamo's preamble to what the program, or an operator, raised",
        "Observed exception Explanation: Dynamo found no exception handler at all. Exception will go. V",
        "Observed exception: V",
    ),
    Rule(
        re.compile(
            r"<(?:built-in )?(?:function|method) ([\w.']+(?:\.<locals>[\w.]+)*)"
            r"(?: of \w+(?: object)?)?(?: at <addr>)?>"
        ),
        "\\1",
        "an operator is the same one whether it is a function, a method or a builtin",
        "call_function <built-in method cat of type object at <addr>>(...)",
        "call_function cat(...)",
    ),
    Rule(
        re.compile(r"\bcall_(?:function|method) (?=[\w.<>]+\()"),
        "",
        "how an operator was called is the program's choice",
        "call_method matmul(...)",
        "matmul(...)",
    ),
    Rule(
        re.compile(
            r"\bdata-dependent expression [^\n]+?\(unhinted: [^\n]+?\)\.(?:\s*\(Size-like [^)\n]*\))?"
        ),
        "data-dependent expression <expression>.",
        "which expression is asked about is the program's choice; who asks is kept",
        "data-dependent expression Eq(s0, 5) (unhinted: Eq(s0, 5)).  (Size-like symbols: none)",
        "data-dependent expression <expression>.",
    ),
    Rule(
        re.compile(
            rf"\btorch\.ops\.(?!(?:{OURS})\b)\w+\.\w+(?:\.\w+)?|\b(?!(?:{OURS}|torch)\b)\w+\.\w+\.default\b"
        ),
        "<custom op>",
        "the program chose the name of its operator",
        "Error in op: torch.ops.mine.op.default",
        "Error in op: <custom op>",
    ),
    Rule(
        re.compile(r"\bCustomOpDef\([\w.:]+\)"),
        "<custom op>",
        "the program chose the name of its operator (before it is called)",
        "no fake impl registered for <CustomOpDef(mine::op)>",
        "no fake impl registered for <<custom op>>",
    ),
    Rule(
        re.compile(r"\bRecompiling function \w+"),
        "Recompiling function <name>",
        "the program chose the name of its function",
        "Recompiling function f in <path>",
        "Recompiling function <name> in <path>",
    ),
    Rule(
        re.compile(r"\bFunction \w+ needs"),
        "Function <name> needs",
        "the program chose the name of its function (as MindSpore says it)",
        "Function step needs 1 positional argument",
        "Function <name> needs 1 positional argument",
    ),
    Rule(
        re.compile(r"\bConstraints violated \((?!<dims>).*?\)!"),
        "Constraints violated (<dims>)!",
        "the program chose what is dynamic",
        "Constraints violated (L['x'].size()[0])! For",
        "Constraints violated (<dims>)! For",
    ),
    Rule(
        re.compile(r"[.,;]? [Ss]ee (?:<url>|`[^`\n]*`)(?: for [\w ]+)?"),
        "",
        "where to read more is advice, worded anew in every version",
        "Invalid backend: 'x'. See `list_backends()` for available backends.",
        "Invalid backend: 'x'.",
    ),
    Rule(
        re.compile(r"\bYou marked \S+ as dynamic"),
        "You marked <dim> as dynamic",
        "the program chose the name of a dimension",
        "You marked batch as dynamic but",
        "You marked <dim> as dynamic but",
    ),
    Rule(
        re.compile(r"^'((?:[^'\n]*[^'\w\n]'[^'\n]+'(?!\w))+[^'\n]*)'$", re.MULTILINE),
        "\\1",
        "MindSpore quotes a whole message that Graph mode raises",
        "'For split, the value of 'axis' must be positive.'",
        "For split, the value of 'axis' must be positive.",
    ),
    Rule(
        re.compile(r"\bFor (?:'(\w+)'|primitive ?\[(\w+)\])(?:,| op,)?"),
        "For \\1\\2,",
        "MindSpore writes the primitive that refuses in four ways",
        "For primitive[Softmax], the axis",
        "For Softmax, the axis",
    ),
    Rule(
        re.compile(r"\bUnsupported (statement|expression) '(\w+)'"),
        "Unsupported \\1 \\2",
        "MindSpore's parser names the syntax that it refuses, not a name of the program",
        "Unsupported statement 'Try'.",
        "Unsupported statement Try.",
    ),
    Rule(
        re.compile(r"\bThe key \S+ does not exist in the dict:\{[^}\n]*\}"),
        "The key <quoted> does not exist in the dict",
        "MindSpore does not quote the program's keys",
        "The key boom does not exist in the dict:{'p': 1}",
        "The key <quoted> does not exist in the dict",
    ),
    Rule(
        re.compile(r"-{10,}\s*- Kernel select failed:\s*-{10,}\s*"),
        "",
        "Graph mode puts a banner before what PyNative says without one",
        "-----------\n- Kernel select failed:\n-----------\nSelect CPU operator[Erf] fail!",
        "Select CPU operator[Erf] fail!",
    ),
    Rule(
        re.compile(r"\bThe supported data types are (?!<types>)[\s\S]*?,\s*but get .*"),
        "The supported data types are <types>, but get <types>",
        "MindSpore lists what a kernel takes, which grows from version to version",
        "The supported data types are input[Float16], output[Float16]; , but get input[Int32 ]",
        "The supported data types are <types>, but get <types>",
    ),
    Rule(
        re.compile(r"\bmust be a type of \{[^}\n]*\}"),
        "must be a type of <types>",
        "MindSpore lists the types that are right, which grow from version to version",
        "must be a type of {Float16, Float32}, but got",
        "must be a type of <types>, but got",
    ),
    Rule(
        re.compile(r"‘([A-Za-z_][\w:]*)\([^’\n]*’"),
        r"\1(...)",
        "the function that g++ finds no match for names the bug, its arguments do not",
        "no matching function for call to ‘min_propagate_nan(int&, unsigned char&)’",
        "no matching function for call to min_propagate_nan(...)",
    ),
    Rule(
        re.compile(r"(‘|')(?:const )?(?:float|double)(?: ?[*&])*[’'](?: \{aka [^}\n]*\})?"),
        "<float>",
        "widths of C++'s floating types share their code",
        "invalid cast from type ‘double’ to",
        "invalid cast from type <float> to",
    ),
    Rule(
        re.compile(r"‘((?:[A-Za-z_]\w*::)*[A-Za-z_<]\w*>?|[^\w’\s]+)’"),
        "\\1",
        "what g++ quotes is generated code: an identifier or a sign in it names the bug",
        "‘compile’ was not declared in this scope",
        "compile was not declared in this scope",
    ),
    Rule(
        re.compile(r"\b(undeclared identifier|no member named|no type named|unknown type name) '(\w+)'"),
        "\\1 \\2",
        "and so does clang",
        "use of undeclared identifier 'compile'",
        "use of undeclared identifier compile",
    ),
)
