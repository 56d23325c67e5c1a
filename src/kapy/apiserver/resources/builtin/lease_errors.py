"""Validation of a Lease."""

from __future__ import annotations

from collections.abc import Iterator

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, invalid


def lease_errors(document: Document) -> Iterator[FieldError]:
    """Yield the errors of a Lease's spec."""
    spec = document.get("spec") or {}
    seconds, changes = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if changes is not None and changes < 0:
        text = "must be greater than or equal to 0"
        yield invalid("spec.leaseTransitions", changes, text)
