"""The Paused condition, which every kind reports."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.names import Annotation, ConditionType, Reason
from kapy.conditions.lookup import false, true
from kapy.kube.meta import Object


def is_paused(obj: Object, cluster: Cluster | None) -> bool:
    """Return whether the object is paused, by itself or by its Cluster."""
    by_cluster = cluster is not None and bool(cluster.spec.paused)
    return by_cluster or Annotation.PAUSED in obj.metadata.annotations


def paused_condition(obj: Object, cluster: Cluster | None) -> Condition:
    """Return the Paused condition for the current state of the object and its Cluster."""
    why = []
    if cluster is not None and cluster.spec.paused:
        why.append("Cluster spec.paused is set to true")
    if Annotation.PAUSED in obj.metadata.annotations:
        why.append(f"{obj.RESOURCE.kind} has the {Annotation.PAUSED} annotation")
    if why:
        return true(ConditionType.PAUSED, Reason.PAUSED, ", ".join(why))
    return false(ConditionType.PAUSED, Reason.NOT_PAUSED)
