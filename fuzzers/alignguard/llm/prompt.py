"""What a model is told: the form of a program, a worked example, the seed, and what to do to it.

Invariant: pure, and short enough for a model with a window of 4,096 tokens. What comes from the seed stands
between fences and is called a program; that a seed may say something else to the model is why its answer goes
through the gate.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from fuzzers.alignguard import form
from fuzzers.alignguard.characteristics.declaration import Characteristic
from fuzzers.alignguard.llm.endpoint import Message
from fuzzers.alignguard.reading import names

LONGEST_SEED = 3_000
"""Characters of a seed that is shown; a longer one leaves no room for the answer."""

NEAR = 8
"""Operators that are named as near one of the seed's."""

SYSTEM = """\
You write small PyTorch programs that test torch.compile. A program is valid Python in this form:

- `import torch` first. Other imports only of math, itertools, functools, operator, collections,
  dataclasses, contextlib, copy, enum, typing.
- then, if needed, constants, classes and helper functions;
- `def f(...)`: what is compiled. Plain parameters without defaults. It returns tensors, or None when it
  works by writing into its inputs. It is deterministic: no random numbers in f.
- `def inputs():` seeds with torch.manual_seed, makes each argument of f with an explicit shape and dtype,
  and ends with its only return, a tuple with one value for each parameter of f, such as `return (x, y)`.
- optionally `def setup():` which puts all Python state that f uses back to its beginning, and
  `def again():` which changes Python state or shapes and returns the arguments of a second call, like
  inputs().

Nothing else stands at module level: no call of f, no print, no torch.compile, no assert. No files, no
processes, no network, no getattr with computed names, no double underscores but __init__ and the like.
Tensors have at most a few thousand elements. The program must run without an error in plain eager PyTorch.

Answer with the whole program in one ```python block and nothing else."""

EXAMPLE_SEED = """\
import torch


def f(x):
    return torch.cumsum(x, 0)


def inputs():
    torch.manual_seed(0)
    x = torch.randint(0, 9, (6, 4), dtype=torch.int32)
    return (x,)
"""

EXAMPLE_TASK = """\
Writing through a view (AOT, functionalization). f writes into a view of an input in place, and reads \
the base afterwards."""

EXAMPLE_ANSWER = """\
```python
import torch


def f(x):
    row = x.t()[1]
    row.add_(2)
    return torch.cumsum(x, 0), row


def inputs():
    torch.manual_seed(0)
    x = torch.randint(0, 9, (6, 4), dtype=torch.int32)
    return (x,)
```"""

GROUPS = tuple(
    group
    for group in vars(names).values()
    if isinstance(group, frozenset) and all(isinstance(name, str) for name in group)
)
"""Operators that go together, as the reader of programs groups them."""


def conversation(seed: str, characteristics: Sequence[Characteristic]) -> list[Message]:
    """The messages that ask for one mutant of a seed."""
    wanted = "\n\n".join(one.prompt for one in characteristics)
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": _request(EXAMPLE_SEED, EXAMPLE_TASK, ())},
        {"role": "assistant", "content": EXAMPLE_ANSWER},
        {"role": "user", "content": _request(seed[:LONGEST_SEED], wanted, near(seed))},
    ]


def repair(said: str, problems: Sequence[str]) -> list[Message]:
    """The messages that follow an answer which is no program."""
    listed = "\n".join(f"- {problem}" for problem in problems)
    return [
        {"role": "assistant", "content": said[: 2 * LONGEST_SEED]},
        {
            "role": "user",
            "content": f"That program cannot be used:\n{listed}\nWrite the whole program again, corrected.",
        },
    ]


def _request(seed: str, wanted: str, operators: Sequence[str]) -> str:
    others = f"\nOperators near those of this program: {', '.join(operators)}.\n" if operators else ""
    return f"""\
Here is a program:

```python
{seed.strip()}
```

Change it so that it has this:

{wanted}
{others}
Keep its operators on the way from an input to a result, and keep it valid."""


def called(source: str) -> frozenset[str]:
    """The operators that f and what it uses call, by their plain names; none when the text does not parse."""
    try:
        body = form.parse(source).body
    except form.NotNormal:
        return frozenset()
    makers = (form.INPUTS, form.AGAIN, form.SETUP)
    found = {
        node.func.attr.rstrip("_")
        for part in body
        if not (isinstance(part, ast.FunctionDef) and part.name in makers)
        for node in ast.walk(part)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    return frozenset(found)


def near(source: str) -> tuple[str, ...]:
    """Operators of the same groups as those of a program, a few, always the same ones."""
    own = called(source)
    found = sorted({name for group in GROUPS if group & own and len(group) < 60 for name in group} - own)
    step = max(1, len(found) // NEAR)
    return tuple(found[::step][:NEAR])
