"""The names of Python itself that a program of a model may use: builtins, attributes, special methods.

Invariant: no name leads from a value to its module, its globals, a frame or a class that was not named; none
takes a text apart as code or as a path to attributes (`str.format` does).
"""

from __future__ import annotations

import builtins

from fuzzers.alignguard.gate.modules import IN_PLACE
from fuzzers.alignguard.gate.names import METHODS, OPERATORS, words

BUILTINS = words(
    """
    ArithmeticError AssertionError AttributeError Ellipsis Exception False IndexError KeyError LookupError
    NameError None NotImplemented NotImplementedError OverflowError RecursionError RuntimeError
    StopIteration True TypeError ValueError ZeroDivisionError abs all any bool callable chr classmethod
    complex dict divmod enumerate filter float frozenset hash int isinstance issubclass iter len list map
    max min next object ord pow property range repr reversed round set slice sorted staticmethod str sum
    tuple zip
    """
)
"""Builtins that may be used as any value."""

CALLED = words("delattr getattr hasattr setattr super type vars")
"""Builtins that may only be called, in the forms that `rules` knows."""

UNTOUCHABLE = (
    frozenset(dir(builtins)) | words("copyright credits exit help license quit reveal_type")
) - BUILTINS - CALLED  # fmt: skip
"""Builtins that a program neither uses nor gives a new meaning to: it would have the old one elsewhere."""

ARITHMETIC = frozenset(
    f"__{side}{name}__"
    for name in words("add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or")
    for side in ("", "r", "i")
)

SPECIAL_METHODS = ARITHMETIC | words(
    """
    __abs__ __bool__ __call__ __complex__ __contains__ __delitem__ __enter__ __eq__ __exit__ __float__
    __ge__ __getitem__ __gt__ __hash__ __index__ __init__ __int__ __invert__ __iter__ __le__ __len__ __lt__
    __missing__ __ne__ __neg__ __new__ __next__ __pos__ __post_init__ __reversed__ __round__ __setitem__
    __torch_dispatch__ __torch_function__
    """
)
"""Special methods that may be defined and called."""

DEFINED_ONLY = words("__format__ __get__ __getattr__ __repr__ __set__ __set_name__ __str__")
"""Special methods that may be defined and not called: some of them read attributes whose name is computed."""

READ_ONLY = words("__class__ __name__ __wrapped__")
"""Special attributes that may be read; what they give is watched as every other value."""

CLASS_NAMES = words("__slots__")
"""Special names that a class body may assign."""

NEVER = words(
    """
    __array__ _typed_storage _untyped_storage _write_file ctypes data_ptr const_data_ptr dump dumps f_back
    f_builtins f_code f_globals f_lasti f_lineno f_locals f_trace ag_await ag_code ag_frame co_code
    co_consts co_names cr_await cr_code cr_frame cr_origin format format_map from_file func_code
    func_globals gi_code gi_frame gi_yieldfrom load mro numpy pin_memory redispatch save share_memory
    share_memory_ storage storage_type tb_frame tb_lasti tb_lineno tb_next tobytes tofile untyped_storage
    with_traceback
    """
)
"""Attributes that stay refused when the program has some of the same name: they lead from a tensor to memory
and files, and from a generator or an exception to a frame and so to everything."""

CONTAINERS = words(
    """
    add append appendleft args cache_clear cache_info capitalize clear close copy count default_factory
    difference difference_update discard elements endswith enter_context extend extendleft find fromkeys get
    getter index insert intersection intersection_update isdisjoint isdigit issubset issuperset items join
    keys keywords lower lstrip maps maxlen most_common move_to_end name new_child pop popitem popleft remove
    replace reverse rotate rstrip send setdefault setter sort split start startswith step stop strip
    symmetric_difference title union update upper value values func _replace _asdict _fields deleter
    conjugate real imag is_integer bit_length numerator denominator callback push rsplit partition
    """
)
"""Methods and attributes of Python's own values."""

OF_MODULES = words(
    """
    _forward_hooks _forward_pre_hooks reset_parameters reset_running_stats extra_repr _buffers _modules
    _parameters add_module affine apply batch_first bias bias_hh_l0 bias_ih_l0 buffers children dilation
    dropout embedding_dim eps eval forward groups hidden_size in_channels in_features in_proj_bias
    in_proj_weight inplace kernel_size load_state_dict modules momentum named_buffers named_children
    named_modules named_parameters negative_slope normalized_shape num_batches_tracked num_embeddings
    num_features num_heads num_layers out_channels out_features out_proj p padding padding_idx parameters
    register_buffer register_forward_hook register_forward_pre_hook register_full_backward_hook
    register_module register_parameter running_mean running_var scale_factor state_dict stride
    track_running_stats train training weight weight_hh_l0 weight_ih_l0 zero_grad
    """
)
"""Methods and attributes of `torch.nn.Module` and its classes."""

OF_OTHERS = words(
    """
    L Q R S U V Vh LU pivots eigenvalues eigenvectors sign logabsdet solution residuals rank singular_values
    hist bin_edges mantissa exponent tangent primal apply backward bits dirty_tensors eps manual_seed
    mark_dirty mark_non_differentiable max min needs_input_grad next_functions non_differentiable resolution
    save_for_backward save_for_forward saved_tensors set_materialize_grads setup_context smallest_normal
    tiny type is_floating_point is_complex is_signed _is_view _version _make_subclass _make_wrapper_subclass
    _base
    """
)
"""Those of named results, of `finfo`, `device` and `Generator`, of `autograd.Function` and of subclasses."""

ATTRIBUTES = METHODS | OPERATORS | IN_PLACE | CONTAINERS | OF_MODULES | OF_OTHERS
"""What may be read of any value."""

STORABLE = words("bias data eps grad momentum p requires_grad running_mean running_var training weight")
"""What of them may be assigned on a value that may be torch's own."""
