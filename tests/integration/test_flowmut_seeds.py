"""Seeds are models that work: what a campaign reports comes from its mutations."""

from __future__ import annotations

import pytest

from fuzzers.flowmut.emit import build
from fuzzers.flowmut.program import Program
from fuzzers.flowmut.seeds.table import SEEDS
from fuzzers.oracle import examine

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.origin)
def test_a_seed_as_it_stands_compiles_to_what_eager_gives(seed: Program) -> None:
    function, inputs = build(seed)
    report = examine(function, inputs(), aspects="forward")
    assert report.captured_graphs > 0
    assert not report.dropped and not report.differences
