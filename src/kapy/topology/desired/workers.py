"""Parts that MachineDeployments and MachinePools share: names, machine template and version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from kapy.api.cluster_class_template import ClassNaming
from kapy.api.cluster_class_workers import MachineDeploymentClass, MachinePoolClass
from kapy.api.cluster_topology_workers import MachineDeploymentTopology, MachinePoolTopology
from kapy.api.embedded import TemplateMeta
from kapy.api.machine import Bootstrap, MachineDeletionSpec, MachineSpec, MachineTemplateSpec
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation, Label
from kapy.api.worker_deletion import WorkerDeletionSpec
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.topology.desired.cloning import UPGRADE_ORDER_ANNOTATIONS, reference_to
from kapy.topology.desired.inputs import Inputs
from kapy.topology.errors import CannotCompute, name_failed_step
from kapy.topology.hooks import Hook
from kapy.topology.names import class_name, prefixed_name, worker_names, worker_prefix
from kapy.topology.upgrade_plan import BadUpgradePlan
from kapy.topology.upgrade_tracker import WorkersUpgrade

Topology = MachineDeploymentTopology | MachinePoolTopology
Class = MachineDeploymentClass | MachinePoolClass
C = TypeVar("C", MachineDeploymentClass, MachinePoolClass)
Deletion = MachineDeletionSpec | WorkerDeletionSpec

_WORKER_HOLD_HOOKS: Final = (Hook.AFTER_CONTROL_PLANE_UPGRADE, Hook.BEFORE_WORKERS_UPGRADE)


def class_of(inputs: Inputs, kind: str, classes: Sequence[C], name: str) -> C:
    """Return the worker class of a group. Raises CannotCompute if the class no longer exists."""
    for cluster_class in classes:
        if cluster_class.class_ == name:
            return cluster_class
    key = inputs.blueprint.cluster_class.key
    raise CannotCompute(f"{kind} class {name} not found in ClusterClass {key}")


def group_name(
    inputs: Inputs, kind: str, naming: ClassNaming, topology: str, current: Object | None
) -> str:
    """Return the name of a worker group: its current name, or a new one from the class's naming
    strategy.
    """
    if current is not None:
        return current.metadata.name
    key = f"{kind[0].lower()}{kind[1:]}"
    data = {key: {"topologyName": topology}}
    template = naming.template or worker_names(key)
    with name_failed_step(f"generate name for {kind}"):
        return class_name(template, inputs.cluster, kind, topology, variables=data)


def part_name(
    inputs: Inputs,
    topology: str,
    template: Document,
    current: Document | None,
    group: Object | None,
) -> str:
    """Return the name of an object that belongs to a worker group: its current name, or a new one.

    current: the group's current object; a group that is being deleted keeps no name.
    """
    if current is not None:
        name: str = current["metadata"]["name"]
        return name
    prefix = worker_prefix(inputs.cluster.metadata.name, topology)
    going = [group.metadata.uid] if group else []
    return prefixed_name(prefix, inputs.cluster, template["kind"], topology, *going)


def identity(inputs: Inputs, label: str, topology: str) -> dict[str, str]:
    """Return the labels that select a group and its machines. label: the key for the group's
    topology name.
    """
    name = inputs.cluster.metadata.name
    return {Label.CLUSTER_NAME: name, Label.TOPOLOGY_OWNED: "", label: topology}


def machine_template(
    inputs: Inputs,
    topology: Topology,
    of_class: Class,
    *,
    metadata: TemplateMeta,
    version: str,
    bootstrap: Document,
    infrastructure: Document,
) -> MachineTemplateSpec:
    """Return the machine template of a group: the fields that both kinds of groups share."""
    return MachineTemplateSpec(
        metadata=metadata,
        spec=MachineSpec(
            cluster_name=inputs.cluster.metadata.name,
            version=version,
            bootstrap=Bootstrap(config_ref=reference_to(bootstrap)),
            infrastructure_ref=reference_to(infrastructure),
            deletion=_deletion(topology.deletion, of_class.deletion),
            taints=topology.taints or of_class.taints,
            min_ready_seconds=_first_set(topology.min_ready_seconds, of_class.min_ready_seconds),
        ),
    )


def _first_set(topology: int | None, of_class: int | None) -> int | None:
    """Return the value of the topology, else of its class."""
    return of_class if topology is None else topology


def _deletion(topology: Deletion, of_class: Deletion) -> MachineDeletionSpec:
    return MachineDeletionSpec(
        node_drain_timeout_seconds=_first_set(
            topology.node_drain_timeout_seconds, of_class.node_drain_timeout_seconds
        ),
        node_volume_detach_timeout_seconds=_first_set(
            topology.node_volume_detach_timeout_seconds, of_class.node_volume_detach_timeout_seconds
        ),
        node_deletion_timeout_seconds=_first_set(
            topology.node_deletion_timeout_seconds, of_class.node_deletion_timeout_seconds
        ),
    )


def workers_version(
    inputs: Inputs,
    topology: Topology,
    siblings: Sequence[Topology],
    current: MachineDeployment | MachinePool | None,
    upgrade: WorkersUpgrade,
) -> str:
    """Return the target version for new workers; otherwise their current version or the next
    version of the plan.

    siblings: all groups of the kind, in the topology's order. upgrade: receives the decision.
    """
    target = inputs.blueprint.topology.version
    is_held = inputs.calls.is_blocked_by(*_WORKER_HOLD_HOOKS)
    control_plane = inputs.upgrades.control_plane
    if current is None:
        if is_held or not control_plane.is_stable:
            # Machines could not join while the load balancer still uses API servers that are being
            # removed.
            upgrade.pending_create.add(topology.name)
        return target
    has, name = current.spec.template.spec.version, current.metadata.name
    if has == target:
        return has
    is_deferred = _is_deferred(topology, siblings)
    if is_deferred:
        upgrade.deferred.add(name)
    if (
        is_deferred
        or is_held
        or upgrade.is_concurrency_reached
        or not control_plane.lets_workers_upgrade
        or _next_version(upgrade, current) == has
    ):
        upgrade.pending.add(name)
        return has
    upgrade.upgrading.add(name)
    return _next_version(upgrade, current)


def _next_version(upgrade: WorkersUpgrade, current: MachineDeployment | MachinePool) -> str:
    """Return the next version of the workers' plan.

    The plan starts with the version of the slowest workers until all have it. Groups that have it
    already wait for the control plane's next step.
    """
    if not upgrade.plan:
        kind = current.RESOURCE.kind
        what = "machine deployment" if kind == "MachineDeployment" else "machine pool"
        raise BadUpgradePlan(
            f"cannot compute the {what} version if the {what} is pending upgrade and the upgrade "
            "plan is not set"
        )
    return upgrade.plan[0]


def _is_deferred(topology: Topology, siblings: Sequence[Topology]) -> bool:
    """Return whether the user holds this group back, or holds the sequence at a group before it."""
    if any(annotation in topology.metadata.annotations for annotation in UPGRADE_ORDER_ANNOTATIONS):
        return True
    for sibling in siblings:
        if Annotation.TOPOLOGY_HOLD_UPGRADE_SEQUENCE in sibling.metadata.annotations:
            return True
        if sibling.name == topology.name:
            return False
    return False
