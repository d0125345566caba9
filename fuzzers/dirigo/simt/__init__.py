"""The SIMT interpreter: kernels run lane-vectorised on numpy, float operations are recorded on a tape."""
