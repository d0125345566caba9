"""What MindSpore refuses, in PyNative and in Graph mode.

One kind is one line of C++ that refuses, as reached from one operator, or one refusal of the Graph compiler;
the logs' own C++ call stacks say which line. The mode makes no other kind where both reach that line, or
where a check is written out twice and refuses in the same words; where lines and words differ, or Python
itself refuses in one, it is two kinds.
"""

from __future__ import annotations

from programs import Program

HEAD = "import mindspore as ms\nimport numpy as np\nfrom mindspore import Tensor, mint, nn, ops\n\n\n"
CALL = "\n\n\n$f(Tensor(np.ones(($a, $b)), ms.$dtype)).asnumpy()\n"


def pynative(kind: str, body: str) -> Program:
    """A function of one tensor, run eagerly."""
    return Program(kind, f"{HEAD}def $f($x):\n    return {body}{CALL}")


def graph(kind: str, body: str) -> Program:
    """The same, compiled. `body` is an expression, or statements when it has several lines."""
    statements = body if "\n" in body or body.startswith("raise") else f"return {body}"
    return Program(kind, f"{HEAD}@ms.jit\ndef $f($x):\n    {statements}{CALL}")


def both(kind: str, body: str) -> tuple[Program, Program]:
    """One check, reached in either mode."""
    return pynative(kind, body), graph(kind, body)


def apart(kind: str, body: str) -> tuple[Program, Program]:
    """Two checks, one in each mode."""
    return pynative(f"{kind}-eager", body), graph(f"{kind}-graph", body)


MINDSPORE: tuple[Program, ...] = (
    *both("ms-matmul-sizes", "ops.matmul($x, $x)"),
    *apart("ms-broadcast-add", "$x + ops.ones(($c,))"),
    *both("ms-broadcast-mul", "ops.mul($x, ops.ones(($c,)))"),
    *apart("ms-reshape-size", "ops.reshape($x, ($c, $c))"),
    *both("ms-concat-sizes", "ops.concat([$x, ops.ones(($a, $c), ms.$dtype)], 0)"),
    *apart("ms-softmax-of-int", "ops.softmax($x.astype(ms.int32))"),
    *both("ms-softmax-axis", "ops.softmax($x, axis=9)"),
    *both("ms-transpose-permutation", "ops.transpose($x, (0, 0))"),
    *both("ms-split-size", "ops.split($x, 0)[0]"),
    *both("ms-erf-of-complex", "ops.erf($x.astype(ms.complex64))"),
    *both("ms-conv-channels", "ops.conv2d($x[None, None].astype(ms.float32), ops.ones(($c, $c, 1, 1)))"),
    *apart("ms-index-out-of-bounds", "$x[97]"),
    *both("ms-gather-index-dtype", "ops.gather($x, $x, 0)"),
    *both("ms-broadcast-to", "ops.broadcast_to($x, ($c, $c))"),
    *both("ms-topk-k", "ops.topk($x, 98)[0]"),
    *both("ms-layer-norm-shape", "nn.LayerNorm(($c,))($x)"),
    *both("ms-batch-matmul-sizes", "ops.bmm($x[None], $x[None])"),
    *both("ms-sum-axis", "ops.sum($x, 7)"),
    *both("ms-tile-type", "ops.tile($x, (1.5, 2))"),
    *both("ms-cholesky-square", "ops.cholesky($x)"),
    *both("ms-one-hot-depth", "ops.one_hot($x.astype(ms.int32), -3)"),
    *apart("ms-stack-sizes", "ops.stack([$x, ops.ones(($a, $c), ms.$dtype)])"),
    *apart("ms-keyword", "ops.relu($x, nonsense=$c)"),
    *apart("ms-tensor-attribute", "$x.no_such_method()"),
    graph("ms-jit-undefined-name", "$x + no_such_$y"),
    graph("ms-jit-raise", "raise ValueError('$word')"),
    graph("ms-jit-assert", "assert $x.shape[0] == 99, '$word'\n    return $x"),
    graph("ms-jit-dtype-join", "if $x.sum() > 0:\n        return $x\n    return $x.astype(ms.int32)"),
    graph("ms-jit-type-join", "if $x.sum() > 0:\n        return $x\n    return (1, $x)"),
    graph("ms-jit-with", "with open('$word') as $y:\n        return $x"),
    graph("ms-jit-try", "try:\n        $y = $x + 1\n    finally:\n        $y = $x\n    return $y"),
    graph("ms-jit-yield", "yield $x\n    yield $x"),
    graph("ms-jit-del", "$y = $x + 1\n    del $y\n    return $y"),
    graph("ms-jit-call-of-int", "$y = 3\n    return $x + $y($x)"),
    graph("ms-jit-async", "async def $y():\n        return $x\n    return $y()"),
    graph("ms-jit-list-index", "$y = [1, 2]\n    return $x + $y[$b]"),
    graph("ms-jit-dict-key", "$y = {'p': 1}\n    return $x + $y['$word']"),
    graph("ms-jit-zip-unequal", "$y, z, w = (1, 2)\n    return $x + $y"),
    graph("ms-jit-import", "import no_such_$f\n    return $x"),
    graph("ms-jit-recursion", "return $f($x) + 1\n"),
    graph("ms-jit-division-by-zero", "$y = 0\n    return $x + 3 // $y"),
    graph("ms-jit-string-plus-tensor", "$x + '$word'"),
    graph("ms-jit-matmul-operator-type", "(1, 2) @ $x"),
    Program(
        "ms-jit-arguments",
        f"{HEAD}@ms.jit\ndef $f($x):\n    return $x\n\n\n$f(Tensor(np.ones(($a, $b))), 3, 4)\n",
    ),
    Program(
        "ms-jit-arguments",
        f"{HEAD}class $f(nn.Cell):\n    def construct(self, $x):\n        return $x\n\n\n"
        "$y = $f()\n$y.construct = ms.jit($y.construct)\n$y(Tensor(np.ones(($a, $b))), 3, 4)\n",
    ),
    Program(
        "ms-grad-position",
        f"{HEAD}def $f($x):\n    return ops.sum($x * $x)\n\n\n"
        "ms.grad($f, grad_position=3)(Tensor(np.ones(($a, $b)), ms.$dtype)).asnumpy()\n",
    ),
    Program(
        "ms-grad-of-non-callable",
        f"{HEAD}ms.grad(3)(Tensor(np.ones(($a, $b)), ms.$dtype))\n",
    ),
    Program(
        "ms-kernel-unregistered",
        f"{HEAD}def $f($x):\n    return mint.nn.functional.batch_norm($x, None, None, training=True)\n\n\n"
        "$f(Tensor(np.ones(($a, $b)), ms.$dtype)).asnumpy()\n",
    ),
)
