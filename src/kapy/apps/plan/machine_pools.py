"""Predicts rollouts of MachinePools, whose machines are up to their providers."""

from __future__ import annotations

from collections.abc import Iterator

from kapy.api.cluster import Cluster
from kapy.api.machine_pool import MachinePool
from kapy.apps.plan.nodes import AssumedNodes
from kapy.apps.plan.objects import Objects, name_of
from kapy.apps.plan.outcome import Outcome, Rollout
from kapy.conditions.paused import is_paused
from kapy.kube import Key
from kapy.kube.meta import to_document
from kapy.kube.model import copy_model


def machine_pools(objects: Objects, nodes: AssumedNodes) -> Iterator[Outcome]:
    """Outcomes of all MachinePools whose Nodes have another version and that are neither paused nor
    being deleted."""
    for pool in objects.all(MachinePool):
        key = Key(pool.metadata.namespace, pool.spec.cluster_name)
        cluster = objects.get(Cluster, key)
        if cluster is None or pool.deleting or is_paused(pool, cluster):
            continue
        if nodes.are_behind(pool):
            nodes.upgrade(pool)
            # A user has to check again later: the plan cannot know when its provider has finished.
            after = copy_model(pool)
            after.status.observed_generation = pool.metadata.generation
            yield Outcome(Rollout(name_of(pool), by_provider=True), [to_document(after)])
