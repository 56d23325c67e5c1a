"""Objects and templates of one cluster, cloned from the templates of its class; their metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.embedded import ContractVersionedObjectReference, TemplateMeta
from kapy.api.names import Annotation, Label
from kapy.contract.templates import clone_template
from kapy.kube import Document
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.kube.meta import OwnerReference, owner_reference
from kapy.kube.model import encode
from kapy.kube.names import GroupKind, split_api_version
from kapy.topology.names import shim_name

UPGRADE_ORDER_ANNOTATIONS: Final = (
    Annotation.TOPOLOGY_DEFER_UPGRADE,
    Annotation.TOPOLOGY_HOLD_UPGRADE_SEQUENCE,
)


def object_of(
    template: Document,
    cluster: Cluster,
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: OwnerReference | None = None,
) -> Document:
    """Create an object from a template; the two share the spec. Raises FieldProblem."""
    return clone_template(
        template,
        name=name,
        namespace=cluster.metadata.namespace,
        cluster_name=cluster.metadata.name,
        labels={**(labels or {}), Label.TOPOLOGY_OWNED: ""},
        annotations=annotations,
        owner=owner,
    )


def template_of(
    template: Document, cluster: Cluster, name: str, labels: Mapping[str, str] | None = None
) -> Document:
    """Clone a template of the class for one cluster; the two share the spec.

    The clone is owned by the Cluster from the start, so it is deleted with the Cluster even if
    nothing ever refers to it.
    """
    source_metadata = template["metadata"]
    kind = GroupKind(split_api_version(template["apiVersion"])[0], template["kind"])
    annotations = {
        **(source_metadata.get("annotations") or {}),
        Annotation.CLONED_FROM_NAME: source_metadata["name"],
        Annotation.CLONED_FROM_GROUP_KIND: str(kind),
    }
    annotations.pop(LAST_APPLIED, None)
    result: Document = {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "metadata": {
            "name": name,
            "namespace": cluster.metadata.namespace,
            "labels": {
                **(source_metadata.get("labels") or {}),
                Label.CLUSTER_NAME: cluster.metadata.name,
                Label.TOPOLOGY_OWNED: "",
                **(labels or {}),
            },
            "annotations": annotations,
            "ownerReferences": [encode(owner_reference(cluster))],
        },
    }
    if "spec" in template:  # a template may have no spec
        result["spec"] = template["spec"]
    return result


def with_shim(document: Document, current: Document | None, cluster: Cluster) -> Document:
    """Return the object with the shim as owner if the current object has that owner: otherwise
    server-side apply would remove the owner reference.
    """
    owners = ((current or {}).get("metadata") or {}).get("ownerReferences") or ()
    name = shim_name(cluster.metadata.name)
    shim_owners = [owner for owner in owners if owner["kind"] == "Secret" and owner["name"] == name]
    if not shim_owners:
        return document
    return {**document, "metadata": {**document["metadata"], "ownerReferences": shim_owners[:1]}}


def reference_to(document: Document) -> ContractVersionedObjectReference:
    """Group, kind and name of an object."""
    return ContractVersionedObjectReference(
        api_group=split_api_version(document["apiVersion"])[0],
        kind=document["kind"],
        name=document["metadata"]["name"],
    )


def merge_metadata(topology: TemplateMeta, of_class: TemplateMeta) -> TemplateMeta:
    """Return the metadata of class and topology merged; the topology wins."""
    return TemplateMeta(
        labels={**of_class.labels, **topology.labels},
        annotations={**of_class.annotations, **topology.annotations},
    )


def workers_metadata(
    topology: TemplateMeta, of_class: TemplateMeta, identity: dict[str, str]
) -> TemplateMeta:
    """Return the metadata of a worker group and its machines. identity: the labels that select
    them.

    Annotations that defer or hold the group's upgrade are not copied to its machines.
    """
    meta = merge_metadata(topology, of_class)
    return TemplateMeta(
        labels={**meta.labels, **identity},
        annotations={
            key: value
            for key, value in meta.annotations.items()
            if key not in UPGRADE_ORDER_ANNOTATIONS
        },
    )
