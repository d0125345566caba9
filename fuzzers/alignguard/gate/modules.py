"""What a program of a model may import, and which names it may use of each module.

Invariant: a module that is not a key here cannot be named at all, and of one that is, only the names beside
it (and the modules that are keys themselves). So nothing is reached through the modules that a module
happens to import. No name reads a file, evaluates a text, or gets at an attribute whose name is computed.
"""

from __future__ import annotations

from fuzzers.alignguard.gate.names import (
    FFT,
    FUNCTIONAL,
    INIT,
    LINALG,
    NN,
    OPERATORS,
    SPECIAL,
    words,
)

IN_PLACE = frozenset(f"{name}_" for name in OPERATORS)
"""The forms of operators that work in place."""

TORCH = words(
    """
    Generator Size Tensor _assert _check _check_is_size autocast bfloat16 bool broadcast_shapes cdouble
    cfloat chalf channels_last channels_last_3d complex128 complex32 complex64 cond contiguous_format device
    double dtype e enable_grad finfo float float16 float32 float64 float8_e4m3fn float8_e4m3fnuz float8_e5m2
    float8_e5m2fnuz get_default_dtype half iinfo inf inference_mode int int16 int32 int64 int8 is_tensor
    layout long manual_seed memory_format nan newaxis no_grad per_tensor_affine pi preserve_format
    set_grad_enabled short sparse_bsr sparse_coo sparse_csc sparse_csr strided sym_float sym_int sym_max
    sym_min sym_not uint16 uint32 uint64 uint8 vmap while_loop
    """
)
"""What `torch` has besides operators."""

ATEN = words(
    """
    _cdist_forward _embedding_bag _fft_c2c _fft_c2r _fft_r2c _log_softmax _log_softmax_backward_data
    _native_batch_norm_legit _softmax _softmax_backward_data _to_copy _unsafe_index _unsafe_index_put
    _unsafe_view adaptive_avg_pool2d alias avg_pool2d avg_pool2d_backward col2im convolution_backward copy
    expand gelu gelu_backward glu hardsigmoid hardswish hardtanh im2col index index_put leaky_relu
    lift_fresh_copy max_pool2d_with_indices max_pool2d_with_indices_backward mse_loss
    native_layer_norm_backward native_group_norm_backward new_empty new_full new_ones new_zeros
    nll_loss_forward pixel_shuffle reflection_pad1d reflection_pad2d repeat replication_pad2d
    scaled_dot_product_attention sigmoid_backward silu slice smooth_l1_loss softplus tanh_backward
    threshold_backward to unfold upsample_bilinear2d upsample_nearest2d view
    """
)
"""Operators that only `torch.ops.aten` has."""

MODULES: dict[str, frozenset[str]] = {
    "torch": TORCH | OPERATORS | IN_PLACE,
    "torch.amp": words("autocast"),
    "torch.autograd": words("Function backward grad"),
    "torch.autograd.forward_ad": words("dual_level make_dual unpack_dual"),
    "torch.autograd.functional": words("hessian hvp jacobian jvp vhp vjp"),
    "torch.compiler": words("disable"),
    "torch.cuda": words("is_available"),
    "torch.fft": FFT,
    "torch.func": words(
        "functional_call functionalize grad grad_and_value hessian jacfwd jacrev jvp linearize "
        "stack_module_state vjp vmap"
    ),
    "torch.linalg": LINALG,
    "torch.nested": words("as_nested_tensor nested_tensor"),
    "torch.nn": NN,
    "torch.nn.attention": words("SDPBackend sdpa_kernel"),
    "torch.nn.attention.flex_attention": words("create_block_mask flex_attention"),
    "torch.nn.functional": FUNCTIONAL | IN_PLACE,
    "torch.nn.init": INIT,
    "torch.nn.parameter": words("Buffer Parameter"),
    "torch.nn.utils": words("clip_grad_norm_ parameters_to_vector vector_to_parameters"),
    "torch.nn.utils.parametrizations": words("orthogonal spectral_norm weight_norm"),
    "torch.nn.utils.rnn": words(
        "pack_padded_sequence pack_sequence pad_packed_sequence pad_sequence"
    ),
    "torch.ops": frozenset(),
    "torch.ops.aten": OPERATORS | IN_PLACE | ATEN,
    "torch.sparse": words("addmm log_softmax mm softmax sum"),
    "torch.special": SPECIAL,
    "torch.utils": frozenset(),
    "torch.utils._pytree": words(
        "tree_all tree_any tree_flatten tree_leaves tree_map tree_map_only tree_unflatten"
    ),
    "torch.utils.checkpoint": words("checkpoint checkpoint_sequential"),
    "torch._dynamo": words(
        "disable graph_break mark_dynamic mark_static maybe_mark_dynamic"
    ),
    "torch._higher_order_ops": words("associative_scan scan"),
    "abc": words("ABC abstractmethod"),
    "collections": words(
        "ChainMap Counter OrderedDict UserDict UserList defaultdict deque namedtuple"
    ),
    "collections.abc": words(
        "Callable Collection Container Hashable Iterable Iterator Mapping MutableMapping MutableSequence "
        "Sequence Set Sized"
    ),
    "contextlib": words(
        "AbstractContextManager ContextDecorator ExitStack closing contextmanager nullcontext suppress"
    ),
    "copy": words("copy deepcopy"),
    "dataclasses": words(
        "FrozenInstanceError InitVar asdict astuple dataclass field fields is_dataclass replace"
    ),
    "enum": words("Enum Flag IntEnum IntFlag auto unique"),
    "functools": words(
        "cache cached_property lru_cache partial partialmethod reduce total_ordering wraps"
    ),
    "itertools": words(
        "accumulate batched chain combinations combinations_with_replacement compress count cycle "
        "dropwhile filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee "
        "zip_longest"
    ),
    "math": words(
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc "
        "exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf "
        "isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians "
        "remainder sin sinh sqrt sumprod tan tanh tau trunc ulp"
    ),
    "operator": words(
        "abs add and_ concat contains countOf delitem eq floordiv ge getitem gt iadd iand ifloordiv "
        "ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter "
        "itruediv ixor le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub "
        "truediv truth xor"
    ),
    "typing": words(
        "Any Callable ClassVar Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping "
        "NamedTuple Optional Protocol Sequence Set Tuple Type TypeVar Union cast"
    ),
}  # fmt: skip
"""Dotted name of a module -> the names of it that may be used."""


def resolve(module: str, name: str) -> str | None:
    """The dotted name that `module.name` is, when it may be used: of a module or of what is in one."""
    dotted = f"{module}.{name}"
    return dotted if dotted in MODULES or name in MODULES[module] else None
