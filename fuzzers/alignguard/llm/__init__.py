"""The mutator that asks a language model: the prompt, the answer, the endpoint, and what it may cost.

Invariant: nothing that a model says runs here or decides anything; what it says becomes a text that passed
the form and the gate, or a reason why not. An endpoint that fails ends the mutator and never the campaign,
which goes on with rules. Lives in the controller and imports no framework.
"""
