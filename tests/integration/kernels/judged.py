"""Runs every pair of a folder as recorded and beside real PyTorch; prints one JSON object a pair.

A process of its own, because recording a forward changes torch for good.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch

from fuzzers.dirigo import host
from fuzzers.dirigo.host.recorder import flat
from fuzzers.dirigo.simt.events import Stopped
from fuzzers.dirigo.simt.launch import Device


def judged(pair: host.Pair) -> dict[str, object]:
    recorded = host.launches(pair)
    if isinstance(recorded, Stopped):
        return {"reason": recorded.reason}
    scope: dict[str, object] = {}
    exec(pair.reference, scope)
    torch.manual_seed(0)
    model = scope["Model"](*scope["get_init_inputs"]())
    torch.manual_seed(1)
    given = scope["get_inputs"]()
    tensors = [one for one in given if isinstance(one, torch.Tensor)]
    values = {f"inputs[{at}]": flat(one) for at, one in enumerate(tensors)}
    executed = host.execute(recorded, Device(), values)
    if isinstance(executed, Stopped):
        return {"reason": executed.reason}
    with torch.no_grad():
        wanted = model(*given)
    got = torch.from_numpy(executed.outputs[0])
    return {
        "launches": len(recorded.kernel_launches()),
        "decisions": list(recorded.decisions),
        "events": [str(event) for run in executed.runs for event in run.events],
        "shapes": [list(got.shape), list(wanted.shape)],
        "gap": float((got.double() - wanted.double()).abs().max()),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for pair in host.pairs(Path(sys.argv[1])):
        name, found = (
            ("", {"reason": pair.reason}) if isinstance(pair, Stopped) else (pair.name, judged(pair))
        )
        print(json.dumps({"name": name, **found}), flush=True)
