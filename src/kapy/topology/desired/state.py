"""The order in which a desired state is computed: each part may use the parts before it."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation, Label
from kapy.contract.control_plane import ControlPlane
from kapy.kube import Document
from kapy.kube.model import copy_model
from kapy.topology.blueprint import Blueprint
from kapy.topology.desired.cloning import object_of, reference_to, with_shim
from kapy.topology.desired.control_plane import control_plane, control_plane_machine_template
from kapy.topology.desired.health_checks import machine_health_check
from kapy.topology.desired.inputs import Inputs
from kapy.topology.desired.machine_deployments import machine_deployments
from kapy.topology.desired.machine_pools import machine_pools
from kapy.topology.errors import name_failed_step
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hooks import Hook
from kapy.topology.names import CLUSTER_NAMES, class_name
from kapy.topology.patches import Cause, ExternalPatches, apply_patches
from kapy.topology.state import ClusterState, ControlPlaneState
from kapy.topology.upgrade_plan import plan_upgrade
from kapy.topology.upgrade_tracker import UpgradeTracker


def cluster(inputs: Inputs, infrastructure: Document, control_plane: Document) -> Cluster:
    """Return the desired Cluster: its references, its labels and the annotation with the current
    upgrade step. Without that annotation no Machine of an intermediate version would be created.

    Raises MissingField and WrongType.
    """
    wanted = copy_model(inputs.cluster)
    metadata = wanted.metadata
    metadata.labels[Label.CLUSTER_NAME] = metadata.name
    metadata.labels[Label.TOPOLOGY_OWNED] = ""
    wanted.spec.infrastructure_ref = reference_to(infrastructure)
    wanted.spec.control_plane_ref = reference_to(control_plane)
    metadata.annotations.pop(Annotation.TOPOLOGY_UPGRADE_STEP, None)
    if _is_upgrading(inputs):
        view = ControlPlane(control_plane, inputs.blueprint.control_plane.contract)
        version = ControlPlane.version.require(view)
        metadata.annotations[Annotation.TOPOLOGY_UPGRADE_STEP] = version
    return wanted


def _is_upgrading(inputs: Inputs) -> bool:
    """Return whether an upgrade has begun and its last hook has not been called yet."""
    if inputs.calls.is_open:
        return inputs.calls.is_pending(Hook.AFTER_CLUSTER_UPGRADE)
    return bool(inputs.upgrades.control_plane.plan or inputs.upgrades.workers_plan)


def infrastructure_cluster(inputs: Inputs) -> Document:
    """Return the desired InfraCluster.

    The Cluster does not own it yet: otherwise a provider would start on it before the Cluster
    refers to it. Raises FieldProblem and BadNameTemplate.
    """
    cluster, template = inputs.cluster, inputs.blueprint.infrastructure_cluster_template
    ref = cluster.spec.infrastructure_ref
    naming = inputs.blueprint.cluster_class.spec.infrastructure.naming.template
    name = ref.name if ref else class_name(naming or CLUSTER_NAMES, cluster, template["kind"])
    result = object_of(template, cluster, name)
    return with_shim(result, inputs.current.infrastructure_cluster, cluster)


async def desired_state(
    blueprint: Blueprint,
    current: ClusterState,
    upgrades: UpgradeTracker,
    calls: HookCalls,
    *,
    external: ExternalPatches | None = None,
    causes: list[Cause] | None = None,
) -> ClusterState:
    """Compute all desired objects and apply the patches of the class.

    upgrades: receives the versions that are ahead and the groups that must wait; waiting groups
    (`pending`, `pending_create`) are part of the state but must not be written. calls: may record
    pending hooks in the Cluster before the step begins that they follow. external: calls extensions
    that patch; None without runtime extensions. causes: if given, receives what each patch changed.

    Raises CannotCompute, BadUpgradePlan, HookError, and errors of the server that `calls` met.
    """
    inputs = Inputs(blueprint, current, upgrades, calls)
    with name_failed_step("compute InfrastructureCluster"):
        infrastructure = infrastructure_cluster(inputs)
    with name_failed_step("compute ControlPlane InfrastructureMachineTemplate"):
        template = control_plane_machine_template(inputs)
    await plan_upgrade(blueprint, current, upgrades, calls)
    _mark_upgrading(current, upgrades)
    with name_failed_step("compute ControlPlane"):
        control_plane_object = await control_plane(inputs, template)
    with name_failed_step("compute Cluster"):
        wanted = cluster(inputs, infrastructure, control_plane_object)
    desired = ClusterState(
        cluster=wanted,
        infrastructure_cluster=infrastructure,
        control_plane=_control_plane_state(inputs, control_plane_object, template),
    )
    with name_failed_step("compute MachineDeployments"):
        desired.machine_deployments = machine_deployments(inputs)
    with name_failed_step("compute MachinePools"):
        desired.machine_pools = machine_pools(inputs)
    with name_failed_step("apply patches"):
        await apply_patches(blueprint, desired, external=external, causes=causes)
    return desired


def _mark_upgrading(current: ClusterState, upgrades: UpgradeTracker) -> None:
    for groups, upgrade in (
        (current.machine_deployments, upgrades.machine_deployments),
        (current.machine_pools, upgrades.machine_pools),
    ):
        upgrade.upgrading.update(
            group.object.metadata.name for group in groups.values() if group.is_upgrading
        )


def _control_plane_state(
    inputs: Inputs, control_plane_object: Document, template: Document | None
) -> ControlPlaneState:
    """Return the control plane state; only a control plane with machines gets a health check."""
    check = template and machine_health_check(
        control_plane_object["metadata"]["name"],
        inputs.cluster,
        {Label.CONTROL_PLANE: ""},
        inputs.blueprint.topology.control_plane.health_check,
        inputs.blueprint.cluster_class.spec.control_plane.health_check,
    )
    return ControlPlaneState(
        object=control_plane_object,
        infrastructure_machine_template=template,
        machine_health_check=check or None,
    )
