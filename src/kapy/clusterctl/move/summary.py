"""Log messages about a graph, and the objects of it that a move pauses."""

from __future__ import annotations

from kapy.clusterctl.move.graph import Graph, Ref
from kapy.clusterctl.move.kinds import CLUSTER, CLUSTER_CLASS
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import LeftBehind


def log_counts(graph: Graph, log: Log, first: str = "Moving Cluster API objects") -> None:
    """Log the number of Clusters and ClusterClasses."""
    log(0, first, Clusters=sum(1 for _ in graph.of(CLUSTER)))
    log(0, "Moving Cluster API objects", ClusterClasses=sum(1 for _ in graph.of(CLUSTER_CLASS)))


def log_left_behind(remaining: LeftBehind, log: Log, level: int = 0) -> None:
    """Log an object that stays, with the reason."""
    names = {
        remaining.ref.kind: remaining.ref.name,
        "Namespace": remaining.ref.namespace,
        "Reason": remaining.why,
    }
    log(level, "Leaving behind", **names)


def paused_refs(graph: Graph) -> tuple[Ref, ...]:
    """Return the Clusters and ClusterClasses that a move of a graph pauses."""
    nodes = [*graph.of(CLUSTER), *graph.of(CLUSTER_CLASS)]
    return tuple(sorted(node.ref for node in nodes))
