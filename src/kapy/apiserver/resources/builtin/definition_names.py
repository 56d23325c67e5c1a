"""The names of a CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Iterator

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, invalid, required
from kapy.kube.qualified_names import dns_1035_label_errors


def missing_name_errors(names: Document) -> Iterator[FieldError]:
    """Yield errors for missing fields in `spec.names`."""
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")


def name_errors(names: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of the names in `spec` or `status`; empty names are skipped."""
    for field in ("plural", "singular"):
        yield from _label_errors(names.get(field, ""), f"{path}.{field}")
    for field in ("kind", "listKind"):
        name = names.get(field, "")
        if name and (wrong := dns_1035_label_errors(name.lower())):
            text = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            yield invalid(f"{path}.{field}", name, text)
    yield from _list_errors(names, path, "shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        text = "kind and listKind may not be the same"
        yield invalid(f"{path}.listKind", names["listKind"], text)
    yield from _list_errors(names, path, "categories")


def _list_errors(names: Document, path: str, field: str) -> Iterator[FieldError]:
    for index, name in enumerate(names.get(field) or ()):
        if wrong := dns_1035_label_errors(name):
            yield invalid(f"{path}.{field}[{index}]", name, ",".join(wrong))


def _label_errors(name: str, path: str) -> Iterator[FieldError]:
    if name and (wrong := dns_1035_label_errors(name)):
        yield invalid(path, name, ",".join(wrong))
