"""Seeds written here, one a place where compilers go wrong: what the engine starts from without a database.

Invariant: every text is in the normal form, runs uncompiled, and is small enough to read.
"""

from __future__ import annotations


def _text(parameters: str, body: str, inputs: str, again: str = "", top: str = "", setup: str = "") -> str:
    names = f"({parameters}{',' if ',' not in parameters else ''})"
    parts = ["import torch"]
    parts += [top] if top else []
    parts += [_function("f", parameters, body.splitlines())]
    parts += [_function("setup", "", setup.splitlines())] if setup else []
    parts += [_function("inputs", "", ["torch.manual_seed(0)", *inputs.splitlines(), f"return {names}"])]
    if again:
        parts += [_function("again", "", ["torch.manual_seed(1)", *again.splitlines()])]
    return "\n\n\n".join(parts) + "\n"


def _function(name: str, parameters: str, rows: list[str]) -> str:
    return "\n".join([f"def {name}({parameters}):", *(f"    {row}" for row in rows)])


WRITTEN: dict[str, str] = {
    "write through a view": _text(
        "x", "y = x.t()\ny[0].add_(1)\nreturn x.sum(1), y * 2", "x = torch.randn(6, 5)"
    ),
    "identity operator then write": _text(
        "x",
        "y = torch.nn.functional.dropout(x, 0.5, training=False)\ny.mul_(2)\nreturn x + y",
        "x = torch.randn(4, 9)",
    ),
    "transposed reduction": _text(
        "x, y",
        "z = (x.transpose(0, 2) * y).permute(1, 0, 2)\nreturn z.amax(-1), z.argmin(0)",
        "x = torch.randn(5, 7, 3)\ny = torch.randn(7, 5)",
    ),
    "unsigned reduction": _text(
        "x, y",
        "z = torch.cat([x.neg(), y], 1)\nreturn z.sum(1), z.to(torch.float32).mean(0)",
        "x = torch.randint(0, 255, (3, 17), dtype=torch.uint8)\n"
        "y = torch.randint(0, 255, (3, 4), dtype=torch.uint8)",
    ),
    "duplicate indices": _text(
        "x, i, y",
        "z = x.index_put((i,), y, accumulate=True)\nreturn z.sum(0), z",
        "x = torch.randn(6, 4)\ni = torch.randint(0, 6, (9,))\ny = torch.randn(9, 4)",
    ),
    "strided slices": _text(
        "x, y",
        "z = torch.cat([x[:, ::2], y[:, 1::3]], 1)\nreturn z[:, -5:].flip(1), z.stride(0)",
        "x = torch.randn(4, 11)\ny = torch.randn(4, 20)",
    ),
    "floor division and remainder": _text(
        "x, y",
        "return x // y, x % y, torch.div(x, y, rounding_mode='trunc')",
        "x = torch.randint(-50, 50, (33,), dtype=torch.int32)\n"
        "y = torch.randint(1, 9, (33,), dtype=torch.int32).neg()",
    ),
    "half chain": _text(
        "x, y",
        "z = torch.softmax(x * y, -1)\nreturn (z + x).to(torch.float32).sum(-1), z.exp()",
        "x = torch.randn(5, 21, dtype=torch.bfloat16)\ny = torch.randn(21, dtype=torch.bfloat16)",
    ),
    "state that changes": _text(
        "x",
        "return x * SCALE['by'] + len(SCALE)",
        "x = torch.randn(3, 8)",
        top="SCALE = {}",
        setup="SCALE.clear()\nSCALE['by'] = 2.0",
        again="SCALE['by'] = 3.0\nx = torch.randn(3, 8)\nreturn (x,)",
    ),
    "another size": _text(
        "x, y",
        "return (x @ y).relu().sum(0), x.shape[0] * y",
        "x = torch.randn(4, 6)\ny = torch.randn(6, 6)",
        again="x = torch.randn(1, 6)\ny = torch.randn(6, 6)\nreturn (x, y)",
    ),
    "explicit dtype": _text(
        "x, y",
        "return x.cumsum(0, dtype=torch.int32), torch.addmm(y, y, y, beta=0), x.sum(dtype=torch.float16)",
        "x = torch.randint(-9, 9, (13,), dtype=torch.int8)\ny = torch.randn(5, 5)",
    ),
    "scan and scatter": _text(
        "x, i",
        "z = torch.zeros_like(x).scatter_add(1, i, x)\nreturn torch.cummax(z, 1)[0], z.logcumsumexp(0)",
        "x = torch.randn(4, 19)\ni = torch.randint(0, 19, (4, 19))",
    ),
}
"""Name -> text."""
