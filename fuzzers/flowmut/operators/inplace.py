"""In-place operators: the first argument's storage is written, its alias returned.

What every one of them requires is in `IN_PLACE`: memory that does not overlap itself and does not belong
to a leaf that requires grad; other arguments share all of that memory or none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from fuzzers.flowmut.edge import EdgeState
from fuzzers.flowmut.operators import domains, indexing
from fuzzers.flowmut.operators import requirements as need
from fuzzers.flowmut.operators.declaration import AttrDomain, Attrs, Operator, Partners, Requirement
from fuzzers.flowmut.program import Input

_DIM = {"dim": domains.dim()}


def _unary(name: str, *requirements: Requirement) -> Operator:
    return Operator(
        f"{name}_", "inplace", f"{{0}}.{name}_()", requirements=(*need.IN_PLACE, *requirements), writes=0
    )


def _scalar(name: str, template: str, domain: AttrDomain, *requirements: Requirement) -> Operator:
    return Operator(
        name,
        "inplace",
        template,
        attributes={"value": domain},
        requirements=(*need.IN_PLACE, *requirements),
        writes=0,
    )


def _mate(*, positive: bool = False) -> Partners:
    def partners(rng: Random, state: EdgeState, attrs: Attrs) -> tuple[Input, ...]:
        make = domains.positives if positive else domains.like
        return (make(domains.broadcasting(rng, state.shape), state.dtype),)

    return partners


def _binary(name: str, *requirements: Requirement, positive: bool = False) -> Operator:
    return Operator(
        f"{name}_",
        "inplace",
        f"{{0}}.{name}_({{1}})",
        arity=2,
        requirements=(*need.IN_PLACE, need.APART, need.FITS_TARGET, need.CASTABLE, *requirements),
        partners=_mate(positive=positive),
        writes=0,
    )


def _grows(bound: Callable[[float, float], float]) -> Requirement:
    return need.no_overflow(
        lambda s, a: bound(need.magnitude(s[0]), need.magnitude(s[-1])), lambda s: s[0].dtype
    )


def _scalar_grows(bound: Callable[[float, float], float]) -> Requirement:
    return need.no_overflow(
        lambda s, a: bound(need.magnitude(s[0]), abs(need.number(a, "value"))), lambda s: s[0].dtype
    )


def _indexed(
    name: str, template: str, partners_of: str, attributes: dict[str, AttrDomain], *requirements: Requirement
) -> Operator:
    """The in-place form of an out-of-place operator of the indexing family, with its requirements."""
    model = next(o for o in indexing.OPERATORS if o.name == partners_of)
    return Operator(
        name,
        "inplace",
        template,
        arity=model.arity,
        attributes=attributes,
        requirements=(*need.IN_PLACE, need.APART, *model.requirements, *requirements),
        partners=model.partners,
        writes=0,
    )


_VALUE = domains.scalar((1, 2, 3), (0.5, -1.0))
_WHOLE = Requirement("value in dtype", lambda s, a: s[0].floating or isinstance(a["value"], int))

OPERATORS = (
    _unary("relu", need.NOT_BOOL),
    _unary("neg", need.NOT_BOOL, _grows(lambda a, b: a)),
    _unary("abs", need.NOT_BOOL, _grows(lambda a, b: a)),
    _unary("zero"),
    _unary("exp", need.FLOATING_ONLY, need.bounded(8)),
    _unary("sigmoid", need.FLOATING_ONLY),
    _unary("tanh", need.FLOATING_ONLY),
    _unary("sqrt", need.FLOATING_ONLY, need.POSITIVE),
    _binary("add", _grows(lambda a, b: a + b)),
    _binary("sub", need.NOT_BOOL, _grows(lambda a, b: a + b)),
    _binary("mul", _grows(lambda a, b: a * b)),
    _binary("div", need.argument(0, need.FLOATING_ONLY), positive=True),
    _binary("copy", need.cast_in_range(lambda s, a: s[0].dtype, source=1)),
    _binary("bitwise_xor", need.NOT_FLOATING),
    _scalar(
        "add_scalar_", "{0}.add_({value})", _VALUE, need.NOT_BOOL, _WHOLE, _scalar_grows(lambda a, b: a + b)
    ),
    _scalar(
        "mul_scalar_", "{0}.mul_({value})", _VALUE, need.NOT_BOOL, _WHOLE, _scalar_grows(lambda a, b: a * b)
    ),
    _scalar("fill_", "{0}.fill_({value})", indexing.FILL_VALUE, indexing.FILL_IN_DTYPE),
    _scalar("clamp_min_", "{0}.clamp_({value})", domains.scalar((0, 1), (0.5,)), need.NOT_BOOL, _WHOLE),
    _indexed("masked_fill_", "{0}.masked_fill_({1}, {value})", "masked_fill", {"value": indexing.FILL_VALUE}),
    _indexed("index_add_", "{0}.index_add_({dim}, {1}, {2})", "index_add", _DIM),
    _indexed("scatter_add_", "{0}.scatter_add_({dim}, {1}, {2})", "scatter_add", _DIM),
    _indexed("index_copy_", "{0}.index_copy_({dim}, {1}, {2})", "index_copy", _DIM),
    _indexed(
        "index_fill_",
        "{0}.index_fill_({dim}, {1}, {value})",
        "index_fill",
        {**_DIM, "value": indexing.FILL_VALUE},
    ),
)
