"""Templates filled in. Jinja lives here only.

Invariant: a name that a template asks for and is not given is an error, never nothing. Markdown is not
escaped here: what is interpolated into it has passed `bot.defang`; what is HTML or XML is escaped.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

import templates


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(str(templates.__file__)).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=jinja2.select_autoescape(("html.j2", "xml.j2", "svg.j2")),
    )


def filled(template: str, **values: object) -> str:
    """A template of `templates/` with these values."""
    return _environment().get_template(template).render(**values)
