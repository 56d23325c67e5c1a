"""Access reviews: validation with kube-apiserver's messages, and the authorizer attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from kapy.apiserver.auth.authorization import Attributes
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FixedText, forbidden, invalid, required
from kapy.kube.http import User
from kapy.kube.qualified_names import label_value_errors, qualified_name_errors
from kapy.kube.selectors import InvalidSelector, parse_fields, parse_labels, selector_of

_RESOURCE: Final = "spec.resourceAttributes"
_PATH: Final = "spec.nonResourceAttributes"
_SELECTORS: Final = ("fieldSelector", "labelSelector")
_METADATA: Final = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation"),
    *("labels", "annotations", "ownerReferences", "finalizers", "managedFields"),
)
"""Fields of metadata in the order in which Go prints them."""


def review_errors(document: Document, kind: str) -> list[FieldError]:
    """Validate a review and return its errors.

    kind: `SubjectAccessReview`, `SelfSubject…` or `LocalSubject…`.
    """
    spec: Document = document.get("spec") or {}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors: list[FieldError] = []
    if resource is not None and path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid(_PATH, _describe_path(path), text))
    elif resource is None and path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid(_RESOURCE, None, text))
    if kind != "SelfSubjectAccessReview" and not spec.get("user") and not spec.get("groups"):
        text = "at least one of user or group must be specified"
        errors.append(invalid("spec.user", spec.get("user", ""), text))
    for name in _SELECTORS:
        selector = (resource or {}).get(name)
        if selector is not None:
            errors += _selector_errors(selector, f"{_RESOURCE}.{name}", labels=name[0] == "l")
    local = kind == "LocalSubjectAccessReview"
    errors += _metadata_errors(document["metadata"], local=local)
    return errors + (_local_errors(document["metadata"], resource, path) if local else [])


def _describe_path(path: Document) -> Document:
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _metadata_errors(metadata: Document, *, local: bool) -> list[FieldError]:
    ignored = ("managedFields", "namespace") if local else ("managedFields",)
    if not any(value for field, value in metadata.items() if field not in ignored):
        return []
    fixed_text = FixedText.of(
        {field: _go_order(metadata[field]) for field in _METADATA if metadata.get(field)}
    )
    text = "must be empty except for namespace" if local else "must be empty"
    return [invalid("metadata", fixed_text, text)]


def _go_order(value: Any) -> Any:
    """Return a value in the order in which Go prints it: labels and fieldsV1 are sorted by key."""
    if isinstance(value, dict):
        ours = "fieldsV1" in value
        return {key: _go_order(value[key]) for key in (value if ours else sorted(value))}
    return [_go_order(item) for item in value] if isinstance(value, list) else value


def _local_errors(
    metadata: Document, resource: Document | None, path: Document | None
) -> list[FieldError]:
    errors: list[FieldError] = []
    if resource is not None and resource.get("namespace", "") != metadata.get("namespace", ""):
        where, text = f"{_RESOURCE}.namespace", "must match metadata.namespace"
        errors.append(invalid(where, resource.get("namespace", ""), text))
    if path is not None:
        text = "disallowed on this kind of request"
        errors.append(invalid(_PATH, _describe_path(path), text))
    return errors


def _selector_errors(selector: Document, path: str, *, labels: bool) -> Iterator[FieldError]:
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or []
    if raw and requirements:
        text = "may not specified at the same time as requirements"
        yield invalid(f"{path}.rawSelector", raw, text)
    if not raw and not requirements:
        text = f"when {path} is specified, requirements or rawSelector is required"
        yield required(f"{path}.requirements", text)
    for index, requirement in enumerate(requirements):
        where = f"{path}.requirements[{index}]"
        if labels:
            yield from _value_count_errors(requirement, where)
            yield from _label_errors(requirement, where)
        else:
            if not requirement.get("key"):
                yield required(f"{where}.key", "must be specified")
            yield from _value_count_errors(requirement, where)


def _value_count_errors(value: Document, where: str) -> Iterator[FieldError]:
    operator, values = value.get("operator", ""), value.get("values") or []
    if operator in ("In", "NotIn") and not values:
        text = "must be specified when `operator` is 'In' or 'NotIn'"
        yield required(f"{where}.values", text)
    elif operator in ("Exists", "DoesNotExist") and values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield forbidden(f"{where}.values", text)


def _label_errors(item: Document, where: str) -> Iterator[FieldError]:
    key = item.get("key", "")
    for text in qualified_name_errors(key):
        yield invalid(f"{where}.key", key, text)
    for at, value in enumerate(item.get("values") or ()):
        for text in label_value_errors(value):
            yield invalid(f"{where}.values[{at}]", value, text)


def review_attributes(user: User, spec: Document) -> Attributes:
    """Return the authorizer attributes that a valid review asks about."""
    attributes = spec.get("resourceAttributes")
    if attributes is None:
        other = spec["nonResourceAttributes"]
        return Attributes(user, other.get("verb", ""), path=other.get("path", ""))
    selectors = [(attributes.get(name) or {}).get("rawSelector", "") for name in _SELECTORS]
    return Attributes(
        user,
        attributes.get("verb", ""),
        attributes.get("group", ""),
        attributes.get("version") or "*",
        attributes.get("resource", ""),
        attributes.get("subresource", ""),
        attributes.get("namespace", ""),
        attributes.get("name", ""),
        field_selector=selectors[0],
        label_selector=selectors[1],
    )


def evaluation_error(spec: Document) -> str:
    """Return a message that names the selectors of a valid review that could not be parsed
    fully.
    """
    attributes = spec.get("resourceAttributes") or {}
    understood = {
        "fieldSelector": _can_parse_fields(attributes.get("fieldSelector") or {}),
        "labelSelector": _can_parse_labels(attributes.get("labelSelector") or {}),
    }
    return "; ".join(
        f"{_RESOURCE}.{name} {'partially ' if some else ''}ignored due to parse error"
        for name, (some, value) in understood.items()
        if not value
    )


def _can_parse_fields(selector: Document) -> tuple[bool, bool]:
    """Report whether some of the requirements, and whether all of them, can be parsed."""
    requirements = selector.get("requirements") or []
    if not requirements:
        return False, _parses(parse_fields, selector.get("rawSelector", ""))
    return _some_and_all(
        requirement.get("operator") in ("In", "NotIn") and len(requirement.get("values") or ()) == 1
        for requirement in requirements
    )


def _can_parse_labels(selector: Document) -> tuple[bool, bool]:
    requirements = selector.get("requirements") or []
    if not requirements:
        return False, _parses(parse_labels, selector.get("rawSelector", ""))
    return _some_and_all(
        _parses(selector_of, {"matchExpressions": [requirement]}) for requirement in requirements
    )


def _some_and_all(values: Iterable[bool]) -> tuple[bool, bool]:
    results = list(values)
    return any(results), all(results)


def _parses(parse: Callable[[Any], object], selector: object) -> bool:
    try:
        parse(selector)
    except InvalidSelector:
        return False
    return True
