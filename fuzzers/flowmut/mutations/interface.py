"""Mutations of the interface: what goes in and comes out, which inputs want gradients, dynamic shapes.

Invariant: at least one output stays.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from fuzzers.flowmut import rewrite
from fuzzers.flowmut.edge import FLOATING
from fuzzers.flowmut.mutations.declaration import Draft, Site, with_outputs
from fuzzers.flowmut.mutations.swaps import draw_operator
from fuzzers.flowmut.program import Program


def return_it(site: Site, rng: Random) -> Program | None:
    """The edge, an intermediate or an input, is returned as well."""
    return with_outputs(site.program, [site.name])


def return_view(site: Site, rng: Random) -> Program | None:
    """A view of the edge is returned beside it, so that two outputs share memory."""
    draft = Draft(site)
    view = draw_operator(draft, site.name, site.state, rng, lambda op: op.views and op.writes is None)
    return draft.tail(site.name, view) if view else None


def drop_output(site: Site, rng: Random) -> Program | None:
    """The edge is returned no more."""
    kept = tuple(o for o in site.program.outputs if o != site.name)
    return replace(site.program, outputs=kept) if kept else None


def swap_output(site: Site, rng: Random) -> Program | None:
    """The edge is returned instead of another output."""
    old = rng.choice(site.program.outputs)
    return replace(site.program, outputs=tuple(site.name if o == old else o for o in site.program.outputs))


def toggle_grad(site: Site, rng: Random) -> Program | None:
    """An input starts, or stops, to require a gradient."""
    assert site.input is not None
    tensor = replace(site.input, requires_grad=not site.input.requires_grad)
    return rewrite.put_input(site.program, tensor)


def all_grad(site: Site, rng: Random) -> Program | None:
    """Every floating input requires a gradient, or none does."""
    wanted = not any(i.requires_grad for i in site.program.inputs)
    inputs = tuple(replace(i, requires_grad=wanted and i.dtype in FLOATING) for i in site.program.inputs)
    return replace(site.program, inputs=inputs) if inputs != site.program.inputs else None


def toggle_dynamic(site: Site, rng: Random) -> Program | None:
    """Compiled with symbolic sizes, or by default."""
    return replace(site.program, dynamic=None if site.program.dynamic else True)


def merge_inputs(site: Site, rng: Random) -> Program | None:
    """Another input of the same shape and dtype is given up for this one."""
    assert site.input is not None
    alike = [
        i.name
        for i in site.program.inputs
        if i.name != site.name
        and site.states[i.name].shape == site.state.shape
        and i.dtype == site.input.dtype
    ]
    if not alike:
        return None
    other = rng.choice(alike)
    inputs = tuple(i for i in site.program.inputs if i.name != other)
    merged = rewrite.redirect(site.program, other, site.name)
    return replace(merged, inputs=inputs)


def split_input(site: Site, rng: Random) -> Program | None:
    """One of several users of an input gets an input of its own with another layout."""
    assert site.input is not None
    users = site.program.users(site.name)
    if len(users) < 2:
        return None
    user = rng.choice(users)
    name = rewrite.fresh(site.program)[0]
    program = replace(site.program, inputs=(*site.program.inputs, replace(site.input, name=name)))
    return rewrite.redirect_one(program, user.name, user.args.index(site.name), name)


def grad_here_only(site: Site, rng: Random) -> Program | None:
    """This input requires a gradient, and no other does."""
    inputs = tuple(replace(i, requires_grad=i.name == site.name) for i in site.program.inputs)
    return replace(site.program, inputs=inputs) if inputs != site.program.inputs else None


def fixed_sizes(site: Site, rng: Random) -> Program | None:
    """Compiled without symbolic sizes, also when called again."""
    return replace(site.program, dynamic=None if site.program.dynamic is False else False)


def return_only(site: Site, rng: Random) -> Program | None:
    """The edge is returned, and nothing else."""
    return replace(site.program, outputs=(site.name,)) if len(site.program.outputs) > 1 else None


def return_input_and_result(site: Site, rng: Random) -> Program | None:
    """The input is returned in front of, and behind its view is, what is computed from it."""
    draft = Draft(site)
    view = draw_operator(draft, site.name, site.state, rng, lambda op: op.views and op.writes is None)
    if view is None or site.name in site.program.outputs:
        return None
    made = draft.beside()
    return replace(made, outputs=(site.name, *made.outputs, view))
