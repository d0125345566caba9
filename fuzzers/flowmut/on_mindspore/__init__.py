"""FlowMuT on MindSpore: the same neutral programs, run in PyNative and in Graph mode."""
