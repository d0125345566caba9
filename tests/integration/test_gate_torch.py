"""The gate's tables against the real torch and Python: names are what they should be, none is a module."""

from __future__ import annotations

import importlib
import types
from contextlib import suppress

import pytest
import torch

from fuzzers.alignguard.gate.modules import ATEN, IN_PLACE, MODULES
from fuzzers.alignguard.gate.names import METHODS, OPERATORS
from fuzzers.alignguard.gate.python import ATTRIBUTES, BUILTINS, NEVER

OF_LATER_BUILDS = 0.02
"""Share of the names that a build may lack: names come and go."""


def module(name: str) -> object:
    if name.startswith("torch.ops"):
        return eval(name)
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_no_name_that_may_be_used_is_a_module_that_may_not(name: str) -> None:
    for one in MODULES[name]:
        found = getattr(module(name), one, None)
        assert not isinstance(found, types.ModuleType), one


@pytest.mark.parametrize("name", sorted(MODULES))
def test_names_that_may_be_used_are_there(name: str) -> None:
    wanted = MODULES[name] - IN_PLACE - (OPERATORS if name == "torch.ops.aten" else frozenset())
    lacking = {one for one in wanted if not hasattr(module(name), one)}
    allowed = {"batched", "sumprod", "cbrt"} if not name.startswith("torch") else set()
    assert len(lacking - allowed) <= OF_LATER_BUILDS * len(wanted), sorted(lacking)


def test_no_attribute_of_a_tensor_that_may_be_read_leads_to_memory_or_files() -> None:
    assert not ATTRIBUTES & NEVER
    x = torch.ones(2, 2, dtype=torch.complex64)
    storages = (torch.UntypedStorage, torch.storage.TypedStorage, types.ModuleType)
    for name in sorted(METHODS | OPERATORS):
        if name in ("H", "grad_fn", "name", "data", "grad"):
            continue
        with suppress(RuntimeError):
            assert not isinstance(getattr(x, name, None), storages), name
    for name in METHODS:
        assert hasattr(torch.Tensor, name), name


def test_aten_names_are_operators() -> None:
    lacking = {one for one in ATEN if not hasattr(torch.ops.aten, one)}
    assert lacking == set()


def test_builtins_that_may_be_used_open_nothing() -> None:
    assert not BUILTINS & {
        "open",
        "eval",
        "exec",
        "compile",
        "__import__",
        "input",
        "vars",
        "globals",
        "print",
    }
