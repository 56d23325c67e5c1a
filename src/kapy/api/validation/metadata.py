"""Validation of labels, annotations, names, naming templates, and label selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.api import embedded
from kapy.api.embedded import TemplateMeta
from kapy.api.naming import RANDOM, BadNameTemplate, generate_name
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FixedText, invalid
from kapy.kube.model import encode
from kapy.kube.qualified_names import (
    dns_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)
from kapy.kube.selectors import InvalidSelector, LabelSelector, selector_of

_LARGEST_ANNOTATIONS: Final = 256 * 1024
"""The maximum total size of all annotations of one object in bytes."""

_EXAMPLE: Final = "abcde"


def template_metadata_errors(metadata: TemplateMeta, path: str) -> list[FieldError]:
    """Return the errors of labels and annotations for objects created from a template."""
    return metadata_errors(metadata.labels, metadata.annotations, path)


def metadata_errors(
    labels: Mapping[str, str], annotations: Mapping[str, str], path: str
) -> list[FieldError]:
    """Return the errors of labels and annotations."""
    errors = []
    for key, value in sorted(labels.items()):
        where = f"{path}.labels"
        errors += [invalid(where, key, problem) for problem in qualified_name_errors(key)]
        errors += [invalid(where, value, problem) for problem in label_value_errors(value)]
    where = f"{path}.annotations"
    size = 0
    for key, value in sorted(annotations.items()):
        errors += [invalid(where, key, problem) for problem in qualified_name_errors(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > _LARGEST_ANNOTATIONS:
        problem = f"may not be more than {_LARGEST_ANNOTATIONS} bytes"
        errors.append(FieldError("FieldValueTooLong", where, problem))
    return errors


def name_as_label_errors(name: str, separator: str) -> list[FieldError]:
    """Return the errors of a name that other objects have as the value of a label."""
    return [
        invalid("metadata.name", name, f"must be a valid label value{separator}{problem}")
        for problem in label_value_errors(name)
    ]


def naming_errors(template: str, path: str, owner: str) -> list[FieldError]:
    """Return the errors of a template of Machine names.

    owner: the variable for the object that the Machines belong to.
    """
    if not template:
        return []
    where = f"{path}.template"
    errors = []
    if RANDOM not in template:
        errors.append(invalid(where, template, f"invalid template, {RANDOM} is missing"))
    names = _names({owner: {"name": owner.lower()}})
    try:
        name = generate_name(template, names, _EXAMPLE)
    except BadNameTemplate as error:
        return [*errors, invalid(where, template, f"invalid template: {error}")]
    return errors + [
        invalid(
            where,
            template,
            "invalid template, generated names would not be valid Kubernetes object names: "
            f"{problem}",
        )
        for problem in dns_subdomain_errors(name)
    ]


def class_naming_errors(
    template: str, path: str, what: str, parts: Document | None = None
) -> list[FieldError]:
    """Return the errors of a naming template of a ClusterClass.

    what: the named objects, for messages. parts: the allowed variables besides the cluster.
    """
    if not template:
        return []
    where = f"{path}.template"
    try:
        name = generate_name(template, _names(parts or {}), _EXAMPLE)
    except BadNameTemplate as error:
        return [invalid(where, template, f"invalid {what} name template: {error}")]
    return [invalid(where, template, problem) for problem in dns_subdomain_errors(name)]


def _names(parts: Document) -> dict[str, Any]:
    return {"cluster": {"name": "cluster"}, **parts}


def parse_selector(
    selector: embedded.LabelSelector, path: str
) -> tuple[LabelSelector | None, list[FieldError]]:
    """Parse a selector; return None and its errors if it is invalid."""
    try:
        return selector_of(encode(selector)), []
    except InvalidSelector as error:
        return None, [invalid(path, format_selector(selector), str(error))]


def format_selector(selector: embedded.LabelSelector) -> FixedText:
    """Format a selector for an error."""
    return FixedText.of(encode(selector))


def selector_errors(selector: embedded.LabelSelector | None, path: str) -> list[FieldError]:
    """Return the errors of a selector; none if there is no selector."""
    return [] if selector is None else parse_selector(selector, path)[1]
