"""The reasons for which Clusters and classes cannot reach their desired state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.names import ConditionType, Reason
from kapy.apps.plan.snapshot import Name, Objects, Snapshot, name_of
from kapy.conditions.lookup import get
from kapy.kube import Key
from kapy.kube.model import encode
from kapy.kube.names import GroupKind, split_api_version


def problems(snapshot: Snapshot) -> Iterator[tuple[Name, str]]:
    """The problems by object, in the words of its conditions."""
    objects = Objects(snapshot)
    for cluster_class in objects.all(ClusterClass):
        templates = [*_missing_templates(objects, cluster_class), *_class_problems(cluster_class)]
        if templates:
            yield name_of(cluster_class), "; ".join(templates)
    for cluster in objects.all(Cluster):
        condition = get(cluster.status.conditions, ConditionType.TOPOLOGY_RECONCILED)
        if condition is not None and condition.reason in _FAILURE_CONDITIONS:
            yield name_of(cluster), condition.message


_FAILURE_CONDITIONS: Final = (Reason.RECONCILE_FAILED, Reason.CLUSTER_CLASS_NOT_RECONCILED)
_CLASS_CONDITIONS: Final = (ConditionType.VARIABLES_READY, ConditionType.REF_VERSIONS_UP_TO_DATE)


def _class_problems(cluster_class: ClusterClass) -> Iterator[str]:
    for condition in cluster_class.status.conditions:
        if condition.type in _CLASS_CONDITIONS and condition.status == "False":
            yield condition.message


def _missing_templates(objects: Objects, cluster_class: ClusterClass) -> Iterator[str]:
    namespace = cluster_class.metadata.namespace
    for ref in template_refs(encode(cluster_class.spec)):
        group, _ = split_api_version(ref["apiVersion"])
        kind, key = GroupKind(group, ref["kind"]), Key(namespace, ref["name"])
        if objects.document(Name(kind, key)) is None:
            yield f"{kind.kind} {key} does not exist"


def template_refs(part: Any) -> Iterator[Mapping[str, str]]:
    """All references to templates in (a part of) a ClusterClass's spec."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name == "templateRef" and isinstance(value, dict):
                yield value
            else:
                yield from template_refs(value)
    elif isinstance(part, list):
        for item in part:
            yield from template_refs(item)
