"""Predicts the rollouts of a change: replaced Machines, reasons, steps and resulting objects; and
the deletions that follow from deleted objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.apps.plan.control_planes import foreign_control_planes, kubeadm_control_planes
from kapy.apps.plan.machine_deployments import machine_deployments
from kapy.apps.plan.nodes import AssumedNodes
from kapy.apps.plan.outcome import Outcome, Rollout
from kapy.apps.plan.post_rollout_state import without_outside_finalizers
from kapy.apps.plan.snapshot import Objects, Snapshot, kind_of, name_of
from kapy.conditions.paused import is_paused
from kapy.kube import Document, Key
from kapy.kube.meta import to_document
from kapy.kube.model import copy_model
from kapy.kube.names import GroupKind, split_api_version

_MACHINE: Final = kind_of(Machine)
_WITH_MACHINES: Final = (Machine.RESOURCE.kind, MachineSet.RESOURCE.kind)


def outcomes(snapshot: Snapshot, nodes: AssumedNodes, now: datetime) -> Iterator[Outcome]:
    """Predicted outcomes of all objects with machines that are not up to date.

    Planners of the controllers predict MachineDeployments and KubeadmControlPlanes. Other control
    planes and machine pools depend on their providers: they are listed and assumed to finish.
    Objects that are being deleted are gone afterwards.
    """
    objects = Objects(snapshot)
    yield from _deletions(objects, now)
    yield from kubeadm_control_planes(objects, now)
    yield from foreign_control_planes(objects)
    yield from machine_deployments(objects, now)
    yield from _machine_pools(objects, nodes)


def _deletions(objects: Objects, now: datetime) -> Iterator[Outcome]:
    """The outcome of every deleted object: its Machines and all garbage-collected dependents are
    deleted, too."""
    for name, document in objects.snapshot.items():
        if "deletionTimestamp" not in document["metadata"]:
            continue
        after = without_outside_finalizers(document, now)
        if after is not None and after["metadata"] == document["metadata"]:
            continue  # its finalizers belong to controllers in the sandbox
        everything = objects.with_owned([document])
        machines = sorted(
            element["metadata"]["name"] for element in everything if _is_machine(element)
        )
        rollout = Rollout(
            name, deletes=machines, steps=[f"delete Machine {machine}" for machine in machines]
        )
        held = [] if after is None else [after]
        removal = list[Document]()
        for item in everything:
            if item is document:
                removal += [item] if after is None else []
            elif (stays := without_outside_finalizers(item, now)) is not None:
                held.append(stays)  # its finalizer's controller deletes dependent templates
            else:
                removal.append(item)
        listed = [
            element
            for element in removal
            if element is not document and not _is_of_machines(element)
        ]
        yield Outcome(rollout, held, removal, listed)


def _is_machine(document: Document) -> bool:
    group, _ = split_api_version(document["apiVersion"])
    return GroupKind(group, document["kind"]) == _MACHINE


def _is_of_machines(document: Document) -> bool:
    """Return whether it is a Machine, a set of Machines, or an object that was created for one."""
    owners = document["metadata"].get("ownerReferences") or ()
    return document["kind"] in _WITH_MACHINES or any(
        owner["kind"] in _WITH_MACHINES for owner in owners
    )


def _machine_pools(objects: Objects, nodes: AssumedNodes) -> Iterator[Outcome]:
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
