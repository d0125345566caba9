"""From suspects to issues: campaigns, triage, the store, rendering and the command line.

Nothing in this package imports a framework; whatever needs torch runs in a supervised worker
(`fuzzers.worker`) under the target build's own interpreter.
"""
