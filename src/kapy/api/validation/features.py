"""Validation of kinds that need an open feature gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.kube.field_errors import FieldError, forbidden

_CLOSED: Final = "can be set only if the "


def closed_gate_error(gate: str, field: str = "spec") -> FieldError:
    """Return the error of an object, or a part, whose feature gate is disabled."""
    return forbidden(field, f"{_CLOSED}{gate} feature flag is enabled")


def is_closed(errors: Sequence[FieldError]) -> bool:
    """Report whether the only error is the disabled feature gate of the kind."""
    return all(error.field == "spec" and error.detail.startswith(_CLOSED) for error in errors)
