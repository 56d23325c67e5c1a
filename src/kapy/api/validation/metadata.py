"""Labels, annotations and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.embedded import TemplateMeta
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.qualified_names import label_value_errors, qualified_name_errors

LARGEST_ANNOTATIONS: Final = 256 * 1024
"""The maximum total size of all annotations of one object in bytes."""


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
    if size > LARGEST_ANNOTATIONS:
        problem = f"may not be more than {LARGEST_ANNOTATIONS} bytes"
        errors.append(FieldError("FieldValueTooLong", where, problem))
    return errors


def name_as_label_errors(name: str, separator: str) -> list[FieldError]:
    """Return the errors of a name that other objects have as the value of a label."""
    return [
        invalid("metadata.name", name, f"must be a valid label value{separator}{problem}")
        for problem in label_value_errors(name)
    ]
