"""Calls that an operator refuses: what its fake kernel, its decomposition or its lowering raises.

One kind is one check of one operator. Two spellings of a call that reach the same check are one kind.
"""

from __future__ import annotations

from programs import Program, one

OPERATORS: tuple[Program, ...] = (
    one("matmul-sizes", "$x @ $x"),
    one("matmul-sizes", "torch.matmul($x, $x)"),
    one("broadcast-sizes", "$x + torch.ones($c)"),
    one("broadcast-sizes-mul", "$x * torch.ones($c)"),
    one("reshape-size", "$x.reshape($c, $c)"),
    one("reshape-size", "$x.reshape(-1, 11)"),
    one("view-strides", "$x.t().view($a * $b)"),
    one("cat-ranks", "torch.cat([$x, $x[0]])"),
    one("cat-sizes", "torch.cat([$x, torch.ones($a, $c)])"),
    one("stack-sizes", "torch.stack([$x, torch.ones($a, $c)])"),
    one("conv-channels", "torch.nn.functional.conv2d($x.float()[None, None], torch.ones($c, $c, 1, 1))"),
    one(
        "conv-kernel-too-big", "torch.nn.functional.conv2d($x.float()[None, None], torch.ones(1, 1, 99, 99))"
    ),
    one("einsum-subscripts", "torch.einsum('ij,k->z', $x, $x)"),
    one("index-out-of-bounds", "$x[97]"),
    one("softmax-dim", "$x.softmax(5)"),
    one("sum-dim", "$x.sum(dim=5)"),
    one("bmm-rank", "torch.bmm($x, $x)"),
    one("linear-sizes", "torch.nn.functional.linear($x.float(), torch.ones($c, $c))"),
    one("gather-index-dtype", "$x.gather(0, $x)"),
    one("gather-rank", "$x.gather(0, torch.zeros($a, dtype=torch.int64))"),
    one("scatter-dtype", "$x.scatter(0, torch.zeros($a, $b, dtype=torch.int64), $x.int())"),
    one("layer-norm-shape", "torch.nn.functional.layer_norm($x, ($c,))"),
    one("group-norm-groups", "torch.nn.functional.group_norm($x, 23)"),
    one("pixel-shuffle-rank", "torch.nn.functional.pixel_shuffle($x, $c)"),
    one("pad-negative", "torch.nn.functional.pad($x, (-99, 0))"),
    one("pad-reflect-too-big", "torch.nn.functional.pad($x, (99, 0), mode='reflect')"),
    one("cross-entropy-batch", "torch.nn.functional.cross_entropy($x, torch.zeros(19, dtype=torch.int64))"),
    one("expand-size", "$x.expand($c, $c)"),
    one("topk-k", "$x.topk(98)"),
    one("cholesky-square", "torch.linalg.cholesky($x)"),
    one("permute-repeats", "$x.permute(0, 0)"),
    one("batch-norm-stats", "torch.nn.functional.batch_norm($x.float(), torch.ones($c), torch.ones($c))"),
    one("max-pool-kernel", "torch.nn.functional.max_pool2d($x[None], 96)"),
    one("fft-size", "torch.fft.fft($x, n=0)"),
    one("clamp-nothing", "$x.clamp()"),
    one("repeat-dims", "$x.repeat(2)"),
    one("unflatten-sizes", "$x.unflatten(1, ($c, $c))"),
    one("split-sizes", "$x.split([1, 1], dim=1)"),
    one("embedding-index-dtype", "torch.nn.functional.embedding($x, $x)"),
    one("masked-fill-mask-dtype", "$x.masked_fill($x, 0.0)"),
    one("inverse-square", "torch.linalg.inv($x)"),
    one("dot-rank", "torch.dot($x, $x)"),
    one("diagonal-same-dims", "$x.diagonal(0, 1, 1)"),
    one("roll-dims", "$x.roll((1, 2), (0,))"),
    one("mean-of-int", "$x.to(torch.int32).mean()"),
    one("unsupported-method", "$x.no_such_method()"),
    one("unknown-function", "torch.no_such_function($x)"),
    one("operator-keyword", "torch.relu($x, nonsense=$c)"),
)
