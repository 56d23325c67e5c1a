"""Check whether an object may replace another one: kind and name must stay the same."""

from __future__ import annotations

from collections.abc import Iterator

from kapy.core.topology.errors import CannotReconcile
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, aggregate, forbidden
from kapy.kube.names import GroupKind, split_api_version


def check_compatible(
    current: Document, desired: Document, *, strictly: bool = False, any_kind: bool = False
) -> None:
    """Raise CannotReconcile unless `desired` may replace `current`.

    strictly: the name must be the same. any_kind: any kind in the same namespace is allowed.
    """
    errors: list[FieldError] = []
    if strictly:
        errors += _name_errors(current, desired)
    if not any_kind:
        errors += _kind_errors(current, desired)
    errors += _namespace_errors(current, desired)
    if errors:
        raise CannotReconcile(aggregate(errors))


def _kind(document: Document) -> GroupKind:
    return GroupKind(split_api_version(document["apiVersion"])[0], document["kind"])


def _name_errors(current: Document, desired: Document) -> Iterator[FieldError]:
    was, is_ = current["metadata"]["name"], desired["metadata"]["name"]
    if was != is_:
        yield forbidden(
            "metadata.name",
            f'metadata.name of {_kind(current)}/{was} cannot be changed from "{was}" to "{is_}" to '
            "prevent incompatible changes in the Cluster",
        )


def _kind_errors(current: Document, desired: Document) -> Iterator[FieldError]:
    before, after, name = _kind(current), _kind(desired), current["metadata"]["name"]
    for field, what, was, is_ in (
        ("apiVersion", "group", before.group, after.group),
        ("kind", "kind", before.kind, after.kind),
    ):
        if was != is_:
            yield forbidden(
                f"metadata.{field}",
                f'apiVersion.{what} of {before}/{name} cannot be changed from "{was}" to "{is_}" '
                "to prevent incompatible changes in the Cluster",
            )


def _namespace_errors(current: Document, desired: Document) -> Iterator[FieldError]:
    was, is_ = (item["metadata"].get("namespace", "") for item in (current, desired))
    if was != is_:
        yield forbidden(
            "metadata.namespace",
            f"metadata.namespace of {_kind(current)}/{current['metadata']['name']} cannot be "
            f'changed from "{was}" to "{is_}" because templates must be in the same namespace as '
            "the Cluster",
        )
