"""Label and field selectors of a request, combined into one predicate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kapy.apiserver.resources.kind import Kind
from kapy.kube import Document
from kapy.kube.errors import BadRequest
from kapy.kube.selectors import (
    FieldSelector,
    InvalidSelector,
    LabelSelector,
    parse_fields,
    parse_labels,
)


class Selection(NamedTuple):
    """The selectors of a request.

    match: None if everything is selected. name: the only name that can match, or "".
    """

    match: Callable[[Document], bool] | None
    name: str


EVERYTHING = Selection(None, "")


def parse_selection(kind: Kind, query: Mapping[str, str], check: Callable[[], None]) -> Selection:
    """Parse the selectors of a request. Raises BadRequest.

    check: validates the other options, after the selectors were parsed.
    """
    labels_text, fields_text = query.get("labelSelector", ""), query.get("fieldSelector", "")
    if not labels_text and not fields_text:
        check()
        return EVERYTHING
    try:
        labels, fields = parse_labels(labels_text), parse_fields(fields_text)
    except InvalidSelector as error:
        raise BadRequest(str(error)) from None
    check()
    _check_fields(kind, fields)
    return Selection(_matcher(kind, labels, fields), fields.exact("metadata.name") or "")


def _check_fields(kind: Kind, fields: FieldSelector) -> None:
    for field in fields.fields:
        if field in kind.selectable or field == "metadata.name":
            continue
        if field == "metadata.namespace" and kind.namespaced:
            continue
        if kind.custom or kind.selectable:
            raise BadRequest(f"field label not supported: {field}")
        raise BadRequest(
            f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        )


def _matcher(
    kind: Kind, labels: LabelSelector, fields: FieldSelector
) -> Callable[[Document], bool] | None:
    if not fields.requirements:
        return None if labels.everything else labels.selects
    selectable = kind.selectable

    def matches(document: Document) -> bool:
        return labels.selects(document) and fields.matches(
            lambda field: field_value(document, field, selectable)
        )

    return matches


def field_value(document: Document, field: str, selectable: Mapping[str, tuple[str, ...]]) -> str:
    """Return a field's value as text, as field selectors compare it; "" if it is absent."""
    path = selectable.get(field) or tuple(field.split("."))
    value: Any = document
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return "false" if field == "spec.unschedulable" else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
