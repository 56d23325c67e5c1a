"""The predicted state of objects at the end of a rollout."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kapy.api.embedded import StatusVersion
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Bootstrap, Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Finalizer, Label
from kapy.api.times import stamp
from kapy.contract.templates import SUFFIX
from kapy.kube import Document
from kapy.kube.meta import Object, ObjectMeta, owner_reference
from kapy.kube.model import copy_model

PLANNED_NAME: Final = "-planned"
"""Part of the name of a planned Machine, whose real name is not known yet."""


def template_meta(machine_set: MachineSet) -> ObjectMeta:
    meta = machine_set.spec.template.metadata
    labels = {**meta.labels, Label.CLUSTER_NAME: machine_set.spec.cluster_name}
    return ObjectMeta(labels=labels, annotations=dict(meta.annotations))


def planned_machine(machine: Machine, owner: Object, number: int, now: datetime) -> Machine:
    """Return a planned Machine, with a placeholder name."""
    machine = copy_model(machine)
    metadata = machine.metadata
    metadata.name = f"{owner.metadata.name}{PLANNED_NAME}{number + 1}"
    metadata.namespace = owner.metadata.namespace
    metadata.uid = f"{owner.metadata.uid}{PLANNED_NAME}{number + 1}"
    metadata.creation_timestamp = stamp(now)
    ref = machine.spec.infrastructure_ref  # the clone for this Machine, which does not exist yet
    ref.kind, ref.name = ref.kind.removesuffix(SUFFIX), metadata.name
    machine.spec.bootstrap = Bootstrap()
    metadata.owner_references = [owner_reference(owner, controller=True)]
    return machine


def rolled_out_control_plane(kcp: KubeadmControlPlane) -> KubeadmControlPlane:
    """Return the control plane after its rollout, when all of its Machines match its spec."""
    after = copy_model(kcp)
    status = after.status
    wanted = 1 if kcp.spec.replicas is None else kcp.spec.replicas
    status.replicas = status.ready_replicas = wanted
    status.available_replicas = status.up_to_date_replicas = wanted
    status.version = kcp.spec.version
    status.versions = [StatusVersion(version=kcp.spec.version, replicas=wanted)]
    status.observed_generation = kcp.metadata.generation
    status.initialization.control_plane_initialized = True
    return after


def rolled_out_deployment(
    deployment: MachineDeployment, sets: Sequence[MachineSet]
) -> MachineDeployment:
    """Return the MachineDeployment after its rollout, with the planned MachineSets."""
    after = copy_model(deployment)
    status, there = after.status, sum(machine_set.spec.replicas or 0 for machine_set in sets)
    status.replicas = status.ready_replicas = status.available_replicas = there
    status.up_to_date_replicas = deployment.spec.replicas or 0
    status.observed_generation = deployment.metadata.generation
    return after


def foreign_status(spec: Document, status: Document) -> Document:
    """Return the status of another provider's control plane after its rollout, for both
    contracts.
    """
    after = dict(status)
    if "version" in spec:
        after["version"] = spec["version"]
    if "replicas" in spec:
        after |= dict.fromkeys(_COUNTERS, spec["replicas"])
        after["unavailableReplicas"] = 0
    return after


_COUNTERS: Final = (
    "replicas",
    "readyReplicas",
    "upToDateReplicas",
    "updatedReplicas",
    "availableReplicas",
)


TOPOLOGY_FINALIZERS: Final = (
    Finalizer.MACHINE_SET_TOPOLOGY,
    Finalizer.MACHINE_DEPLOYMENT_TOPOLOGY,
)


def without_outside_finalizers(document: Document, now: datetime) -> Document | None:
    """Return a deleted object after all finalizers outside the sandbox were removed; None if no
    finalizer is left.
    """
    metadata = document["metadata"]
    held = [
        finalizer
        for finalizer in metadata.get("finalizers") or ()
        if finalizer in TOPOLOGY_FINALIZERS
    ]
    if not held:
        return None
    since = metadata.get("deletionTimestamp") or stamp(now)
    return {**document, "metadata": {**metadata, "deletionTimestamp": since, "finalizers": held}}
