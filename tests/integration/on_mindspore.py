"""Runs programs of one operator in both modes of MindSpore; a process of its own (`test_mindspore.py`).

Reads {operator: [program]} from standard input, writes {operator: [how it went]} to standard output: agrees,
differs, refused (by PyNative), or why it was dropped.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace

import mindspore as ms

from fuzzers.flowmut.on_mindspore.examine import examine
from fuzzers.flowmut.on_mindspore.running import predict
from fuzzers.flowmut.on_mindspore.source import build, plain
from fuzzers.flowmut.program import from_json
from fuzzers.flowmut.rejection import Rejection
from fuzzers.records import Json


def went(plain_program: Json) -> str:
    """How one program went."""
    program = from_json(plain_program)
    program = replace(program, inputs=tuple(map(plain, program.inputs)))
    if isinstance(predict(program), Rejection):
        return "refused"
    call, inputs = build(program)
    report = examine(call, inputs, lambda level: ms.jit(call, jit_level=level))
    return "differs" if report.differences else report.dropped or "agrees"


def main() -> None:
    answer = os.dup(1)
    os.dup2(2, 1)  # MindSpore prints to where it likes
    given = json.load(sys.stdin)
    found = {operator: [went(program) for program in programs] for operator, programs in given.items()}
    os.write(answer, json.dumps(found).encode())


if __name__ == "__main__":
    main()
