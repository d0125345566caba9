"""Programs of one operator each, as AlignGuard's seeds are: dtypes and shapes that differ, nothing else."""

from __future__ import annotations


def seed(body: str, **inputs: str) -> str:
    """A program in the normal form."""
    names = ", ".join(inputs)
    values = "\n".join(f"    {name} = {value}" for name, value in inputs.items())
    ends = f"({names},)" if len(inputs) == 1 else f"({names})"
    return (
        f"import torch\n\n\ndef f({names}):\n    return {body}\n\n\n"
        f"def inputs():\n    torch.manual_seed(0)\n{values}\n    return {ends}\n"
    )


SEEDS: dict[str, str] = {
    "sin": seed("torch.sin(x)", x="torch.randn(4, 6)"),
    "sin with a gradient": seed("torch.sin(x)", x="torch.randn(4, 6).requires_grad_()"),
    "expm1 of doubles": seed("torch.expm1(x)", x="torch.randn(3, 9, 2, dtype=torch.float64)"),
    "add": seed("torch.add(x, y)", x="torch.randn(4, 6)", y="torch.randn(6)"),
    "neg of int64": seed("torch.neg(x)", x="torch.randint(-9, 9, (2, 3, 4))"),
    "abs of uint8": seed("x.abs()", x="torch.randint(0, 100, (4, 5), dtype=torch.uint8)"),
    "not": seed("torch.logical_not(x)", x="torch.tensor([[True, False, True], [False, True, False]])"),
    "matmul": seed("torch.matmul(x, y)", x="torch.randn(4, 6)", y="torch.randn(6, 3)"),
    "square of complex": seed("torch.square(x)", x="torch.randn(3, 4, dtype=torch.complex64)"),
    "convolution": seed(
        "torch.nn.functional.conv2d(x, w)", x="torch.randn(1, 2, 5, 5)", w="torch.randn(3, 2, 3, 3)"
    ),
    "maximum of a row": seed("torch.max(x, 1)", x="torch.randn(4, 6)"),
    "exp of a number": seed("torch.exp(x)", x="torch.randn(())"),
    "cos of nothing": seed("torch.cos(x)", x="torch.randn(0, 3)"),
    "relu of bfloat16": seed("torch.relu(x)", x="torch.randn(5, 7, dtype=torch.bfloat16)"),
}
"""Name -> text."""
