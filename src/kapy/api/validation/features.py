"""Kinds that a feature gate must let in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.kube.field_errors import FieldError, forbidden

_CLOSED: Final = "can be set only if the "


def closed_gate_error(gate: str, field: str = "spec") -> FieldError:
    """Nobody may have such an object, or such a part of one, while the gate is closed."""
    return forbidden(field, f"{_CLOSED}{gate} feature flag is enabled")


def is_closed(errors: Sequence[FieldError]) -> bool:
    """Whether all that is wrong is that the gate of the kind is closed."""
    return all(one.field == "spec" and one.detail.startswith(_CLOSED) for one in errors)
