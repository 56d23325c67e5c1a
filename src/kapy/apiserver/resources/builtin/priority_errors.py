"""Validation of a PriorityClass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FixedText, forbidden, invalid, required

_SYSTEM: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREFIX: Final = "system-"
_HIGHEST: Final = 1_000_000_000
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def priority_class_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a class or, with `old`, of its update."""
    policy = document.get("preemptionPolicy")
    if old is not None:
        if document.get("value", 0) != old.get("value", 0):
            yield forbidden("value", "may not be changed in an update.")
        if policy != old.get("preemptionPolicy"):
            yield invalid("preemptionPolicy", policy, "field is immutable")
        return
    name, value = document["metadata"].get("name", ""), document.get("value", 0)
    if name.startswith(_PREFIX):
        if why := _reason_against_system_class(
            name, value, default=bool(document.get("globalDefault"))
        ):
            text = "priority class names with 'system-' prefix are reserved for system use only."
            yield forbidden("metadata.name", f"{text} error: {why}")
    elif value > _HIGHEST:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        yield forbidden("value", text)
    if policy == "":
        yield required("preemptionPolicy")
    elif policy is not None and policy not in _POLICIES:
        policies = ", ".join(f'"{item}"' for item in _POLICIES)
        text = f"supported values: {policies}"
        yield FieldError("FieldValueNotSupported", "preemptionPolicy", text, FixedText.of(policy))


def _reason_against_system_class(name: str, value: int, *, default: bool) -> str:
    """Return the reason why a class is not a valid system class, "" if it is."""
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if default else ""
