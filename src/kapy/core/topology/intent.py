"""The apply configurations of the topology controller, limited to the fields that it manages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kapy.api.names import Annotation
from kapy.contract.control_plane import ControlPlane
from kapy.contract.infra_cluster import InfraCluster
from kapy.kube import Document
from kapy.kube.nested import Path, value_at

MANAGER: Final = "capi-topology"

_METADATA: Final = ("name", "namespace", "labels", "annotations", "ownerReferences")
_IGNORED_ANNOTATIONS: Final = (Annotation.TOPOLOGY_DRY_RUN, Annotation.CONVERSION_DATA)


def intent_of(desired: Document, current: Document | None, unsaid: Iterable[Path] = ()) -> Document:
    """Return the apply configuration: names, labels, annotations, owners and spec.

    current: its uid is included, so that an update never recreates a deleted object. unsaid: paths
    that others decide about.
    """
    source = desired["metadata"]
    metadata = {name: source[name] for name in _METADATA if name in source}
    if current is not None:
        metadata["uid"] = current["metadata"]["uid"]
    intent = {
        "apiVersion": desired["apiVersion"],
        "kind": desired["kind"],
        "metadata": metadata,
    }
    if "spec" in desired:
        intent["spec"] = desired["spec"]
    for path in unsaid:
        intent = without(intent, path)
    return intent


def undecided_endpoint_paths(desired: Document) -> list[Path]:
    """Return the control plane endpoint's fields that a template leaves empty although its type
    requires them: the provider sets them.
    """
    path = tuple(InfraCluster.control_plane_endpoint.path().split("."))
    assert path == tuple(ControlPlane.control_plane_endpoint.path().split("."))
    host, port = (*path, "host"), (*path, "port")
    paths = []
    if value_at(desired, host) == "":
        paths.append(host)
    if value_at(desired, port) == 0 and value_at(desired, port) is not False:
        paths.append(port)
    return paths


def with_dry_run_annotation(intent: Document) -> Document:
    """Return the intent with the dry-run annotation, which webhooks check."""
    metadata = intent["metadata"]
    annotations = {**(metadata.get("annotations") or {}), Annotation.TOPOLOGY_DRY_RUN: ""}
    return {**intent, "metadata": {**metadata, "annotations": annotations}}


def comparable(answer: Document, managed_fields: Any, unsaid: Iterable[Path]) -> Document:
    """Return the comparable part of a dry run's answer: managed fields only.

    managed_fields: the entries to compare by.
    """
    result = without_annotations(intent_of(answer, answer, unsaid))
    result["metadata"] = {**result["metadata"], "managedFields": list(_own_entries(managed_fields))}
    return result


def without_annotations(document: Document) -> Document:
    """Return the document without transient annotations."""
    for key in _IGNORED_ANNOTATIONS:
        document = without(document, ("metadata", "annotations", key))
    return document


def without(document: Document, path: Path) -> Document:
    """Return the document without the value at a path and without objects that become empty."""
    first, *rest = path
    if first not in document:
        return document
    copy = dict(document)
    if rest:
        if not isinstance(copy[first], dict):
            return document
        below = without(copy[first], tuple(rest))
        if below is copy[first]:
            return document
        if below:
            copy[first] = below
            return copy
    del copy[first]
    return copy


def _own_entries(managed_fields: Any) -> Iterator[Document]:
    """Return the controller's managed fields entry, without its time and ignored fields."""
    for entry in managed_fields or ():
        if (
            entry.get("manager") == MANAGER
            and entry.get("operation") == "Apply"
            and not entry.get("subresource")
        ):
            fields = entry.get("fieldsV1") or {}
            for key in _IGNORED_ANNOTATIONS:
                fields = without(fields, ("f:metadata", "f:annotations", f"f:{key}"))
            stable = {name: value for name, value in entry.items() if name != "time"}
            yield {**stable, "fieldsV1": fields}
