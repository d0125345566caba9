"""Groups of operator names, by what can be said of their results without running them.

Invariant: a name stands where it does because of its documentation; a name in no group has an unknown
result. Names are plain: the last part, without the underscore of an in-place form.
"""

from __future__ import annotations


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


SAME = names(
    """alpha_dropout celu clone contiguous detach dropout elu feature_alpha_dropout fill flip fliplr flipud
    gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu mish nan_to_num neg negative normalize
    positive relu relu6 renorm resolve_conj resolve_neg roll round rrelu selu sgn sign silu softplus
    softshrink softsign square tanhshrink threshold tril triu trunc floor ceil frac zero index_fill
    index_add index_copy index_put scatter scatter_add scatter_reduce index_reduce slice_scatter
    select_scatter diagonal_scatter as_strided_scatter logsigmoid rms_norm layer_norm group_norm
    batch_norm instance_norm put cauchy normal uniform exponential geometric log_normal bernoulli
    requires_grad fix conj conj_physical bitwise_not alias addcdiv"""
)
"""Shape and dtype of the first argument (some of them when the others do not make it wider)."""

BROADCAST = names("lerp addcmul addcdiv clamp clip clamp_min clamp_max masked_fill masked_scatter")
"""The common shape of all tensors; the dtype when they have only one."""

POOLS = names(
    """max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
    fractional_max_pool2d fractional_max_pool3d"""
)
"""One tensor, or two when asked."""

ELSEWHERE = names("masked sparse nested special")
"""Modules whose functions are not those of the same name in `torch`."""

TO_FLOAT = names(
    """acos acosh angle asin asinh atan atanh cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 i0
    lgamma log log10 log1p log2 logit mvlgamma polygamma rad2deg reciprocal rsqrt sigmoid sin sinc sinh
    sqrt tan tanh arccos arcsin arctan arccosh arcsinh arctanh entr erfcx gammaln i0e i1 i1e ndtr psi"""
)
"""Elementwise; integers become the default floating dtype."""

TO_BOOL = names(
    """isfinite isinf isnan isneginf isposinf isreal logical_not signbit eq ne lt le gt ge greater less
    greater_equal less_equal not_equal isclose logical_and logical_or logical_xor isin"""
)
"""Elementwise over broadcast operands; a bool comes out."""

BINARY = names(
    """add sub mul maximum minimum fmin fmax fmod remainder floor_divide bitwise_and bitwise_or bitwise_xor
    bitwise_left_shift bitwise_right_shift rsub subtract multiply pow gcd lcm hypot"""
)
"""Elementwise over broadcast operands, in their common dtype."""

BINARY_FLOAT = names("div divide true_divide atan2 arctan2 copysign logaddexp logaddexp2 xlogy ldexp")
"""Elementwise over broadcast operands; integers become the default floating dtype."""

SOFTMAX = names("softmax log_softmax softmin logcumsumexp")
"""The shape of the first argument, in `dtype` when that is given."""

SCANS = names("cumsum cumprod")
"""The shape of the first argument; integers become int64."""

REDUCTIONS = names(
    """sum nansum prod mean nanmean std var amax amin all any argmax argmin logsumexp count_nonzero norm
    vector_norm median nanmedian max min"""
)
"""One argument, `dim` and `keepdim`; see `operators`."""

PAIRS = names(
    """max min median nanmedian mode kthvalue sort topk cummax cummin aminmax var_mean std_mean frexp"""
)
"""Two results, for some of them only when a dimension is given."""

SEVERAL = names(
    """broadcast_tensors chunk unsafe_chunk gradient meshgrid split unsafe_split split_with_sizes hsplit
    vsplit dsplit tensor_split unbind unravel_index histogram histogramdd geqrf lu lu_unpack qr svd
    svd_lowrank pca_lowrank triangular_solve native_group_norm native_layer_norm native_batch_norm
    _native_batch_norm_legit _batch_norm_with_update multi_head_attention_forward cholesky_ex eig eigh
    ldl_factor ldl_factor_ex lstsq slogdet lu_factor lu_factor_ex inv_ex solve_ex split_with_sizes_copy
    unbind_copy split_copy unique unique_consecutive align_tensors max_pool1d_with_indices
    max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool1d_with_indices
    adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices fractional_max_pool2d_with_indices
    fractional_max_pool3d_with_indices native_dropout cond scan while_loop associative_scan vjp jvp
    grad_and_value value_and_grad lstm gru rnn_tanh rnn_relu rnn items keys values named_parameters
    parameters"""
)
"""Never one tensor (or not always)."""

NOT_TENSORS = names(
    """item tolist equal allclose broadcast_shapes numel dim size stride storage_offset is_contiguous
    is_floating_point is_complex nelement element_size data_ptr ndimension get_device is_tensor
    is_storage result_type promote_types can_cast iinfo finfo len range enumerate zip print append
    extend pop insert update clear setdefault get next iter isinstance hasattr getattr setattr type id
    str repr int float bool tuple list dict set map filter sorted reversed manual_seed numpy is_nonzero
    is_same_size is_set_to untyped_storage storage is_conj is_neg is_inference is_signed"""
)
"""Results that are no tensors."""

TO_COMPLEX = names(
    """view_as_complex complex polar stft cfloat cdouble chalf fft fft2 fftn ifft ifft2 ifftn rfft rfft2
    rfftn ihfft ihfft2 ihfftn eigvals"""
)
"""One complex tensor."""

NOT_STRIDED = names("to_sparse to_sparse_csr to_sparse_coo to_mkldnn sampled_addmm sparse_coo_tensor")
"""Tensors in another layout, which hardly any rule can use."""

VIEWS = names(
    """transpose t T H mT mH permute swapaxes swapdims movedim moveaxis view view_as unsqueeze squeeze
    expand expand_as broadcast_to narrow select diagonal as_strided unfold view_as_real view_as_complex
    detach alias unflatten real imag slice adjoint"""
)
"""One tensor in the memory of the first argument."""

MAY_VIEW = names(
    """reshape reshape_as flatten ravel contiguous to type float double half bfloat16 int long short char
    byte bool cfloat cdouble chalf dropout dropout1d dropout2d dropout3d alpha_dropout
    feature_alpha_dropout positive resolve_conj resolve_neg conj conj_physical atleast_1d atleast_2d
    atleast_3d sum_to_size type_as rrelu chunk unsafe_chunk split unsafe_split split_with_sizes
    tensor_split unbind"""
)
"""A view, the argument itself, or a copy, depending on what is given."""

RESHAPING = names("t transpose unsqueeze squeeze resize resize_as swapaxes swapdims set as_strided")
"""In place, they change what the variable looks like."""

COVERING = names("expand expand_as broadcast_to as_strided unfold")
"""Views that may hold one place twice."""

CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
}
"""Methods that cast."""

FACTORIES = names("""randn rand zeros ones empty full randint arange tensor eye linspace scalar_tensor""")
LIKE = names("zeros_like ones_like empty_like full_like rand_like randn_like randint_like")
NEW = names("new_zeros new_ones new_full new_empty")

RANDOM = names(
    """dropout alpha_dropout feature_alpha_dropout dropout2d dropout3d rrelu bernoulli multinomial normal
    rand randn randint rand_like randn_like randint_like uniform cauchy exponential geometric log_normal
    randperm poisson fractional_max_pool2d fractional_max_pool3d native_dropout random"""
)
"""Results hang on the generator; inside `f` they differ unless both sides are seeded alike."""

DOMAIN_BOUND = names(
    """inv inverse cholesky cholesky_ex cholesky_solve cholesky_inverse solve solve_ex solve_triangular
    lu_solve tensorinv tensorsolve lstsq pinv matrix_power inv_ex ldl_solve ldl_factor triangular_solve
    lu_unpack ormqr householder_product binary_cross_entropy multinomial bernoulli poisson ctc_loss
    cross_entropy nll_loss linear_cross_entropy geqrf lu lu_factor eigh eig svd svdvals cond"""
)
"""Operators that refuse some values of a right shape and dtype, floating ones too."""

ANY_INTEGERS = (
    (
        SAME
        | BROADCAST
        | TO_FLOAT
        | TO_BOOL
        | BINARY
        | BINARY_FLOAT
        | SOFTMAX
        | SCANS
        | REDUCTIONS
        | VIEWS
        | MAY_VIEW
    )
    | names(
        """abs cat stack where matmul mm bmm item tolist sort topk cummax cummin repeat tile roll outer inner
    zeros_like ones_like full_like zeros ones full arange tensor slice clone pad sum any all as_subclass"""
    )
) - names(
    """pow floor_divide remainder fmod divide bitwise_left_shift bitwise_right_shift index_add index_copy
    index_put scatter scatter_add scatter_reduce index_reduce index_fill put slice_scatter
    select_scatter masked_scatter bernoulli geometric exponential cauchy log_normal normal uniform"""
)
"""Operators that take integers and truth values of any size."""
