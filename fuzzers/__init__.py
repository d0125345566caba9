"""The bug finders: everything between a framework build and a suspect.

Modules here may run inside a target's interpreter, which has only the standard library, numpy and the
framework, so nothing in this package imports `bot` or any controller dependency.
"""
