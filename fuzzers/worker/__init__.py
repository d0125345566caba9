"""The fork server that runs under the target's own interpreter (`python -m fuzzers.worker`).

Invariant: nothing here imports a framework when imported, because the controller imports
`fuzzers.worker.protocol`; the framework is imported once by `warmup`, before the first job.
"""
