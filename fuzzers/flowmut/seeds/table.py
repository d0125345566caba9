"""Every seed.

Invariant: each is legal as it stands, runs eagerly in milliseconds, and has 8 to 25 nodes. They are blocks
rather than whole models because a chain cuts a window of a few nodes out of one in any case; what matters is
that producers, consumers and value ranges meet as they do in real models.
"""

from __future__ import annotations

from fuzzers.flowmut.program import Program
from fuzzers.flowmut.seeds import integers, sequences, vision

SEEDS: tuple[Program, ...] = (
    vision.residual(),
    vision.mobile(),
    vision.convnext(),
    vision.patches(),
    vision.windows(),
    vision.unet(),
    vision.detection(),
    vision.suppression(),
    vision.vae(),
    vision.diffusion(),
    sequences.attention(),
    sequences.encoder(),
    sequences.cached(),
    sequences.relative(),
    sequences.rotary(),
    sequences.experts(),
    sequences.state_space(),
    sequences.conformer(),
    sequences.recommendation(),
    sequences.recurrent(),
    sequences.graph(),
    integers.pixels(),
    integers.quantised(),
    integers.unpacked(),
    integers.samples(),
    integers.morphology(),
    integers.hashed(),
)
"""A chain draws one."""
