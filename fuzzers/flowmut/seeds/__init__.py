"""Blocks of real models, as neutral programs: what chains start from."""
