"""A built extension's stand-in: its functions interpret the host code instead of running it.

Invariant: what torch's own builder or pybind11 would refuse (a name that is not declared, a wrong number or
kind of arguments) is refused in the same way, because wrappers fall back on such an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from fuzzers.dirigo.host.expressions import EXPRESSIONS, PLACES
from fuzzers.dirigo.host.functions import call
from fuzzers.dirigo.host.machine import HostError, Machine, Recorder, Tables
from fuzzers.dirigo.host.records import View
from fuzzers.dirigo.host.scalars import BOOL, DOUBLE, LONG, Number, Type, convert
from fuzzers.dirigo.host.statements import STATEMENTS
from fuzzers.dirigo.host.syntax import Node
from fuzzers.dirigo.host.translation import Binding, translation
from fuzzers.dirigo.host.typing import SEQUENCES, converted, resolve
from fuzzers.dirigo.host.values import AUTO, AnyType, Function, Named, Opaque, Record, Value, Vector, vector
from fuzzers.dirigo.simt.events import Unknown

TABLES = Tables(EXPRESSIONS, PLACES, STATEMENTS, call)


class Datum(float):
    """A number that `.item()` read out of tensor data; `element` is where, None where it was computed."""

    element: View | None
    derived: bool

    def __new__(cls, value: float, element: View | None) -> Datum:
        found = super().__new__(cls, value)
        found.element = element
        found.derived = element is None
        return found


def _computed(name: str) -> Any:
    plain = getattr(float, name)

    def operate(self: Datum, *others: float) -> Any:
        value = plain(self, *(float(other) for other in others))
        return Datum(value, None) if isinstance(value, float) else value

    return operate


for _name in (
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__"),
    *("__pow__", "__rpow__", "__neg__", "__abs__", "__mod__"),
):
    setattr(Datum, _name, _computed(_name))


class Extension:
    """What load_inline and load return: the functions that the source binds."""

    def __init__(
        self,
        cpp: Sequence[str],
        cuda: Sequence[str],
        functions: Sequence[str],
        recorder: Recorder,
        source: int = 0,
        *,
        lenient: bool = False,
    ) -> None:
        self._source = source
        found = translation([*cpp, "\n".join(cuda)])
        declared = found.functions.keys() if lenient else translation(cpp).declared
        for name in functions:
            if name not in declared:
                raise RuntimeError(f"Error building extension: '{name}' was not declared in this scope")
            found.bindings.setdefault(name, Binding(name, name))
        self._machine = Machine(found, recorder, TABLES)
        self._started = False

    def __getattr__(self, name: str) -> Any:
        binding = self._machine.translation.bindings.get(name)
        if binding is None or name.startswith("_"):
            raise AttributeError(name)
        return lambda *given, **named: self._called(binding, given, named)

    def _called(self, binding: Binding, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        m = self._machine
        m.recorder.source = self._source
        try:
            return self._run(binding, given, named)
        except RecursionError:
            m.recorder.refused = m.recorder.refused or "host: expressions nested too deep"
            raise
        except Unknown as why:
            m.recorder.refused = m.recorder.refused or str(why)
            raise

    def _run(self, binding: Binding, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        m = self._machine
        if not self._started:
            self._started = True
            for node in m.translation.declarations:
                _global(m, node)
        candidates = m.translation.functions.get(binding.function)
        if not candidates:
            raise Unknown(f"host: {binding.function} is bound and not defined")
        arguments = _arguments(m, binding, given, named)
        function = _callable(candidates, len(arguments), binding)
        values = [
            from_python(m, value, resolve(m, p.type, p.declarator), binding.name)
            for value, p in zip(arguments, function.parameters, strict=False)
        ]
        m.steps = 0
        return to_python(m.call(function, (), values))

    def bind(self, name: str) -> None:
        """Offer a function that the source defines and does not bind."""
        found = self._machine.translation.bindings
        function = found[name].function if name in found else name
        found[name] = Binding(name, function, defaults=True)

    def parameters(self, name: str) -> Sequence[tuple[str, bool]]:
        """The parameters of a bound function: name, and whether it takes a tensor."""
        m = self._machine
        function = m.translation.functions[m.translation.bindings[name].function][0]
        types = [(p, resolve(m, p.type, p.declarator)) for p in function.parameters]
        return [(p.name, _takes_tensor(type_)) for p, type_ in types]


def _takes_tensor(type_: AnyType) -> bool:
    if isinstance(type_, Named) and type_.name == "optional" and type_.arguments:
        return _takes_tensor(type_.arguments[0])
    return isinstance(type_, Named) and type_.name == "Tensor"


def _global(m: Machine, node: Node) -> None:
    """A global of the host; one that cannot be evaluated is missed when it is used."""
    try:
        m.run(node)
    except Unknown:
        return


def _callable(candidates: Sequence[Function], count: int, binding: Binding) -> Function:
    fitting = [
        f
        for f in candidates
        if f.body is not None and (f.takes(count) if binding.defaults else len(f.parameters) == count)
    ]
    if not fitting:
        raise TypeError(f"{binding.name}(): incompatible function arguments")
    return fitting[0]


def _arguments(m: Machine, binding: Binding, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Arguments in order, defaults of `py::arg` filled in."""
    found = list(given)
    for name, default in binding.arguments[len(found) :]:
        if name in named:
            found.append(named[name])
        elif default is not None:
            found.append(m.value(default))
        else:
            break
    if not binding.arguments and named:
        raise TypeError(f"{binding.name}(): incompatible function arguments")
    return found


def from_python(m: Machine, value: Any, type_: AnyType, name: str) -> Value:
    """What pybind11 makes of an argument; raises TypeError where it makes nothing."""
    found = _as_value(value)
    if isinstance(type_, Named) and type_.name == "optional":
        return None if value is None else from_python(m, value, type_.arguments[0], name)
    if isinstance(type_, Type):
        if type_.kind in "iu" and isinstance(value, float):
            raise TypeError(f"{name}(): incompatible function arguments: a float for {type_.name}")
        if not isinstance(found, Number):
            raise TypeError(f"{name}(): incompatible function arguments: {type(value).__name__}")
    elif type_.name == "Tensor" and not isinstance(value, torch.Tensor) and value is not None:
        raise TypeError(f"{name}(): incompatible function arguments: {type(value).__name__} for a tensor")
    elif type_.name in SEQUENCES and not isinstance(found, Vector):
        raise TypeError(f"{name}(): incompatible function arguments: {type(value).__name__} for a vector")
    return converted(m, found, type_)


def _as_value(value: Any) -> Value:
    if isinstance(value, Datum):
        return Number(DOUBLE, float(value), value.element, value.derived)
    if isinstance(value, bool):
        return Number(BOOL, int(value))
    if isinstance(value, int):
        return convert(Number(LONG, value), LONG)
    if isinstance(value, float):
        return Number(DOUBLE, value)
    if isinstance(value, list | tuple):
        return vector([_as_value(one) for one in value])
    return value


def to_python(value: Value) -> Any:
    """What pybind11 makes of a result."""
    if isinstance(value, Number):
        if value.is_data:
            return Datum(float(value.value), value.element)
        return bool(value.value) if value.type is BOOL else value.value
    if isinstance(value, Vector):
        listed = [to_python(one) for one in value.values()]
        return listed if value.type != AUTO else tuple(listed)
    if isinstance(value, Record | Opaque):
        raise HostError(f"a {value.name} cannot go back to Python")
    return value
