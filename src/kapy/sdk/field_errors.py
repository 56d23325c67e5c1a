"""Errors of fields, as an API server reports them, for the rules of a `Rulebook`.

    if not spec.zone:
        yield required("spec.zone")

A rule yields all errors of an object; a client sees them in one response.
"""

from kapy.kube.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)

__all__ = [
    "FieldError",
    "duplicate",
    "forbidden",
    "invalid",
    "not_supported",
    "required",
]
