"""Validation of a PodDisruptionBudget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kapy.apiserver.resources.label_selectors import selector_errors
from kapy.kube import Document
from kapy.kube.digits import parse_integer
from kapy.kube.field_errors import FieldError, FixedText, invalid, not_supported

_PERCENT: Final = re.compile("[0-9]+%")
_PERCENT_SENTENCE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
_POLICIES: Final = ["AlwaysAllow", "IfHealthyBudget"]
_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def budget_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a budget's spec, and of a status update."""
    spec = document.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        yield invalid("spec", _to_internal(spec), text)
    for field in ("minAvailable", "maxUnavailable"):
        if spec.get(field) is not None:
            yield from _amount_errors(spec[field], f"spec.{field}")
    before = ((old or {}).get("spec") or {}).get("selector") or {}
    values = not any(True for _ in selector_errors(before, ""))
    yield from selector_errors(spec.get("selector") or {}, "spec.selector", values=values)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES)
    status = document.get("status") or {}
    if old is not None and status != old.get("status"):
        for field in _COUNTS:
            if (status.get(field) or 0) < 0:
                yield invalid(f"status.{field}", status[field], _NOT_NEGATIVE)


_NOT_NEGATIVE: Final = "must be greater than or equal to 0"


def _amount_errors(amount: int | str, path: str) -> Iterator[FieldError]:
    if isinstance(amount, int):
        if amount < 0:
            yield invalid(path, amount, _NOT_NEGATIVE)
    elif not _PERCENT.fullmatch(amount):
        yield invalid(path, amount, _PERCENT_SENTENCE)
    elif parse_integer(amount[:-1]) > 100:
        yield invalid(path, amount, "must not be greater than 100%")


def _to_internal(spec: Document) -> FixedText:
    """Return a spec in the form in which Go prints its struct."""
    return FixedText.of(
        {
            "MinAvailable": spec.get("minAvailable"),
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec.get("maxUnavailable"),
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
    )
