"""Every characteristic. Names are unique, and this literal is the only list of characteristics there is."""

from __future__ import annotations

from fuzzers.alignguard.characteristics.aot_aliases import AOT_ALIASES
from fuzzers.alignguard.characteristics.aot_views import AOT_VIEWS
from fuzzers.alignguard.characteristics.aot_writes import AOT_WRITES
from fuzzers.alignguard.characteristics.codegen_floats import CODEGEN_FLOATS
from fuzzers.alignguard.characteristics.codegen_integers import CODEGEN_INTEGERS
from fuzzers.alignguard.characteristics.codegen_sizes import CODEGEN_SIZES
from fuzzers.alignguard.characteristics.codegen_small import CODEGEN_SMALL
from fuzzers.alignguard.characteristics.declaration import Characteristic
from fuzzers.alignguard.characteristics.decompositions import DECOMPOSITIONS
from fuzzers.alignguard.characteristics.dynamo_attributes import DYNAMO_ATTRIBUTES
from fuzzers.alignguard.characteristics.dynamo_loops import DYNAMO_LOOPS
from fuzzers.alignguard.characteristics.dynamo_objects import DYNAMO_OBJECTS
from fuzzers.alignguard.characteristics.dynamo_state import DYNAMO_STATE
from fuzzers.alignguard.characteristics.lowering_indexing import LOWERING_INDEXING
from fuzzers.alignguard.characteristics.lowering_joins import LOWERING_JOINS
from fuzzers.alignguard.characteristics.lowering_layouts import LOWERING_LAYOUTS
from fuzzers.alignguard.characteristics.lowering_reductions import LOWERING_REDUCTIONS
from fuzzers.alignguard.characteristics.patterns import PATTERNS
from fuzzers.alignguard.characteristics.promotion import PROMOTION

CHARACTERISTICS: tuple[Characteristic, ...] = (
    *DYNAMO_ATTRIBUTES,
    *DYNAMO_STATE,
    *DYNAMO_LOOPS,
    *DYNAMO_OBJECTS,
    *AOT_VIEWS,
    *AOT_WRITES,
    *AOT_ALIASES,
    *DECOMPOSITIONS,
    *PROMOTION,
    *PATTERNS,
    *LOWERING_LAYOUTS,
    *LOWERING_JOINS,
    *LOWERING_INDEXING,
    *LOWERING_REDUCTIONS,
    *CODEGEN_SMALL,
    *CODEGEN_INTEGERS,
    *CODEGEN_SIZES,
    *CODEGEN_FLOATS,
)
