"""Log messages about a graph, and the objects of it that a move pauses."""

from __future__ import annotations

from kapy.clusterctl.move.graph import Graph, Ref
from kapy.clusterctl.move.kinds import CLUSTER, CLUSTER_CLASS
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import LeftBehind


def tell_counts(graph: Graph, tell: Log, first: str = "Moving Cluster API objects") -> None:
    """Log the number of Clusters and ClusterClasses."""
    tell(0, first, Clusters=sum(1 for _ in graph.of(CLUSTER)))
    tell(0, "Moving Cluster API objects", ClusterClasses=sum(1 for _ in graph.of(CLUSTER_CLASS)))


def tell_left_behind(one: LeftBehind, tell: Log, level: int = 0) -> None:
    """Log an object that stays, with the reason."""
    names = {one.ref.kind: one.ref.name, "Namespace": one.ref.namespace, "Reason": one.why}
    tell(level, "Leaving behind", **names)


def paused_by(graph: Graph) -> tuple[Ref, ...]:
    """The Clusters and ClusterClasses that a move of a graph pauses."""
    nodes = [*graph.of(CLUSTER), *graph.of(CLUSTER_CLASS)]
    return tuple(sorted(node.ref for node in nodes))
