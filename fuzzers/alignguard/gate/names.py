"""The names of torch that a program of a model may use, written out.

Invariant: a name is here because it computes with tensors; nothing here reads or writes a file, loads code,
starts anything, opens a connection, or changes torch for the programs after it. Names, and not patterns,
because a new name of a new build has to be read by somebody first. That every name is what it should be in
the real torch is tested.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


OPERATORS = words(
    """
    abs absolute acos acosh adaptive_avg_pool1d adaptive_max_pool1d add addbmm addcdiv addcmul addmm addmv
    addr adjoint affine_grid_generator alias_copy all allclose alpha_dropout amax amin aminmax angle any
    arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere as_strided
    as_strided_copy as_strided_scatter as_tensor asarray asin asinh atan atan2 atanh atleast_1d atleast_2d
    atleast_3d avg_pool1d baddbmm bartlett_window batch_norm bernoulli bilinear
    binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor blackman_window block_diag bmm broadcast_shapes broadcast_tensors
    broadcast_to bucketize cartesian_prod cat ccol_indices_copy cdist ceil celu chain_matmul channel_shuffle
    cholesky cholesky_inverse cholesky_solve chunk clamp clamp_max clamp_min clip clone col_indices_copy
    column_stack combinations complex concat concatenate conj conj_physical constant_pad_nd conv1d conv2d
    conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution copysign corrcoef cos
    cosh cosine_embedding_loss cosine_similarity count_nonzero cov cross crow_indices_copy ctc_loss cummax
    cummin cumprod cumsum cumulative_trapezoid deg2rad dequantize det detach detach_copy diag diag_embed
    diagflat diagonal diagonal_copy diagonal_scatter diff digamma dist div divide dot dropout dsplit dstack
    einsum embedding embedding_bag embedding_renorm empty empty_like empty_permuted empty_strided eq equal
    erf erfc erfinv exp exp2 expand_copy expm1 eye fake_quantize_per_channel_affine
    fake_quantize_per_tensor_affine feature_alpha_dropout feature_dropout fill fix flatten flip fliplr
    flipud float_power floor floor_divide fmax fmin fmod frac frexp full full_like gather gcd ge geqrf ger
    gradient greater greater_equal grid_sampler grid_sampler_2d grid_sampler_3d group_norm gt hamming_window
    hann_window hardshrink heaviside hinge_embedding_loss histc histogram histogramdd hsplit hstack hypot i0
    igamma igammac imag index_add index_copy index_fill index_put index_reduce index_select indices_copy
    inner instance_norm inverse is_complex is_conj is_floating_point is_grad_enabled is_inference is_neg
    is_nonzero is_same_size is_signed isclose isfinite isin isinf isnan isneginf isposinf isreal istft
    kaiser_window kl_div kron kthvalue layer_norm lcm ldexp le lerp less less_equal lgamma linspace log
    log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or
    logical_xor logit logspace logsumexp lt lu lu_solve lu_unpack margin_ranking_loss masked_fill
    masked_scatter masked_select matmul matrix_exp matrix_power max max_pool1d max_pool1d_with_indices
    max_pool2d max_pool3d maximum mean median meshgrid min minimum mm mode moveaxis movedim msort mul
    multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow narrow_copy
    native_batch_norm native_channel_shuffle native_dropout native_group_norm native_layer_norm ne neg
    negative nextafter nonzero nonzero_static norm normal not_equal numel ones ones_like orgqr ormqr outer
    pairwise_distance pdist permute permute_copy pinverse pixel_shuffle pixel_unshuffle poisson
    poisson_nll_loss polar polygamma positive pow prelu prod promote_types put qr quantile rad2deg rand
    rand_like randint randint_like randn randn_like randperm range ravel real reciprocal relu remainder
    renorm repeat_interleave reshape resize_as resize_as_sparse resolve_conj resolve_neg result_type
    rms_norm roll rot90 round row_indices_copy row_stack rrelu rsqrt rsub scalar_tensor scatter scatter_add
    scatter_reduce searchsorted segment_reduce select select_copy select_scatter selu sgn sigmoid sign
    signbit sin sinc sinh slice_copy slice_scatter slogdet softmax sort sparse_bsc_tensor sparse_bsr_tensor
    sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor split split_copy
    split_with_sizes split_with_sizes_copy sqrt square squeeze squeeze_copy stack std std_mean stft sub
    subtract sum svd swapaxes swapdims sym_constrain_range sym_constrain_range_for_size t t_copy take
    take_along_dim tan tanh tensor tensor_split tensordot threshold tile topk trace transpose transpose_copy
    trapezoid trapz triangular_solve tril tril_indices triplet_margin_loss triu triu_indices true_divide
    trunc unbind unbind_copy unflatten unfold_copy unique unique_consecutive unravel_index unsafe_chunk
    unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_copy values_copy vander var var_mean vdot
    view_as_complex view_as_complex_copy view_as_real view_as_real_copy view_copy vsplit vstack where xlogy
    zero zeros zeros_like
    """
)
"""torch's operators, also as methods of tensors and with the underscore of the form that works in place."""

METHODS = words(
    """
    H T apply_ as_subclass backward bfloat16 bool byte cauchy_ cdouble cfloat chalf char coalesce
    col_indices contiguous copy_ cpu crow_indices cuda data dense_dim device dim dim_order double dtype
    element_size expand expand_as exponential_ fill_diagonal_ float geometric_ grad grad_fn half indices int
    is_coalesced is_contiguous is_cpu is_cuda is_leaf is_meta is_sparse item itemsize layout log_normal_
    long mH mT map2_ map_ name nbytes ndim ndimension nelement new_empty new_empty_strided new_full new_ones
    new_tensor new_zeros output_nr random_ register_hook repeat requires_grad requires_grad_ reshape_as
    resize_ resize_as_ retain_grad retains_grad set_ shape short size sparse_dim sparse_mask storage_offset
    stride sum_to_size to to_dense to_padded_tensor to_sparse to_sparse_coo to_sparse_csr to_sparse_csc
    is_set_to is_nested tolist type type_as unfold uniform_ values view view_as
    """
)
"""What only tensors have: methods and attributes. None of them leads to a storage, an array of numpy or
a file."""

NN = words(
    """
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d
    AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss
    BatchNorm1d BatchNorm2d BatchNorm3d Bilinear Buffer CELU CTCLoss ChannelShuffle CircularPad1d
    CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Conv1d Conv2d Conv3d
    ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss
    CrossMapLRN2d Dropout Dropout1d Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout
    Flatten Fold FractionalMaxPool2d FractionalMaxPool3d GELU GLU GRU GRUCell GaussianNLLLoss GroupNorm
    Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss HuberLoss Identity InstanceNorm1d
    InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d LPPool2d LPPool3d LSTM LSTMCell LayerNorm
    LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d
    LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
    LazyLinear LeakyReLU Linear LinearCrossEntropyLoss LocalResponseNorm LogSigmoid LogSoftmax MSELoss
    MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish Module
    ModuleDict ModuleList MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss MultiheadAttention
    NLLLoss PReLU PairwiseDistance Parameter ParameterDict ParameterList PixelShuffle PixelUnshuffle
    PoissonNLLLoss RMSNorm RNN RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d
    ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU Sequential SiLU Sigmoid
    SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink
    Threshold Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
    TransformerEncoderLayer TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold Upsample
    UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d
    """
)
"""Classes of `torch.nn`."""

FUNCTIONAL = words(
    """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices
    adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid alpha_dropout avg_pool1d avg_pool2d
    avg_pool3d batch_norm bilinear binary_cross_entropy binary_cross_entropy_with_logits celu
    channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d elu
    embedding embedding_bag feature_alpha_dropout fold fractional_max_pool2d
    fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices
    gaussian_nll_loss gelu glu grid_sample group_norm grouped_mm gumbel_softmax hardshrink hardsigmoid
    hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm
    leaky_relu linear linear_cross_entropy local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d
    lp_pool3d margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices
    max_pool3d max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d mish mse_loss
    multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss native_channel_shuffle nll_loss
    normalize one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu
    relu6 rms_norm rrelu scaled_dot_product_attention scaled_grouped_mm scaled_mm selu sigmoid silu
    smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink threshold
    triplet_margin_loss triplet_margin_with_distance_loss unfold upsample upsample_bilinear upsample_nearest
    """
)
"""Functions of `torch.nn.functional`."""

LINALG = words(
    """
    cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv inv_ex
    ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp
    matrix_norm matrix_power matrix_rank multi_dot norm pinv qr slogdet solve solve_ex solve_triangular svd
    svdvals tensorinv tensorsolve vander vecdot vector_norm
    """
)
"""Functions of `torch.linalg`."""

FFT = words(
    """
    fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft
    irfft2 irfftn rfft rfft2 rfftfreq rfftn
    """
)
"""Functions of `torch.fft`."""

SPECIAL = words(
    """
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
    chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1
    gammainc gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e
    laguerre_polynomial_l legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp
    modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri
    polygamma psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sinc
    softmax spherical_bessel_j0 xlog1py xlogy zeta
    """
)
"""Functions of `torch.special`."""

INIT = words(
    """
    calculate_gain constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_ orthogonal_ sparse_
    trunc_normal_ uniform_ xavier_normal_ xavier_uniform_ zeros_
    """
)
"""Functions of `torch.nn.init`."""
