"""Jinja templates, a package so that they travel inside the wheel."""
