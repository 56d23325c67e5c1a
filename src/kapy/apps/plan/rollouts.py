"""Predicts the rollouts of a change: replaced Machines, reasons, steps and the resulting
objects."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kapy.api.cluster import Cluster
from kapy.api.machine_pool import MachinePool
from kapy.apps.plan.control_planes import foreign_control_planes, kubeadm_control_planes
from kapy.apps.plan.deletions import deletions
from kapy.apps.plan.machine_deployments import machine_deployments
from kapy.apps.plan.nodes import AssumedNodes
from kapy.apps.plan.objects import Objects, name_of
from kapy.apps.plan.outcome import Outcome, Rollout
from kapy.apps.plan.snapshot import Snapshot
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


def outcomes(snapshot: Snapshot, nodes: AssumedNodes, now: datetime) -> Iterator[Outcome]:
    """Predicted outcomes of all objects with machines that are not up to date.

    Planners of the controllers predict MachineDeployments and KubeadmControlPlanes. Other control
    planes and machine pools depend on their providers: they are listed and assumed to finish.
    Objects that are being deleted are gone afterwards.
    """
    objects = Objects(snapshot)
    yield from deletions(objects, now)
    yield from kubeadm_control_planes(objects, now)
    yield from foreign_control_planes(objects)
    yield from machine_deployments(objects, now)
    yield from machine_pools(objects, nodes)
