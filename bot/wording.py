"""The sentences of an issue, in tables.

Invariant: a sentence says which contract is broken and by whom, and nothing that was not observed.
"""

from __future__ import annotations

from fuzzers.records import Aspect, Ending, Finding, Kind

CONTRACTS: dict[Kind, str] = {
    Kind.WRONG: "eager and the float64 reference agree, the compiled program returns another result",
    Kind.NONDETERMINISTIC: "the compiled program returns different results for equal inputs, eager does not",
    Kind.CRASH: "eager runs, the compiled program kills the process",
    Kind.HANG: "eager runs, compiling or running the compiled program does not end",
    Kind.EXCEPTION: "eager runs, compiling raises",
    Kind.GRADIENT: "eager's gradients and the float64 reference agree, those of the compiled program differ",
    Kind.METADATA: "the compiled program returns tensors with other metadata than eager",
    Kind.EAGER: "the program is well-conditioned, and eager is far from the float64 reference",
    Kind.ALIASING: "the outputs of the compiled program share storage differently from those of eager",
    Kind.EXTREME: "on extreme values the compiled program returns another result than eager",
    Kind.NONFINITE: "NaN or infinity appears on one side only",
    Kind.ACCEPTS_INVALID: "eager refuses these inputs, the compiled program accepts them",
    Kind.LAYOUT: "the compiled program returns other strides than eager",
}
"""Kind -> which contract is broken."""

EXACT: dict[Aspect, str] = {
    Aspect.DTYPE: "the compiled program returns another dtype than eager",
    Aspect.SHAPE: "the compiled program returns another shape than eager",
    Aspect.STRUCTURE: "the compiled program returns another number of outputs than eager",
    Aspect.MUTATION: "the compiled program leaves other values in an input than eager",
    Aspect.INDICES: "the compiled program returns indices that select other values than eager's",
    Aspect.REQUIRES_GRAD: "outputs require gradients on one side only",
    Aspect.DEVICE: "the compiled program returns tensors on another device than eager",
}
"""Aspect -> the contract, where the aspect says more than the kind."""

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128"})

INTEGERS_DIFFER = (
    "integers and booleans must agree exactly, and the compiled program returns others than eager"
)

ENDS: dict[Ending, str] = {
    Ending.ASSERTION: "Its last assertion fails.",
    Ending.EXCEPTION: "The compiled call raises {exception}.",
    Ending.SIGNAL: "The compiled call dies by {signal}.",
    Ending.TIMEOUT: "The compiled call does not end.",
    Ending.OK: "It ended normally.",
    Ending.CANNOT_RUN: "It could not be run.",
}
"""How a reproducer ends on a bad build."""

ENDINGS: dict[str, str] = {
    Ending.OK: "right",
    Ending.ASSERTION: "**fails**: its result differs",
    Ending.EXCEPTION: "**fails**: it raises",
    Ending.SIGNAL: "**fails**: it crashes",
    Ending.TIMEOUT: "**fails**: it does not end",
    Ending.CANNOT_RUN: "could not be run",
}
"""What a rung of the ladder showed."""

ADDS: dict[str, str] = {
    "eager": "capture by dynamo",
    "aot_eager": "functionalisation, autograd ahead of time",
    "aot_eager_decomp_partition": "decompositions, partitioner",
    "inductor": "lowering, fusion, code generation",
    "O0": "capture of the graph, its passes",
    "O1": "fusion of kernels",
}
"""Backend, or level of `ms.jit` -> what it adds to the one before."""

SETTINGS: dict[str, str] = {
    **{
        name: f'backend="{name}"' for name in ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
    },
    **{level: f'jit_level="{level}"' for level in ("O0", "O1")},
}
"""Backend, or level -> the argument that asks for it."""


def contract(finding: Finding) -> str:
    """The broken contract, as a clause: who is right, and what the other does."""
    kind, aspect = finding.suspect.kind, finding.suspect.aspect
    if kind in (Kind.WRONG, Kind.METADATA):
        if aspect is Aspect.VALUES and not FLOATS & set(finding.dtypes):
            return INTEGERS_DIFFER
        return EXACT.get(aspect, CONTRACTS[kind])
    return CONTRACTS[kind]


ENGINES: dict[str, str] = {
    "flowmut": "FlowMuT, a fuzzer that mutates real models along their tensor flow",
    "alignguard": "AlignGuard, a fuzzer that mutates existing tests",
    "dirigo": "Dirigo, which executes kernels symbolically",
}
"""Bug finder -> what it is, for people who have not heard of it."""

WORKAROUNDS: dict[str, str] = {
    "partition/cse": "torch._functorch.config.cse = False",
    "passes/pattern_matcher": "torch._inductor.config.pattern_matcher = False",
    "passes/joint_graph_constant_folding": "torch._inductor.config.joint_graph_constant_folding = False",
    "codegen/loop_tails": "torch._inductor.config.cpp.enable_loop_tail_vec = False",
    "codegen/inplace_buffers": "torch._inductor.config.inplace_buffers = False",
    "codegen/buffer_reuse": "torch._inductor.config.allow_buffer_reuse = False",
    "config/emulate_precision_casts": "torch._inductor.config.emulate_precision_casts = True",
    "config/fallback_random": "torch._inductor.config.fallback_random = True",
    "config/layout_optimization": "torch._inductor.config.layout_optimization = False",
    "config/comprehensive_padding": "torch._inductor.config.comprehensive_padding = False",
}
"""Part of the compiler -> the setting that switches it off, for people who need one tonight."""

LABELS: dict[str, str] = {"kind": "kind: {}", "framework": "framework: {}", "fuzzer": "topic: fuzzer"}
"""What labels are made of."""
