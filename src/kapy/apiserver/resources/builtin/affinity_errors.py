"""Validation of affinities and of constraints on the spread of pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.apiserver.resources.label_selectors import selector_errors
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kapy.kube.qualified_names import (
    dns_label_errors,
    dns_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_ACTIONS: Final = ["DoNotSchedule", "ScheduleAnyway"]
_POLICIES: Final = ["Honor", "Ignore"]
_NO_OPERATOR: Final = "not a valid selector operator"


def affinity_errors(affinity: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a pod's affinities."""
    nodes, where = affinity.get("nodeAffinity") or {}, f"{path}.nodeAffinity"
    if (needed := nodes.get(_REQUIRED)) is not None:
        yield from _node_selector(needed, f"{where}.{_REQUIRED}.nodeSelectorTerms")
    for index, item in enumerate(nodes.get(_PREFERRED) or ()):
        at = f"{where}.{_PREFERRED}[{index}]"
        yield from _weight(item, at)
        yield from _node_term(item.get("preference") or {}, f"{at}.preference", values=False)
    for field in ("podAffinity", "podAntiAffinity"):
        pods, where = affinity.get(field) or {}, f"{path}.{field}"
        for index, element in enumerate(pods.get(_REQUIRED) or ()):
            yield from _pod_term(element, f"{where}.{_REQUIRED}[{index}]")
        for index, entry in enumerate(pods.get(_PREFERRED) or ()):
            at = f"{where}.{_PREFERRED}[{index}]"
            yield from _weight(entry, at)
            yield from _pod_term(entry.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")


def _weight(term: Document, path: str) -> Iterator[FieldError]:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _node_selector(selector: Document, path: str) -> Iterator[FieldError]:
    if not selector.get("nodeSelectorTerms"):
        yield required(path, "must have at least one node selector term")
    for index, term in enumerate(selector.get("nodeSelectorTerms") or ()):
        yield from _node_term(term, f"{path}[{index}]", values=True)


def _node_term(term: Document, path: str, *, values: bool) -> Iterator[FieldError]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        yield from _expression(expression, f"{path}.matchExpressions[{index}]", values=values)
    for index, field in enumerate(term.get("matchFields") or ()):
        yield from _field(field, f"{path}.matchFields[{index}]")


def _expression(item: Document, path: str, *, values: bool) -> Iterator[FieldError]:
    operator, result = item.get("operator") or "", item.get("values") or []
    yield from _count(operator, result, path)
    key = item.get("key") or ""
    yield from (invalid(f"{path}.key", key, text) for text in qualified_name_errors(key))
    for index, value in enumerate(result if values else ()):
        where = f"{path}.values[{index}]"
        yield from (invalid(where, value, text) for text in label_value_errors(value))


def _count(operator: str, values: Sequence[str], path: str) -> Iterator[FieldError]:
    where = f"{path}.values"
    if operator in ("In", "NotIn"):
        if not values:
            yield required(where, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(where, text)
    elif operator not in ("Gt", "Lt"):
        yield invalid(f"{path}.operator", operator, _NO_OPERATOR)
    elif len(values) != 1:
        yield required(where, "must be specified single value when `operator` is 'Lt' or 'Gt'")


def _field(item: Document, path: str) -> Iterator[FieldError]:
    operator, key, result = (
        item.get("operator") or "",
        item.get("key") or "",
        item.get("values") or [],
    )
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, _NO_OPERATOR)
    elif len(result) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", text)
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(result):
        where = f"{path}.values[{index}]"
        yield from (invalid(where, value, text) for text in dns_subdomain_errors(value))


def _pod_term(term: Document, path: str) -> Iterator[FieldError]:
    for field in ("labelSelector", "namespaceSelector"):
        yield from selector_errors(term.get(field) or {}, f"{path}.{field}")
    for name in term.get("namespaces") or ():
        yield from (invalid(f"{path}.namespace", name, text) for text in dns_label_errors(name))
    yield from _label_keys(term, path)
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    yield from (invalid(f"{path}.topologyKey", key, text) for text in qualified_name_errors(key))


def _label_keys(term: Document, path: str) -> Iterator[FieldError]:
    selector: Any = term.get("labelSelector")
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys, where = term.get(field) or (), f"{path}.{field}"
        if keys and selector is None:
            yield forbidden(where, "must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(keys):
            yield from (
                invalid(f"{where}[{index}]", key, error) for error in qualified_name_errors(key)
            )
    matched = term.get("matchLabelKeys") or []
    if selector is not None:
        places = {key: index for index, key in enumerate(matched)}
        label_keys = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key") or ""
            if key in places and key in label_keys:
                text = "exists in both matchLabelKeys and labelSelector"
                yield invalid(f"{path}[{places[key]}]", key, text)
            label_keys.add(key)
    others = set(term.get("mismatchLabelKeys") or ())
    for index, key in enumerate(matched):
        if key in others:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, text)


def spread_errors(constraints: Sequence[Document], path: str) -> Iterator[FieldError]:
    """Yield the errors of topology spread constraints."""
    for index, constraint in enumerate(constraints):
        where, key = f"{path}[{index}]", constraint.get("topologyKey") or ""
        action = constraint.get("whenUnsatisfiable") or ""
        yield from _positive(constraint.get("maxSkew") or 0, f"{where}.maxSkew")
        if not key:
            yield required(f"{where}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            yield not_supported(f"{where}.whenUnsatisfiable", action, _ACTIONS)
        rest = (
            (o.get("topologyKey"), o.get("whenUnsatisfiable")) for o in constraints[index + 1 :]
        )
        if _pair(constraint) in rest:
            yield duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        yield from _details(constraint, action, where)


def _pair(value: Document) -> tuple[str, str]:
    return value.get("topologyKey") or "", value.get("whenUnsatisfiable") or ""


def _details(value: Document, action: str, path: str) -> Iterator[FieldError]:
    domains = value.get("minDomains")
    if domains is not None:
        yield from _positive(domains, f"{path}.minDomains")
        if action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid(f"{path}.minDomains", domains, text)
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = value.get(field)
        if policy is not None and policy not in _POLICIES:
            yield not_supported(f"{path}.{field}", policy, _POLICIES)
    yield from _label_keys({**value, "mismatchLabelKeys": None}, path)
    yield from selector_errors(value.get("labelSelector") or {}, f"{path}.labelSelector")


def _positive(number: int, path: str) -> Iterator[FieldError]:
    if number <= 0:
        yield invalid(path, number, "must be greater than zero")
