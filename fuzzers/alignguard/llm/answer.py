"""From what a model said to a program, or to what is wrong with it. Runs nothing.

Invariant: pure and total: whatever text comes in, the result is a program that is in the form and passes
the gate, or problems in sentences that the model can be told. What models add around a program although
they are asked not to (talk, a call of f, prints, a main guard) is cut away, since it says nothing about the
program.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from fuzzers.alignguard import form, gate
from fuzzers.alignguard.llm.prompt import called
from fuzzers.alignguard.reading import names

FENCED = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL)
PYTHON = frozenset(("", "py", "python", "python3", "pytorch"))

LONGEST_ANSWER = 100_000
"""Characters of an answer that are looked at."""

MOST_BLOCKS = 8
MOST_PROBLEMS = 6


@dataclass(frozen=True)
class Verdict:
    """A program, or the problems with what would have been one."""

    source: str = ""
    problems: tuple[str, ...] = ()


def judged(said: str, seed: str) -> Verdict:
    """What an answer to a request for a mutant of `seed` comes to."""
    problems: tuple[str, ...] = ()
    for text in texts(said):
        verdict = examined(text, seed)
        if verdict.source:
            return verdict
        problems = problems or verdict.problems
    return Verdict(problems=problems or ("there is no ```python block with a program",))


def texts(said: str) -> list[str]:
    """The texts in an answer that may be the program, the likeliest first."""
    said = THOUGHT.sub("", said[:LONGEST_ANSWER].replace("\r\n", "\n"))
    blocks = [found[3] for found in FENCED.finditer(said) if found[2].lower() in PYTHON][:MOST_BLOCKS]
    whole = [block for block in blocks if re.search(rf"^\s*def {form.F}\b", block, re.MULTILINE)]
    rest = [block for block in blocks if block not in whole]
    bare = re.search(r"^(?:import|from) \w", said, re.MULTILINE)
    # The last program of several is the one that a model has settled on.
    return whole[::-1] + rest[::-1] + ([said[bare.start() :]] if bare and not blocks else [])


def examined(text: str, seed: str) -> Verdict:
    """The text as a program: in the form, through the gate, another one than its seed, and with an
    operator of it left."""
    try:
        source = completed(tidied(text), seed)
        form.read(source)
        is_seed = form.digest(source) == form.digest(seed)
    except form.NotNormal as error:
        return Verdict(problems=(str(error),))
    if found := gate.refusals(source):
        return Verdict(problems=tuple(map(str, found[:MOST_PROBLEMS])))
    if is_seed:
        return Verdict(problems=("it is the program that was to be changed",))
    tested = called(seed) - names.NOT_TENSORS - names.VIEWS
    if tested and not tested & called(source):
        return Verdict(problems=(f"it calls none of the operators {', '.join(sorted(tested))}",))
    return Verdict(source)


def tidied(text: str) -> str:
    """The text without what stands around a program, with torch imported. NotNormal when it is no Python."""
    text = _dedented(text)
    tree = form.parse(text)
    kept = list(_kept(tree.body))
    has_torch = any(
        isinstance(node, ast.Import)
        and any(alias.name == "torch" and not alias.asname for alias in node.names)
        for node in kept
    )
    if len(kept) == len(tree.body) and has_torch:
        return text.strip() + "\n"
    lines = text.splitlines()
    dropped = {
        number
        for node in tree.body
        if node not in kept
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    whole = [line for number, line in enumerate(lines, 1) if number not in dropped]
    start = [] if has_torch else ["import torch", ""]
    return "\n".join(start + whole).strip() + "\n"


def completed(source: str, seed: str) -> str:
    """The text with the seed's `inputs` when it has none and its f takes as many: what a small model
    leaves out."""
    own, other = (
        {node.name: node for node in form.parse(text).body if isinstance(node, ast.FunctionDef)}
        for text in (source, seed)
    )
    if form.INPUTS in own or form.F not in own or not {form.F, form.INPUTS} <= other.keys():
        return source
    if len(own[form.F].args.args) != len(other[form.F].args.args):
        return source
    return f"{source}\n\n{ast.unparse(other[form.INPUTS])}\n"


def _dedented(text: str) -> str:
    lines = text.expandtabs(4).splitlines()
    width = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[width:] for line in lines)


def _kept(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module that belong to a program: not a call of something other than manual_seed, not
    what stands under `if __name__ ==`, not an assertion or a loop that tries the program out, and not an
    assignment of what one of its own entries or a compiler gives."""
    for node in body:
        match node:
            case ast.Expr(value=ast.Call(func=function)) if ast.unparse(function) != "torch.manual_seed":
                continue
            case ast.If() | ast.For() | ast.With() | ast.Assert():
                continue
            case ast.Assign(value=ast.Call(func=function)) if ast.unparse(function) in TRIED:
                continue
            case _:
                yield node


TRIED = frozenset((*form.ENTRIES, "torch.compile", "compiled", "compiled_f", "f_compiled", "opt_f"))
"""What models try a program out with."""
