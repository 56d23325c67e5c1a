"""Validation of LimitRanges and ResourceQuotas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.builtin.resource_names import (
    amount_errors,
    container_resource_errors,
    is_quota_name,
    may_be_overcommitted,
    quota_resource_errors,
    resource_name_errors,
)
from kapy.kube import Document, quantity
from kapy.kube.field_errors import FieldError, FixedText, duplicate, forbidden, invalid, required
from kapy.kube.qualified_names import qualified_name_errors

_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")


def limit_range_errors(document: Document) -> Iterator[FieldError]:
    """Yield the errors of the limits of a LimitRange."""
    kinds: set[str] = set()
    for index, limit in enumerate((document.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type") or ""
        yield from _type_errors(kind, f"{path}.type")
        if kind in kinds:
            yield duplicate(f"{path}.type", kind)
        kinds.add(kind)
        yield from _limit_errors(limit, kind, path)


def _type_errors(kind: str, path: str) -> Iterator[FieldError]:
    if wrong := qualified_name_errors(kind):
        yield from (invalid(path, kind, text) for text in wrong)
    elif "/" not in kind and kind not in _TYPES:
        yield invalid(path, kind, "must be a standard limit type or fully qualified")


def _limit_errors(limit: Document, kind: str, path: str) -> Iterator[FieldError]:
    check = container_resource_errors if kind in ("Pod", "Container") else resource_name_errors
    bounds: dict[str, dict[str, str]] = {}
    for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        amounts = limit.get(field) or {}
        if kind == "Pod" and field.startswith("default"):
            if amounts:
                yield forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
            continue
        for name in amounts:
            yield from check(name, f"{path}.{field}[{name}]")
        bounds[field] = amounts
    if kind == "PersistentVolumeClaim" and not {"storage"} & {*bounds["min"], *bounds["max"]}:
        text = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", text)
    for name in sorted({amount for amounts in bounds.values() for amount in amounts}):
        amounts = {field: value[name] for field, value in bounds.items() if name in value}
        yield from _relation_errors(name, amounts, path)


_RELATIONS: Final = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest",
     "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest",
     "default request value {} is greater than max value {}"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest",
     "default request value {} is greater than default limit value {}"),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)  # fmt: skip
"""Pairs of values of which the first may not exceed the second, the field to report, the field
whose value is shown, and the message.
"""


def _relation_errors(name: str, amounts: dict[str, str], path: str) -> Iterator[FieldError]:
    for less, more, blamed, item, text in _RELATIONS:
        if less in amounts and more in amounts and _exceeds_message(amounts[less], amounts[more]):
            where = f"{path}.{blamed}[{name}]"
            yield invalid(where, amounts[item], text.format(amounts[less], amounts[more]))
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is not None:
        where = f"{path}.maxLimitRequestRatio[{name}]"
        yield from _ratio_errors(ratio, amounts, where)
    both = "default" in amounts and "defaultRequest" in amounts
    if both and not may_be_overcommitted(name):
        default, other = amounts["default"], amounts["defaultRequest"]
        if quantity.compare(default, other):
            text = f"default value {default} must equal to defaultRequest value {other} in {name}"
            yield invalid(f"{path}.defaultRequest[{name}]", other, text)


def _exceeds_message(value: str, other: str) -> bool:
    return quantity.compare(value, other) > 0


def _ratio_errors(ratio: str, amounts: dict[str, str], where: str) -> Iterator[FieldError]:
    value = quantity.parse(ratio)
    if value < 1:
        yield invalid(where, ratio, f"ratio {ratio} is less than 1")
    if "min" in amounts and "max" in amounts:
        least, most = quantity.parse(amounts["min"]), quantity.parse(amounts["max"])
        limit = float(most / least) if least else float("inf") if most else float("nan")
        if float(value) > limit:
            text = f"ratio {ratio} is greater than max/min = {limit:f}"
            yield invalid(where, ratio, text)


_SCOPES: Final = {
    "Terminating": "pods",
    "NotTerminating": "pods",
    "BestEffort": "best effort",
    "NotBestEffort": "pods",
    "PriorityClass": "pods",
    "CrossNamespacePodAffinity": "pods",
    "VolumeAttributesClass": "volumes",
}
_OF_PODS: Final = frozenset(
    ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
)
_COUNTED: Final = {
    "pods": _OF_PODS,
    "best effort": frozenset(("pods",)),
    "volumes": frozenset(("persistentvolumeclaims", "requests.storage")),
}
_BARE: Final = (
    "BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"
)  # fmt: skip
_PAIRS: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})


def quota_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a ResourceQuota, and of a status update."""
    spec = document.get("spec") or {}
    yield from _hard_errors(spec.get("hard") or {}, "spec.hard")
    yield from _scope_errors(spec)
    if spec.get("scopeSelector") is not None:
        yield from _selector_errors(spec, "spec.scopeSelector.matchExpressions")
    status = document.get("status") or {}
    if old is not None and status != (old.get("status") or {}):
        for field in ("hard", "used"):
            yield from _hard_errors(status.get(field) or {}, f"status.{field}")
    if old is not None:
        scopes, before = spec.get("scopes") or [], (old.get("spec") or {}).get("scopes") or []
        if set(scopes) != set(before):
            yield invalid("spec.scopes", spec.get("scopes"), "field is immutable")


def _hard_errors(hard: dict[str, str], path: str) -> Iterator[FieldError]:
    for name, amount in hard.items():
        where = f"{path}[{name}]"
        yield from quota_resource_errors(name, where)
        yield from amount_errors(name, amount, where)


def _count_unscoped(scope: str, hard: dict[str, str]) -> int:
    """Return the number of resources in `hard` to which a quota scope does not apply."""
    counted = _COUNTED.get(_SCOPES.get(scope, ""))
    if counted is None:
        return 0
    return sum(is_quota_name(name) and name not in counted for name in hard)


def _scope_errors(spec: Document) -> Iterator[FieldError]:
    scopes, hard, path = spec.get("scopes") or [], spec.get("hard") or {}, "spec.scopes"
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid(path, scopes, "unsupported scope")
        for _ in range(_count_unscoped(scope, hard)):
            yield invalid(path, scopes, "unsupported scope applied to resource")
    for pair in _PAIRS:
        if pair <= set(scopes):
            yield invalid(path, scopes, "conflicting scopes")


def _selector_errors(spec: Document, path: str) -> Iterator[FieldError]:
    selector, hard = spec["scopeSelector"], spec.get("hard") or {}
    names: set[str] = set()
    for expression in selector.get("matchExpressions") or ():
        scope, operator = expression.get("scopeName") or "", expression.get("operator") or ""
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        for _ in range(_count_unscoped(scope, hard)):
            text = "unsupported scope applied to resource"
            yield invalid(path, _to_internal(selector), text)
        if scope in _BARE and operator != "Exists":
            text = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            yield invalid(f"{path}.operator", operator, text)
        yield from _operator_errors(operator, expression.get("values") or [], path)
        names.add(scope)
    for pair in _PAIRS:
        if pair <= names:
            yield invalid(path, spec.get("scopes"), "conflicting scopes")


def _operator_errors(operator: str, values: list[str], path: str) -> Iterator[FieldError]:
    if operator in ("In", "NotIn"):
        if not values:
            text = (
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            )
            yield required(f"{path}.values", text)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = (
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            )
            yield invalid(f"{path}.values", values, text)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def _to_internal(selector: Document) -> FixedText:
    """Return a selector in the form in which Go prints its struct."""
    expressions: Any = selector.get("matchExpressions")
    result = [
        {
            "ScopeName": expression.get("scopeName", ""),
            "Operator": expression.get("operator", ""),
            "Values": expression.get("values"),
        }
        for expression in expressions or ()
    ]
    return FixedText.of({"MatchExpressions": None if expressions is None else result})
