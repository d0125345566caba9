"""AlignGuard: silent wrong results of torch.compile, from existing tests, mutated by what such bugs share.

Invariant: a program is a source text in the form of `fuzzers.alignguard.form`, whoever wrote it. The
controller's half (guide, rules, LLM) works on the text and never imports a framework; the worker's half
(seeds, engine) runs it.
"""
