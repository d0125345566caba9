"""Small reference models in the KernelBench convention, for the tests of Dirigo's reference evaluator.

A model is a line: the layers that it has, what forward returns, and its inputs.
"""

from __future__ import annotations

from typing import NamedTuple


class Written(NamedTuple):
    """The parts of a reference that are its own: forward's expression or statements, the inputs as an
    expression, the body of __init__."""

    forward: str
    inputs: str
    layers: str = "pass"

    def source(self) -> str:
        body = self.forward if "return " in self.forward else f"return {self.forward}"
        return "\n".join(
            [
                "import math",
                "import torch",
                "import torch.nn as nn",
                "import torch.nn.functional as F",
                "from torch import arange, rand, randint, randn",
                "class Model(nn.Module):",
                "    def __init__(self):",
                "        super().__init__()",
                *(f"        {line}" for line in self.layers.splitlines()),
                "    def forward(self, x, y=None, z=None):",
                *(f"        {line}" for line in body.splitlines()),
                "def get_inputs():",
                f"    return [{self.inputs}]",
                "def get_init_inputs():",
                "    return []",
                "",
            ]
        )


ACTIVATIONS = (
    *("F.relu(x)", "F.leaky_relu(x, 0.1)", "F.gelu(x)", "F.gelu(x, approximate='tanh')", "F.silu(x)"),
    *("F.mish(x)", "F.softplus(x)", "F.softplus(x, 2.0, 1.0)", "F.hardsigmoid(x)", "F.hardswish(x)"),
    *("F.hardtanh(x)", "F.elu(x)", "F.selu(x)", "F.celu(x, 0.7)", "F.logsigmoid(x)", "F.softshrink(x)"),
    *("F.hardshrink(x)", "F.threshold(x, 0.1, 20.0)", "F.glu(x)", "F.relu6(x * 4)", "F.softsign(x)"),
    *("F.tanhshrink(x)", "F.rrelu(x)", "torch.sigmoid(x)", "F.prelu(x, y)", "F.dropout(x, 0.3, False)"),
)
UNARY = (
    *("exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "atan", "erf", "erfc"),
    *("abs", "neg", "sign", "sgn", "square", "floor", "ceil", "trunc", "round", "frac", "sinc", "isnan"),
    *("logical_not", "rad2deg", "deg2rad", "signbit", "isinf", "nan_to_num", "positive", "reciprocal"),
)
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "acosh", "lgamma", "special.entr")
WITHIN = ("asin", "acos", "atanh", "logit", "erfinv")
BINARY = (
    *("x + y", "x - 2 * y", "torch.sub(x, y, alpha=0.5)", "x * y", "x / y", "1 - x", "3 / x", "x ** 2"),
    *("x.abs() ** y", "x ** 3", "x.abs() ** 0.5", "2.0 ** x", "x ** -2", "torch.fmod(x, y)", "x % y"),
    *("torch.div(x, y, rounding_mode='floor')", "torch.div(x, y, rounding_mode='trunc')", "x // y"),
    *("torch.maximum(x, y)", "torch.minimum(x, y)", "torch.fmax(x, y)", "torch.fmin(x, y)"),
    *("torch.atan2(x, y)", "torch.hypot(x, y)", "torch.copysign(x, y)", "torch.xlogy(x, y.abs())"),
    *("torch.logaddexp(x, y)", "torch.logaddexp2(x, y)", "torch.lerp(x, y, 0.3)", "torch.lerp(x, y, x)"),
    *("torch.addcmul(x, y, y, value=0.5)", "torch.addcdiv(x, y, y.abs() + 1, value=2.0)"),
    *("torch.clamp(x, -0.5, 0.5)", "torch.clamp(x, min=y)", "x.clamp_min(0.1)", "x.clamp_max(0.1)"),
    *("x > y", "x < 0.5", "x >= y", "x <= y", "x == y", "x != y", "(x > 0) & (y > 0)", "(x > 0) | (y > 0)"),
    *("torch.logical_xor(x > 0, y > 0)", "~(x > y)", "torch.where(x > y, x, y * 2)", "x.double() + y"),
    *("x.masked_fill(y > 0, -1.0)", "(x > 0).float() * y", "(x * 3).int() + 1", "(x * 3).long().float()"),
    *("x + y[0]", "x[:, :1] * y", "torch.heaviside(x, y)", "torch.round(x, decimals=1)", "torch.rsub(x, y)"),
)
VIEWS = (
    *("x.view(4, 30) * 2", "x.permute(2, 0, 1) + 1", "x.transpose(0, 2).reshape(6, -1)", "x[:, 1:, ::2]"),
    *(
        "x.unsqueeze(1).expand(4, 3, 5, 6)",
        "x.squeeze()",
        "x[1]",
        "x[-1, 2]",
        "x.flip([0, 2])",
        "x.roll(2, 1)",
    ),
    *(
        "x.roll((1, -2), (0, 2))",
        "x.diagonal(1, 0, 2)",
        "x.unfold(2, 3, 2)",
        "x.repeat(2, 1, 3)",
        "x.roll(5)",
    ),
    *(
        "torch.cat([x, x * 2, x[:, :2]], 1)",
        "torch.stack([x, x + 1], 2)",
        "x.split(2, 1)[1]",
        "x.chunk(4, 2)[2]",
    ),
    *("torch.split(x, [1, 4], 1)", "x.unbind(1)[2]", "x.tril()", "x.triu(1)", "x.narrow(2, 1, 3)", "x.mT"),
    *("torch.as_strided(x, (3, 4), (7, 2), 5)", "x.rot90(1, (1, 2))", "x.movedim(0, 2)", "x.flatten(1)"),
    *(
        "x.index_select(1, torch.tensor([4, 0, 2]))",
        "x[:, torch.tensor([[0, 1], [3, 3]])]",
        "x.swapaxes(0, 1)",
    ),
    *("x[torch.arange(4), torch.arange(4)]", "x[torch.tensor([2, 0, 2])]"),
    *("F.pad(x, (1, 2, 0, 3), value=0.5)", "F.pad(x, (2, 1), mode='reflect')", "F.pad(x, (-1, 2))"),
    *("F.pad(x, (2, 1), mode='replicate')", "F.pad(x, (2, 1), mode='circular')", "torch.diag_embed(x[0])"),
    *(
        "x.repeat_interleave(2, 1)",
        "torch.tile(x, (2, 2))",
        "torch.meshgrid(x[0, 0], x[0, 1], indexing='ij')",
    ),
    *(
        "torch.zeros_like(x) + x",
        "x.new_ones(3, 1, 1) * x[:3]",
        "torch.full_like(x, 2.0) * x",
        "x.bfloat16() * 2",
    ),
    *(
        "torch.block_diag(x[0], x[1])",
        "torch.vander(x[0, 0])",
        "x.half() + 1",
        "torch.outer(x[0, 0], x[1, 1])",
    ),
)
REDUCTIONS = (
    *(
        "x.sum()",
        "x.sum(1)",
        "x.sum((0, 2), keepdim=True)",
        "x.mean()",
        "x.mean(-1)",
        "x.prod(2)",
        "x[0, 0].prod()",
    ),
    *(
        "x.amax(1)",
        "x.amin((0, 1))",
        "x.max()",
        "x.min()",
        "x.max(1)",
        "x.min(2, keepdim=True)",
        "x.argmax(1)",
    ),
    *("x.argmin(2)", "x.argmax()", "x.var(1)", "x.var(unbiased=False)", "x.std(2)", "torch.var_mean(x, 1)"),
    *(
        "torch.std_mean(x, 2)",
        "x.norm()",
        "x.norm(p=1, dim=1)",
        "torch.linalg.vector_norm(x, 3, 2)",
        "x.aminmax()",
    ),
    *("x.norm(p=float('inf'), dim=2)", "x.logsumexp(1)", "(x > 0).all(1)", "(x > 1).any()", "x.cumsum(1)"),
    *("x.cumprod(2)", "x.logcumsumexp(1)", "x.cummax(1)[0]", "x.count_nonzero(1)", "torch.dist(x, x * 2)"),
    *(
        "x.sort(2)",
        "x.sort(1, descending=True)",
        "x.topk(3, 2)",
        "x.median()",
        "x.median(1)",
        "x.kthvalue(2, 1)",
    ),
    *(
        "F.softmax(x, 1)",
        "F.log_softmax(x, 2)",
        "F.softmin(x, -1)",
        "x.flip(1).cumsum(1).flip(1)",
        "x.trace()",
    ),
    *(
        "F.normalize(x, dim=1)",
        "x / x.norm(dim=(1, 2), keepdim=True)",
        "x.cumsum(1).sum(1)",
        "x.max(1)[0].sum()",
    ),
    *("torch.cumsum(x * (x > 0), 2)", "x.mean((1, 2))", "x.square().mean(-1).sqrt()", "torch.diff(x, dim=1)"),
)
PRODUCTS = (
    *(
        "x @ y",
        "torch.mm(x, y)",
        "torch.addmm(z, x, y, beta=0.5, alpha=2.0)",
        "x.mv(y[:, 0])",
        "(x @ y).tril()",
    ),
    *("torch.dot(x[0], y[:, 0])", "torch.einsum('ij,jk->ik', x, y)", "torch.einsum('ij,jk->k', x, y)"),
    *("torch.bmm(x.expand(3, 4, 8), y.expand(3, 8, 5))", "torch.baddbmm(z, x[None], y[None])", "x.t() @ x"),
    *("F.linear(x, y.t(), z[0])", "torch.outer(x[0], y[:, 0])", "torch.addmv(z[:, 0], x, y[:, 1])"),
    *("torch.addbmm(z, x.expand(2, 4, 8), y.expand(2, 8, 5))", "torch.addr(z, x[:, 0], y[0])"),
    *(
        "torch.tensordot(x, y, 1)",
        "torch.kron(x[:2, :2], y[:2, :2])",
        "x.tril() @ y",
        "torch.cdist(x, y.t())",
    ),
    *("torch.cdist(x, y.t(), p=1)", "F.pdist(x)", "torch.matmul(x[:, None], y)", "torch.diag(x[0, :4]) @ x"),
    *(
        "F.cosine_similarity(x, x * 2 + 1)",
        "F.pairwise_distance(x, x.flip(0))",
        "torch.linalg.multi_dot([x, y, z.t()])",
    ),
)
LOSSES = (
    *(
        "F.mse_loss(x, y)",
        "F.l1_loss(x, y)",
        "F.smooth_l1_loss(x, y, beta=0.5)",
        "F.huber_loss(x, y, delta=0.7)",
    ),
    *(
        "F.mse_loss(x, y, reduction='none')",
        "F.l1_loss(x, y, reduction='sum')",
        "F.soft_margin_loss(x, y.sign())",
    ),
    *(
        "F.binary_cross_entropy(x.sigmoid(), y.sigmoid())",
        "F.binary_cross_entropy_with_logits(x, y.sigmoid())",
    ),
    *("F.cross_entropy(x, z)", "F.cross_entropy(x, y.softmax(1))", "F.nll_loss(x, z, reduction='none')"),
    *(
        "F.cross_entropy(x, z, label_smoothing=0.1)",
        "F.cross_entropy(x, z, weight=y[0].abs(), reduction='sum')",
    ),
    *(
        "F.kl_div(x, y.softmax(1), reduction='batchmean')",
        "F.kl_div(x, y, reduction='sum', log_target=True)",
        "F.l1_loss(x, y, reduction='none')",
    ),
    *(
        "F.hinge_embedding_loss(x, y.sign())",
        "F.cosine_embedding_loss(x, y, z.sign())",
        "F.poisson_nll_loss(x, y)",
    ),
    *(
        "F.triplet_margin_loss(x, y, x.flip(0))",
        "F.margin_ranking_loss(x, y, y.sign())",
        "F.multi_margin_loss(x, z)",
    ),
    *("torch.mean(torch.clamp(1 - x * y, min=0))", "F.multilabel_soft_margin_loss(x, y.sign().clamp_min(0))"),
)
LAYERS: dict[str, Written] = {
    "linear": Written("self.l(x)", "randn(4, 16)", "self.l = nn.Linear(16, 8)"),
    "mlp": Written(
        "self.n(x)", "randn(4, 12)", "self.n = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 3))"
    ),
    "conv1d": Written(
        "self.c(x)", "randn(2, 3, 20)", "self.c = nn.Conv1d(3, 4, 5, stride=2, padding=1, dilation=2)"
    ),
    "conv2d": Written("self.c(x)", "randn(2, 4, 9, 8)", "self.c = nn.Conv2d(4, 6, 3, padding=1, groups=2)"),
    "conv2d same": Written(
        "self.c(x)", "randn(2, 4, 9, 8)", "self.c = nn.Conv2d(4, 6, (3, 5), padding='same')"
    ),
    "conv2d reflect": Written(
        "self.c(x)", "randn(1, 2, 6, 6)", "self.c = nn.Conv2d(2, 3, 3, padding=1, padding_mode='reflect')"
    ),
    "depthwise": Written(
        "self.c(x)", "randn(2, 4, 7, 7)", "self.c = nn.Conv2d(4, 4, 3, groups=4, bias=False)"
    ),
    "conv3d": Written(
        "self.c(x)", "randn(1, 2, 5, 6, 5)", "self.c = nn.Conv3d(2, 3, (1, 3, 2), stride=(1, 2, 1))"
    ),
    "transposed 1d": Written(
        "self.c(x)", "randn(2, 4, 7)", "self.c = nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, groups=2)"
    ),
    "transposed 2d": Written(
        "self.c(x)",
        "randn(2, 4, 5, 4)",
        "self.c = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1, dilation=2)",
    ),
    "transposed 3d": Written(
        "self.c(x)", "randn(1, 3, 3, 4, 3)", "self.c = nn.ConvTranspose3d(3, 2, 3, stride=(1, 2, 2))"
    ),
    "max pool 1d": Written("F.max_pool1d(x, 3, 2, 1)", "randn(2, 3, 11)"),
    "max pool 2d": Written("F.max_pool2d(x, 3, 2, 1, dilation=2)", "randn(2, 3, 11, 9)"),
    "max pool 2d indices": Written("F.max_pool2d(x, 2, return_indices=True)", "randn(2, 3, 6, 6)"),
    "max pool 3d": Written("F.max_pool3d(x, 2, ceil_mode=True)", "randn(1, 2, 5, 5, 5)"),
    "avg pool 1d": Written("F.avg_pool1d(x, 3, 2, 1)", "randn(2, 3, 11)"),
    "avg pool 2d": Written("F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)", "randn(2, 3, 8, 9)"),
    "avg pool 2d ceil": Written("F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)", "randn(2, 3, 8, 9)"),
    "avg pool 3d": Written("F.avg_pool3d(x, (1, 2, 3), divisor_override=5)", "randn(1, 2, 4, 5, 6)"),
    "adaptive avg": Written("F.adaptive_avg_pool2d(x, (3, 4))", "randn(2, 3, 8, 9)"),
    "adaptive avg 1": Written("F.adaptive_avg_pool2d(x, 1)", "randn(2, 3, 8, 9)"),
    "adaptive avg 3d": Written("F.adaptive_avg_pool3d(x, (2, 3, 1))", "randn(1, 2, 5, 5, 5)"),
    "adaptive max": Written("F.adaptive_max_pool2d(x, (3, 2))", "randn(2, 3, 8, 9)"),
    "adaptive max 1d": Written("F.adaptive_max_pool1d(x, 4, return_indices=True)", "randn(2, 3, 11)"),
    "lp pool": Written("F.lp_pool2d(x.abs(), 2, 2)", "randn(2, 3, 6, 6)"),
    "batch norm train": Written("self.n(x)", "randn(4, 3, 5, 5)", "self.n = nn.BatchNorm2d(3)"),
    "batch norm eval": Written("self.n(x)", "randn(4, 3, 5, 5)", "self.n = nn.BatchNorm2d(3)\nself.n.eval()"),
    "batch norm 1d": Written("self.n(x)", "randn(8, 5)", "self.n = nn.BatchNorm1d(5, affine=False)"),
    "layer norm": Written("self.n(x)", "randn(4, 3, 10)", "self.n = nn.LayerNorm((3, 10))"),
    "layer norm plain": Written("F.layer_norm(x, (10,))", "randn(4, 3, 10)"),
    "group norm": Written("self.n(x)", "randn(2, 6, 4, 3)", "self.n = nn.GroupNorm(3, 6)"),
    "instance norm": Written("self.n(x)", "randn(2, 3, 4, 5)", "self.n = nn.InstanceNorm2d(3, affine=True)"),
    "rms norm": Written("self.n(x)", "randn(4, 10)", "self.n = nn.RMSNorm(10)"),
    "local response": Written("F.local_response_norm(x, 3)", "randn(2, 6, 4, 4)"),
    "attention": Written(
        "F.scaled_dot_product_attention(x, y, z)", "randn(2, 2, 5, 8), randn(2, 2, 7, 8), randn(2, 2, 7, 6)"
    ),
    "attention causal": Written(
        "F.scaled_dot_product_attention(x, y, z, is_causal=True)",
        "randn(1, 2, 5, 8), randn(1, 2, 5, 8), randn(1, 2, 5, 8)",
    ),
    "attention masked": Written(
        "F.scaled_dot_product_attention(x, y, y, attn_mask=z)",
        "randn(1, 2, 5, 8), randn(1, 2, 6, 8), randn(5, 6)",
    ),
    "attention by hand": Written(
        "a = (x @ y.transpose(-2, -1)) / math.sqrt(x.size(-1))\n"
        "a = a.masked_fill(self.mask[:5, :5] == 0, float('-inf'))\n"
        "return F.softmax(a, dim=-1) @ y",
        "randn(1, 2, 5, 8), randn(1, 2, 5, 8)",
        "self.register_buffer('mask', torch.tril(torch.ones(6, 6, dtype=torch.long)))",
    ),
    "multihead": Written("self.a(x, x, x)[0]", "randn(3, 2, 8)", "self.a = nn.MultiheadAttention(8, 2)"),
    "encoder layer": Written(
        "self.e(x)",
        "randn(2, 3, 8)",
        "self.e = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)",
    ),
    "lstm": Written("self.r(x)[0]", "randn(3, 2, 4)", "self.r = nn.LSTM(4, 5)"),
    "lstm bidirectional": Written(
        "self.r(x)[0]", "randn(3, 2, 4)", "self.r = nn.LSTM(4, 3, 2, bidirectional=True)"
    ),
    "gru": Written("self.r(x)", "randn(2, 3, 4)", "self.r = nn.GRU(4, 5, batch_first=True)"),
    "rnn": Written("self.r(x)[0]", "randn(3, 2, 4)", "self.r = nn.RNN(4, 5)"),
    "embedding": Written("self.e(x)", "randint(0, 9, (3, 4))", "self.e = nn.Embedding(9, 5)"),
    "embedding sum": Written(
        "self.e(x).sum(1)", "randint(0, 9, (3, 4))", "self.e = nn.Embedding(9, 5, padding_idx=0)"
    ),
    "gather": Written("x.gather(1, y)", "randn(4, 6), randint(0, 6, (4, 3))"),
    "scatter add": Written("torch.zeros(4, 6).scatter_add(1, y, x)", "randn(4, 8), randint(0, 6, (4, 8))"),
    "scatter": Written("x.scatter(1, y, z)", "randn(4, 6), arange(4).repeat(4, 1).flip(1), randn(4, 4)"),
    "index add": Written("x.index_add(0, y, z)", "randn(4, 6), randint(0, 4, (7,)), randn(7, 6)"),
    "index put": Written(
        "x = x.clone()\nx[y] = z\nreturn x * 2", "randn(6, 3), arange(0, 6, 2), randn(3, 3)"
    ),
    "slice written": Written("x = x * 1\nx[:, 1:3] = y\nx[0] += 1\nreturn x", "randn(4, 6), randn(4, 2)"),
    "one hot": Written("F.one_hot(x, 5).float() @ y", "randint(0, 5, (4,)), randn(5, 3)"),
    "take along": Written("torch.take_along_dim(x, y, 1)", "randn(4, 6), randint(0, 6, (4, 2))"),
    "bucketed mask": Written("x * (y > 2)[:, None]", "randn(4, 6), randint(0, 5, (4,))"),
    "nearest": Written("F.interpolate(x, scale_factor=2)", "randn(1, 2, 4, 5)"),
    "nearest size": Written("F.interpolate(x, size=(7, 3), mode='nearest')", "randn(1, 2, 4, 5)"),
    "nearest exact": Written("F.interpolate(x, size=(7, 3), mode='nearest-exact')", "randn(1, 2, 4, 5)"),
    "linear 1d": Written("F.interpolate(x, size=9, mode='linear')", "randn(1, 2, 5)"),
    "bilinear": Written("F.interpolate(x, scale_factor=1.7, mode='bilinear')", "randn(1, 2, 4, 5)"),
    "bilinear aligned": Written(
        "F.interpolate(x, size=(9, 3), mode='bilinear', align_corners=True)", "randn(1, 2, 4, 5)"
    ),
    "trilinear": Written("F.interpolate(x, size=(3, 5, 4), mode='trilinear')", "randn(1, 1, 2, 3, 4)"),
    "bicubic": Written("F.interpolate(x, size=(6, 7), mode='bicubic')", "randn(1, 2, 4, 5)"),
    "unfold": Written("F.unfold(x, 3, padding=1, stride=2)", "randn(1, 2, 6, 7)"),
    "fold": Written("F.fold(x, (6, 7), 3, padding=1, stride=2)", "randn(1, 18, 12)"),
    "pixel shuffle": Written("F.pixel_shuffle(x, 2) * 2", "randn(1, 8, 3, 2)"),
    "pixel unshuffle": Written("F.pixel_unshuffle(x, 2) * 2", "randn(1, 2, 4, 6)"),
    "channel shuffle": Written("F.channel_shuffle(x, 2) * 2", "randn(1, 6, 2, 2)"),
    "bilinear layer": Written("self.b(x, y)", "randn(3, 4), randn(3, 5)", "self.b = nn.Bilinear(4, 5, 2)"),
    "conv bn relu": Written(
        "F.relu(self.b(self.c(x)))",
        "randn(2, 3, 6, 6)",
        "self.c = nn.Conv2d(3, 4, 3)\nself.b = nn.BatchNorm2d(4)",
    ),
    "residual": Written(
        "h = F.relu(self.a(x), inplace=True)\nh += x\nreturn self.b(h).mean((2, 3))",
        "randn(1, 3, 6, 6)",
        "self.a = nn.Conv2d(3, 3, 3, padding=1)\nself.b = nn.Conv2d(3, 3, 3, padding=1)",
    ),
    "dense block": Written(
        "h = [x]\nfor c in self.c:\n    h.append(F.relu(c(torch.cat(h, 1))))\nreturn torch.cat(h, 1)",
        "randn(1, 2, 5, 5)",
        "self.c = nn.ModuleList(nn.Conv2d(2 * k, 2, 3, padding=1) for k in (1, 2, 3))",
    ),
    "conv chain": Written(
        "x = self.c(x) * self.s\nx = torch.tanh(F.softplus(x))\nreturn x.mean(dim=[2, 3], keepdim=True)",
        "randn(1, 2, 5, 5)",
        "self.c = nn.ConvTranspose2d(2, 3, 3)\nself.s = nn.Parameter(torch.randn(3, 1, 1))",
    ),
    "gemm chain": Written(
        "x = torch.sigmoid(self.l(x) / 2.0)\nx = x.sum(1, keepdim=True)\nreturn torch.logsumexp(x, 1)",
        "randn(3, 8)",
        "self.l = nn.Linear(8, 6)",
    ),
    "constant view": Written("x * self.w", "randn(3, 2)", "self.w = torch.arange(8.0)[3:5]"),
    "inputs looked at": Written("x * 2", "randn(2 + int(randint(0, 3, (1,)).item()), 4)"),
    "plain constant": Written(
        "x * self.w + self.k", "randn(3, 4)", "self.w = torch.arange(4.0)\nself.k = 0.25"
    ),
    "spectral": Written(
        "self.l(x)", "randn(2, 4)", "self.l = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))"
    ),
    "double": Written("x @ y", "randn(3, 4).double(), randn(4, 2).double()"),
    "half sum": Written("(x * 2).sum(1)", "randn(3, 40).half()"),
    "bfloat": Written("F.relu(x @ y)", "randn(3, 8).bfloat16(), randn(8, 2).bfloat16()"),
    "strided input": Written("x.sum(1) + x[:, 0]", "randn(6, 4).t()"),
    "offset input": Written("x * 2", "randn(6, 4)[2:, 1:3]"),
    "several outputs": Written("x.mean(1), {'a': x + 1, 'b': [x[0]]}", "randn(3, 4)"),
    "integers": Written("(x * 2 + 1) % 3", "randint(0, 9, (3, 4))"),
    "number argument": Written("x * y", "randn(3, 4), 0.5"),
    "list argument": Written("x[0] + x[1] * 2", "[randn(3), randn(3)]"),
    "scan": Written("y = x[0]\nfor t in range(1, 6):\n    y = y * 0.5 + x[t]\nreturn y", "randn(6, 4)"),
}
TWO = "randn(4, 6), randn(4, 6)"
MODELS: dict[str, Written] = {
    **{text: Written(text, "randn(3, 4, 8), randn(4)") for text in ACTIVATIONS},
    **{name: Written(f"torch.{name}(x)", "randn(5, 6)") for name in UNARY},
    **{name: Written(f"torch.{name}(x.abs() + 1.1)", "randn(5, 6)") for name in POSITIVE},
    **{name: Written(f"torch.{name}(x)", "rand(5, 6) * 0.9 + 0.05") for name in WITHIN},
    **{text: Written(text, TWO) for text in BINARY},
    **{text: Written(text, "randn(4, 5, 6)") for text in VIEWS},
    **{
        text: Written(text, "randn(4, 5, 6)" if text != "x.trace()" else "randn(4, 4)") for text in REDUCTIONS
    },
    **{text: Written(text, "randn(4, 8), randn(8, 5), randn(4, 5)") for text in PRODUCTS},
    **{text: Written(text, f"{TWO}, randint(0, 6, (4,))") for text in LOSSES},
    **LAYERS,
}
"""Every model by a name."""

STEPS = (
    *(
        "x.t()",
        "x @ x.t()",
        "x + x.mean()",
        "F.relu(x)",
        "x.softmax(-1)",
        "x - x.amax(0)",
        "torch.tanh(x) * 2",
    ),
    *("x.cumsum(1)", "F.pad(x, (1, 1))", "x[1:] * 2 if x.shape[0] > 2 else x", "torch.cat([x, -x], 1)"),
    *("F.layer_norm(x, x.shape[1:])", "x.flip(0)", "x.sum(0, keepdim=True) + x", "x.reshape(x.shape[::-1])"),
    *(
        "torch.where(x > 0, x, 0.1 * x)",
        "F.normalize(x, dim=1)",
        "x.tril()",
        "x.roll(1, 0)",
        "x / (1 + x.abs())",
    ),
    *("F.avg_pool1d(x[None], 2)[0] if x.shape[1] > 3 else x", "F.interpolate(x[None], scale_factor=2)[0]"),
    *(
        "torch.sigmoid(x)",
        "x.sort(1)[0]",
        "x.max(1, keepdim=True)[0] - x",
        "(x > 0).float() + x",
        "x.var(1)[:, None] * x",
    ),
)
"""What a chain of operators is drawn from: each takes a matrix and gives one."""
