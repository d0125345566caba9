# ruff: noqa: E501 (a program a line can be read down; broken into pieces it cannot)
"""Refusals and faults of the compiler itself: dynamo, AOT, inductor, C++, generated code, dynamic shapes."""

from __future__ import annotations

from programs import Program, one

CUSTOM_OP = """import torch


@torch.library.custom_op("$f::op", mutates_args=())
def op($x: torch.Tensor) -> torch.Tensor:
    return {real}

{fake}

@torch.compile(fullgraph=True)
def $f($x):
    return op($x) + 1


$f(torch.ones($a, $b, dtype=torch.$dtype))
"""

FAKE = """
@op.register_fake
def _($x):
    {fake}

"""

PATCHED = """import torch
{patch}

@torch.compile
def $f($x):
    return {body}


$f(torch.ones($a, $b, dtype=torch.$dtype) * 0.5)
"""

DYNAMIC = """import torch

torch._dynamo.config.capture_scalar_outputs = True
torch._dynamo.config.capture_dynamic_output_shape_ops = True


@torch.compile(fullgraph=True{settings})
def $f($x):
    {body}


{call}
"""


def custom(kind: str, real: str, fake: str = "") -> Program:
    """A custom operator that computes `real`, with the body of its fake kernel."""
    return Program(kind, CUSTOM_OP.format(real=real, fake=FAKE.format(fake=fake) if fake else ""))


def patched(kind: str, patch: str, body: str) -> Program:
    """A program under a fault planted in the compiler by `patch`."""
    return Program(kind, PATCHED.format(patch=patch, body=body))


def dynamic(kind: str, body: str, call: str = "$f(torch.ones($a, $b))", settings: str = "") -> Program:
    """A program over symbolic sizes."""
    return Program(kind, DYNAMIC.format(body=body, call=call, settings=settings))


LOWERING = """
def $y(*args, **kwargs):
    {raises}


torch._inductor.lowering.lowerings[torch.ops.aten.{op}.default] = $y

"""
IMPORTS = (
    "import torch._inductor.config\nimport torch._inductor.lowering\nimport torch._inductor.codegen.cpp\n"
)
PASS = """
def $y(graph):
    {raises}


torch._inductor.config.{where} = $y
"""
OVERRIDE = "torch._inductor.codegen.cpp.{owner}.{op} = staticmethod(lambda x: f'{text}')\n"


def lowering(kind: str, raises: str, op: str = "erfinv", body: str = "torch.erfinv($x)") -> Program:
    """A lowering that raises."""
    return patched(kind, IMPORTS + LOWERING.format(raises=raises, op=op), body)


def emitted(kind: str, text: str, op: str = "sin", body: str = "torch.sin($x)") -> Program:
    """C++ code that does not compile, for an operator."""
    patch = "".join(OVERRIDE.format(owner=o, op=op, text=text) for o in ("CppOverrides", "CppVecOverrides"))
    return patched(kind, IMPORTS + patch, body)


def calling(kind: str, module: str, call: str) -> Program:
    """A compiled function that calls into a module of the standard library."""
    return Program(
        kind,
        f"import {module}\nimport torch\n\n\n@torch.compile(fullgraph=True)\ndef $f($x):\n    {module}.{call}\n"
        "    return $x + 1\n\n\n$f(torch.ones($a))\n",
    )


COMPILER: tuple[Program, ...] = (
    # Refusals of dynamo under fullgraph.
    one("dynamo-builtin", "(print('$word'), $x)[1]"),
    one("dynamo-builtin", "(print(3), $x)[1]"),
    one("dynamo-branch-on-data", "$x if $x.sum() > 0 else -$x"),
    one("dynamo-branch-on-data", "$x + 1 if $x.max() else $x"),
    one("dynamo-graph-break", "(torch._dynamo.graph_break(), $x)[1]"),
    one("dynamo-backward-call", "$x.sum().backward()"),
    one("dynamo-data-ptr", "$x + $x.data_ptr()"),
    one("dynamo-numpy-of-grad", "$x + len($x.requires_grad_().numpy())"),
    one("dynamo-requires-grad-of-intermediate", "($x * 2).requires_grad_() + 1"),
    one("dynamo-set-attribute-of-builtin", "setattr(int, '$word', 3) or $x"),
    calling("dynamo-skipped-function", "os", "getcwd()"),
    calling("dynamo-skipped-function", "time", "sleep(0)"),
    calling("dynamo-skipped-function", "gc", "collect()"),
    Program(
        "dynamo-context-manager",
        "import threading\nimport torch\n\nlock_$y = threading.Lock()\n\n\n@torch.compile(fullgraph=True)\n"
        "def $f($x):\n    with lock_$y:\n        return $x + 1\n\n\n$f(torch.ones($a))\n",
    ),
    Program(
        "dynamo-observed-exception",
        "import torch\n\n\n@torch.compile(fullgraph=True)\ndef $f($x):\n    raise ValueError('step $a is too large')\n\n\n"
        "$f(torch.ones($a))\n",
    ),
    Program(
        "dynamo-observed-key-error",
        "import torch\n\ntable = {}\n\n\n@torch.compile(fullgraph=True)\ndef $f($x):\n    return $x + table['$y']\n\n\n"
        "$f(torch.ones($a))\n",
    ),
    Program(
        "dynamo-undefined-name",
        "import torch\n\n\n@torch.compile(fullgraph=True)\ndef $f($x):\n    return $x + no_such_$y\n\n\n"
        "$f(torch.ones($a))\n",
    ),
    Program(
        "dynamo-recompile-limit",
        "import torch\n\ntorch._dynamo.config.recompile_limit = 1\n"
        "torch._dynamo.config.fail_on_recompile_limit_hit = True\n\n\n@torch.compile(dynamic=False)\n"
        "def $f($x):\n    return $x + 1\n\n\n$f(torch.ones($a))\n$f(torch.ones($b))\n",
    ),
    Program(
        "dynamo-error-on-recompile",
        "import torch\n\ntorch._dynamo.config.error_on_recompile = True\n\n\n@torch.compile(dynamic=False)\n"
        "def $f($x):\n    return $x + 1\n\n\n$f(torch.ones($a))\n$f(torch.ones($b))\n",
    ),
    Program(
        "mark-dynamic-specialised",
        "import torch\n\n\n@torch.compile(fullgraph=True)\ndef $f($x):\n    return $x.reshape($a, -1)[:, :1] + $x.view($a * $b)[0]\n\n\n"
        "$x = torch.ones($a, $b)\ntorch._dynamo.mark_dynamic($x, 0)\n$f($x)\n",
    ),
    Program(
        "cond-branches-differ",
        "import torch\n\n\n@torch.compile(fullgraph=True)\ndef $f($x):\n"
        "    return torch.cond($x.sum() > 0, lambda t: t[0] + 1, lambda t: t.sum(), ($x,))\n\n\n$f(torch.ones($a, $b))\n",
    ),
    Program(
        "cond-predicate",
        "import torch\n\n\n@torch.compile(fullgraph=True)\ndef $f($x):\n"
        "    return torch.cond($x, lambda t: t + 1, lambda t: -t, ($x,))\n\n\n$f(torch.ones($a, $b))\n",
    ),
    one("vmap-item", "torch.vmap(lambda row: row * row.sum().item())($x)"),
    one("vmap-dims", "torch.vmap(lambda u, v: u + v)($x, torch.ones(99))"),
    one("func-grad-not-scalar", "torch.func.grad(lambda t: t * 2)($x)"),
    # Backends.
    Program(
        "backend-unknown", "import torch\n\ntorch.compile(lambda $x: $x, backend='$word')(torch.ones($a))\n"
    ),
    Program(
        "backend-raises",
        "import torch\n\n\ndef $y(gm, inputs):\n    raise RuntimeError(f'no kernel at {id(gm):#x} for buf$a')\n\n\n"
        "torch.compile(lambda $x: $x + 1, backend=$y)(torch.ones($a))\n",
    ),
    Program(
        "backend-attribute-error",
        "import torch\n\n\ndef $y(gm, inputs):\n    return gm.no_such_$word()\n".replace("$word", "$y")
        + "\n\ntorch.compile(lambda $x: $x + 1, backend=$y)(torch.ones($a))\n",
    ),
    # AOT and backward.
    Program(
        "leaf-in-place",
        "import torch\n\n\n@torch.compile(fullgraph=True)\ndef $f($x):\n    return $x.add_(1) * 2\n\n\n"
        "$f(torch.ones($a, $b, requires_grad=True))\n",
    ),
    Program(
        "double-backward",
        "import torch\n\n\n@torch.compile\ndef $f($x):\n    return ($x.sin() * $x).sum()\n\n\n"
        "$x = torch.ones($a, $b, requires_grad=True)\n(g,) = torch.autograd.grad($f($x), $x, create_graph=True)\n"
        "g.sum().backward()\n",
    ),
    Program(
        "donated-buffer",
        "import torch\n\n\n@torch.compile\ndef $f($x):\n    return $x.sin().exp().sum()\n\n\n"
        "$x = torch.ones($a, $b, requires_grad=True)\n$y = $f($x)\n$y.backward(retain_graph=True)\n",
    ),
    Program(
        "backward-twice",
        "import torch\n\n\n@torch.compile\ndef $f($x):\n    return $x.sin().exp().sum()\n\n\n"
        "$x = torch.ones($a, $b, requires_grad=True)\n$y = $f($x)\n$y.backward()\n$y.backward()\n",
    ),
    Program(
        "function-gradients-number",
        "import torch\n\n\nclass Step(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, $x):\n"
        "        return $x * 2\n\n    @staticmethod\n    def backward(ctx, g):\n        return g, g, g\n\n\n"
        "@torch.compile(fullgraph=True)\ndef $f($x):\n    return Step.apply($x).sum()\n\n\n"
        "$f(torch.ones($a, $b, requires_grad=True)).backward()\n",
    ),
    Program(
        "function-gradient-shape",
        "import torch\n\n\nclass Step(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, $x):\n"
        "        return $x * 2\n\n    @staticmethod\n    def backward(ctx, g):\n        return g[:1, :2]\n\n\n"
        "@torch.compile(fullgraph=True)\ndef $f($x):\n    return Step.apply($x).sum()\n\n\n"
        "$f(torch.ones($a, $b, requires_grad=True)).backward()\n",
    ),
    # Custom operators.
    custom("custom-op-without-fake", "$x.clone()"),
    custom("generated-size-assert", "$x.clone()", "return $x.new_empty($c, $b)"),
    custom("generated-size-assert", "$x.t().contiguous().t()", "return torch.empty_like($x)"),
    custom("custom-op-aliases", "$x", "return torch.empty_like($x)"),
    custom("custom-op-fake-raises", "$x.clone()", "raise ValueError('$a by $b has no shape')"),
    custom("custom-op-raises", "torch.ones(3) + torch.ones(11)", "return torch.empty_like($x)"),
    # Inductor.
    lowering("lowering-asserts", "raise AssertionError('sizes of s77 and buf3 differ at $a')"),
    lowering(
        "lowering-asserts",
        "raise AssertionError('sizes of s7 and buf12 differ at $b')",
        "log1p",
        "torch.log1p($x)",
    ),
    lowering("lowering-key-error", "return {}['$y']"),
    lowering("lowering-index-error", "return [][3]"),
    lowering(
        "lowering-not-implemented", "raise NotImplementedError('no kernel for ' + str(args[0].get_dtype()))"
    ),
    patched(
        "inductor-no-fallback",
        IMPORTS + "torch._inductor.config.implicit_fallbacks = False\n",
        "torch.cholesky_inverse($x[:2, :2])",
    ),
    patched(
        "post-grad-pass-raises",
        IMPORTS
        + PASS.format(
            raises="raise RuntimeError('no such node: \\'$y\\'')", where="post_grad_custom_post_pass"
        ),
        "$x.sin() + 1",
    ),
    patched(
        "pre-grad-pass-raises",
        IMPORTS + PASS.format(raises="return graph.no_such", where="pre_grad_custom_pass"),
        "$x.sin() + 1",
    ),
    patched(
        "scheduler-raises",
        "import torch._inductor.scheduler\n\n\ndef $y(self, nodes):\n    assert not nodes, f'cannot fuse buf{len(nodes)}'\n\n\n"
        "torch._inductor.scheduler.Scheduler.fuse_nodes = $y\n",
        "$x.sin() + 1",
    ),
    patched(
        "injected-cpp-error",
        IMPORTS + "torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = 'compile_error'\n",
        "torch.relu($x)",
    ),
    patched(
        "injected-cpp-error",
        IMPORTS + "torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = 'compile_error'\n",
        "torch.relu($x.t()).sum() * 2",
    ),
    patched(
        "injected-cpp-throw",
        IMPORTS + "torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = 'runtime_error'\n",
        "torch.relu($x[:1, :3])",
    ),
    emitted("cpp-undeclared", "no_such_function({x})"),
    emitted("cpp-no-match", "max_propagate_nan({x}, std::string())"),
    emitted("cpp-no-member", "({x}).no_such_member()"),
    emitted("cpp-syntax", "({x} +* )"),
    emitted("cpp-conversion", "static_cast<std::string*>({x})"),
    emitted("cpp-operands", "({x} % std::string())", "cos", "torch.cos($x)"),
    emitted(
        "cpp-static-assert",
        '({{ static_assert(sizeof(int) == 1, "int is small"); {x}; }})'.replace('"', '\\"'),
    ),
    # Symbolic sizes.
    dynamic("guard-on-unbacked", "u = $x.sum().int().item()\n    return $x * 2 if u > 3 else $x"),
    dynamic("guard-on-unbacked", "return torch.ones(3) if $x.nonzero().shape[0] == 5 else $x"),
    dynamic(
        "check-fails", "u = $x.sum().int().item()\n    torch._check(u < 2)\n    return torch.zeros(3) + u"
    ),
    dynamic(
        "split-unbacked-total",
        "u = $x.int().tolist()\n    return torch.ones(11).split(u)[0]",
        "$f(torch.tensor([3, 1]))",
    ),
    dynamic(
        "dynamic-matmul-sizes",
        "return $x @ torch.ones(13, $c)",
        "$f(torch.ones($a, $b))",
        ", dynamic=True",
    ),
    dynamic(
        "dynamic-reshape",
        "return $x.view(-1, 11)",
        "$f(torch.ones($a, $b))",
        ", dynamic=True",
    ),
    # Export.
    Program(
        "export-constraint-violated",
        "import torch\nfrom torch.export import Dim, export\n\n\nclass Net(torch.nn.Module):\n    def forward(self, $x):\n"
        "        return $x + torch.ones($a, $b)\n\n\n"
        "export(Net(), (torch.ones($a, $b),), dynamic_shapes=({0: Dim('batch_$y')},), strict=True)\n",
    ),
    Program(
        "export-branch-on-data",
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, $x):\n"
        "        return $x + 1 if $x.sum() > 0 else $x\n\n\n"
        "torch.export.export(Net(), (torch.ones($a, $b),))\n",
    ),
    Program(
        "export-dynamic-shapes-tree",
        "import torch\nfrom torch.export import Dim, export\n\n\nclass Net(torch.nn.Module):\n    def forward(self, $x):\n"
        "        return $x + 1\n\n\n"
        "export(Net(), (torch.ones($a, $b),), dynamic_shapes=({0: Dim('n')}, {1: Dim('m')}))\n",
    ),
)
