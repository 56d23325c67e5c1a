"""Validation of Nodes and of Node updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.builtin.addresses import cidr_errors, network_of
from kapy.apiserver.resources.builtin.resource_names import amount_errors
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    FixedText,
    duplicate,
    forbidden,
    invalid,
    required,
)
from kapy.kube.qualified_names import label_value_errors, qualified_name_errors

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def node_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a Node.

    An update reports errors of taints twice, like kube-apiserver.
    """
    spec = document.get("spec") or {}
    for _ in range(1 if old is None else 2):
        yield from _taint_errors(spec.get("taints") or ())
    yield from _resource_errors(document.get("status") or {})
    yield from _range_errors(spec.get("podCIDRs") or [])
    if old is not None:
        before = old.get("spec") or {}
        cidrs = before.get("podCIDRs") or []
        if cidrs and (spec.get("podCIDRs") or []) != cidrs:
            text = 'node updates may not change podCIDR except from "" to valid'
            yield forbidden("spec.podCIDRs", text)
        if before.get("providerID") and spec.get("providerID") != before["providerID"]:
            text = 'node updates may not change providerID except from "" to valid'
            yield forbidden("spec.providerID", text)
        if (spec.get("externalID") or "") != (before.get("externalID") or ""):
            yield forbidden("spec.externalID", "may not be updated")


def _resource_errors(status: Document) -> Iterator[FieldError]:
    for field in ("capacity", "allocatable"):
        for name, amount in (status.get(field) or {}).items():
            yield from amount_errors(name, amount, f"status.{field}.{name}")


def _range_errors(ranges: list[str]) -> Iterator[FieldError]:
    """Yield the errors of podCIDRs: at most one range for each IP family."""
    path = "spec.podCIDRs"
    wrong = [
        error for at, text in enumerate(ranges) for error in cidr_errors(text, f"{path}[{at}]")
    ]
    yield from wrong
    if len(ranges) < 2:
        return
    broken = next((item for item in ranges if network_of(item) is None), None)
    if broken is not None:
        text = (
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR address: "
            f"{broken}"
        )
        yield FieldError("InternalError", path, text)
    if broken is not None or len(ranges) > 2 or len({":" in item for item in ranges}) == 1:
        yield invalid(path, ranges, "may specify no more than one CIDR for each IP family")


def _taint_errors(taints: Any) -> Iterator[FieldError]:
    keys: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        path = f"metadata.taints[{index}]"
        key, value, effect = (taint.get(item) or "" for item in ("key", "value", "effect"))
        yield from (invalid(f"{path}.key", key, item) for item in qualified_name_errors(key))
        if wrong := label_value_errors(value):
            yield invalid(f"{path}.value", value, ";".join(wrong))
        if not effect:
            yield required(f"{path}.effect")
        elif effect not in _EFFECTS:
            effects = ", ".join(f'"{item}"' for item in _EFFECTS)
            text = f"supported values: {effects}"
            yield FieldError("FieldValueNotSupported", f"{path}.effect", text, effect)
        if (key, effect) in keys:
            result = {
                "Key": key,
                "Value": value,
                "Effect": effect,
                "TimeAdded": taint.get("timeAdded"),
            }
            error = duplicate(path, FixedText.of(result))
            text = "taints must be unique by key and effect pair"
            yield FieldError(error.type, path, text, error.value)
        keys.add((key, effect))
