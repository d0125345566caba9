"""Dirigo: a CUDA kernel against its reference, one output location for all inputs.

The device part of a source is cut out (`slicing`), compiled to PTX (`nvrtc`), parsed (`ptx`) and executed on
the CPU (`simt`), where every float operation is recorded on a tape. Neither a GPU nor a CUDA toolkit is used.
"""
