"""The Paused condition, which every kind reports."""

from __future__ import annotations

from datetime import datetime

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.names import Annotation, ConditionType, Reason
from kapy.conditions.change import Conditioned, HasMetadata, set_condition
from kapy.conditions.lookup import false, true


def is_paused(obj: HasMetadata, cluster: Cluster | None) -> bool:
    """Return whether the object is paused, by itself or by its Cluster."""
    by_cluster = cluster is not None and bool(cluster.spec.paused)
    return by_cluster or Annotation.PAUSED in obj.metadata.annotations


def paused_condition(obj: HasMetadata, cluster: Cluster | None) -> Condition:
    """Return the Paused condition for the current state of the object and its Cluster."""
    why = []
    if cluster is not None and cluster.spec.paused:
        why.append("Cluster spec.paused is set to true")
    if Annotation.PAUSED in obj.metadata.annotations:
        why.append(f"{obj.RESOURCE.kind} has the {Annotation.PAUSED} annotation")
    if why:
        return true(ConditionType.PAUSED, Reason.PAUSED, ", ".join(why))
    return false(ConditionType.PAUSED, Reason.NOT_PAUSED)


def report_pause(obj: Conditioned, cluster: Cluster | None, now: datetime) -> bool:
    """Return whether the object is paused, and set the Paused condition of one that is."""
    if not is_paused(obj, cluster):
        return False
    set_condition(obj, paused_condition(obj, cluster), now)
    return True
