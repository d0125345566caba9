"""Deciding whether a kernel and its reference give the same number at one output location.

Invariant: each stage is a function of slices of a tape and of sample points; none of them runs a kernel.
"""
