"""The functions of the language and of Kubernetes, by signature, one module a library."""

from functools import cache

from kapy.kube.cel.functions import (
    authorization,
    conversions,
    formats,
    lists,
    networks,
    operators,
    optionals,
    quantities,
    regexes,
    sets,
    strings,
    times,
    urls,
    versions,
)
from kapy.kube.cel.overloads import Library

_MODULES = (
    operators,
    conversions,
    strings,
    lists,
    regexes,
    urls,
    networks,
    quantities,
    versions,
    formats,
    sets,
    times,
    optionals,
    authorization,
)


@cache
def library() -> Library:
    """Return the library of all functions."""
    return Library(module.FUNCTIONS for module in _MODULES)
