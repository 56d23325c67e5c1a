"""The desired control plane object and the template of its machines.

On the way to a new version of the Cluster, a control plane has one version after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from kapy.api.cluster_class import ControlPlaneClass
from kapy.api.machine import MachineDeletionSpec
from kapy.api.names import Label
from kapy.api.times import moment, stamp
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Field, Version
from kapy.kube import Document
from kapy.kube.duration import text as duration
from kapy.kube.model import Model, encode
from kapy.kube.names import split_api_version
from kapy.kube.nested import Changes, value_at, with_values
from kapy.topology.desired.cloning import (
    merge_metadata,
    object_of,
    reference_to,
    template_of,
    with_shim,
)
from kapy.topology.desired.inputs import Inputs
from kapy.topology.errors import name_failed_step
from kapy.topology.hooks import Hook
from kapy.topology.names import CLUSTER_NAMES, class_name, control_plane_prefix, prefixed_name
from kapy.topology.upgrade_plan import BadUpgradePlan


async def control_plane_version(inputs: Inputs) -> str:
    """Return the target version for a new control plane; otherwise its current version or the next
    version of the upgrade plan.

    Runtime extensions are called on the way: first the hooks that follow the previous step, even if
    the control plane has its target version. Results are recorded in `inputs.upgrades`.
    """
    target, document = inputs.blueprint.topology.version, inputs.current.control_plane.object
    if document is None:
        return target
    view = ControlPlane(document, inputs.blueprint.control_plane.contract)
    has = ControlPlane.version.require(view)
    upgrade = inputs.upgrades.control_plane
    upgrade.pending = has != target
    upgrade.provisioning = view.is_provisioning
    upgrade.upgrading = not upgrade.provisioning and view.is_upgrading
    if upgrade.provisioning or upgrade.upgrading:
        return has
    if not await _is_previous_step_over(inputs, has) or not upgrade.pending:
        return has
    return await _next_version(inputs, has)


async def _is_previous_step_over(inputs: Inputs, has: str) -> bool:
    """Return whether the workers have followed the control plane's last step and no hook blocks the
    next one.
    """
    calls, upgrades = inputs.calls, inputs.upgrades
    if not await calls.after_control_plane_upgrade(has, inputs.steps):
        return False
    if not await calls.before_workers_upgrade(upgrades.oldest_workers, has, inputs.steps):
        return False
    workers = (upgrades.machine_deployments, upgrades.machine_pools)
    if any(worker.plan[:1] == [has] for worker in workers):
        upgrades.control_plane.waiting_for_workers = True
        return False
    if any(worker.upgrading for worker in workers):
        return False
    return await calls.after_workers_upgrade(has, inputs.steps)


async def _next_version(inputs: Inputs, has: str) -> str:
    """Return the next version of the plan, or the current one while a hook blocks the upgrade.

    The hooks that follow a step are recorded as pending before the step begins, so they are not
    lost.
    """
    calls, upgrade = inputs.calls, inputs.upgrades.control_plane
    target = inputs.blueprint.topology.version
    if not await calls.before_cluster_upgrade(has, target, inputs.steps):
        return has
    await calls.mark_pending(Hook.AFTER_CLUSTER_UPGRADE)
    if not upgrade.plan:
        raise BadUpgradePlan(
            "cannot compute the control plane version if the control plane is pending upgrade and "
            "the upgrade plan is not set"
        )
    following = upgrade.plan[0]
    if not await calls.before_control_plane_upgrade(has, following, inputs.steps):
        return has
    await calls.mark_pending(*_hooks_after(inputs, following))
    upgrade.starting, upgrade.pending = True, False
    return following


def _hooks_after(inputs: Inputs, version: str) -> list[Hook]:
    """Return the hooks that follow a control plane step, including those of workers if they take
    the step, too.
    """
    upgrades = inputs.upgrades
    hooks = [Hook.AFTER_CONTROL_PLANE_UPGRADE]
    if any(
        workers_upgrade.plan[:1] == [version]
        for workers_upgrade in (upgrades.machine_deployments, upgrades.machine_pools)
    ):
        hooks += [Hook.BEFORE_WORKERS_UPGRADE, Hook.AFTER_WORKERS_UPGRADE]
    return hooks


_TIMEOUTS: Final[Sequence[tuple[str, Field[int]]]] = (
    ("node_drain_timeout_seconds", ControlPlane.node_drain_timeout),
    ("node_volume_detach_timeout_seconds", ControlPlane.node_volume_detach_timeout),
    ("node_deletion_timeout_seconds", ControlPlane.node_deletion_timeout),
)


def control_plane_machine_template(inputs: Inputs) -> Document | None:
    """Return the infrastructure template of the control plane machines, if the class has such
    machines.
    """
    template = inputs.blueprint.control_plane.infrastructure_machine_template
    if template is None:
        return None
    cluster, current = inputs.cluster, inputs.current.control_plane.object
    ref = current and _contract_view(inputs, current).infrastructure_ref
    prefix = control_plane_prefix(cluster.metadata.name)
    name = ref.name if ref else prefixed_name(prefix, cluster, template["kind"])
    return template_of(template, cluster, name)


async def control_plane(inputs: Inputs, machine_template: Document | None) -> Document:
    """Return the desired control plane object; the Cluster does not own it yet.

    Raises CannotCompute, ContractError, BadNameTemplate and the errors of runtime extensions.
    """
    result = _new_object(inputs)
    contract = inputs.blueprint.control_plane.contract
    changes = _settings(inputs, contract)
    if machine_template is not None:
        changes |= _machines(inputs, result, machine_template)
    with name_failed_step("compute version of ControlPlane"):
        version = await control_plane_version(inputs)
    return with_values(result, changes | {_path(ControlPlane.version, contract): version})


def _new_object(inputs: Inputs) -> Document:
    """Return an object created from the template, with the labels and annotations of class and
    topology.
    """
    cluster, template = inputs.cluster, inputs.blueprint.control_plane.template
    ref = cluster.spec.control_plane_ref
    naming = _control_plane_class(inputs).naming.template or CLUSTER_NAMES
    name = ref.name if ref else class_name(naming, cluster, template["kind"])
    labels, annotations = _metadata(inputs)
    result = object_of(template, cluster, name, labels=labels, annotations=annotations)
    return with_shim(result, inputs.current.control_plane.object, cluster)


def _metadata(inputs: Inputs) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels and annotations of the object and of its machines."""
    meta = merge_metadata(
        inputs.blueprint.topology.control_plane.metadata, _control_plane_class(inputs).metadata
    )
    name = inputs.cluster.metadata.name
    labels = {**meta.labels, Label.CLUSTER_NAME: name, Label.TOPOLOGY_OWNED: ""}
    return labels, meta.annotations


def _machines(inputs: Inputs, control_plane: Document, template: Document) -> Changes:
    """Set the machines' infrastructure template and metadata; metadata in the class's template is
    kept."""
    contract = inputs.blueprint.control_plane.contract
    path = _path(ControlPlane.machine_metadata, contract)
    own = _contract_view(inputs, control_plane).machine_metadata
    labels, annotations = _metadata(inputs)
    metadata = {
        "labels": {**(own.labels if own else {}), **labels},
        "annotations": {**(own.annotations if own else {}), **annotations},
    }
    changes: Changes = {(*path, key): value for key, value in metadata.items() if value}
    return changes | {
        _path(ControlPlane.infrastructure_ref, contract): _machine_reference(inputs, template)
    }


def _machine_reference(inputs: Inputs, template: Document) -> Document:
    """Return the reference to the machines' template. In the v1beta1 contract it contains a
    version, which the control plane's controller may have raised in the meantime.
    """
    contract = inputs.blueprint.control_plane.contract
    ref = reference_to(template)
    if contract is not Version.V1BETA1:
        return encode(ref)
    path = _path(ControlPlane.infrastructure_ref, contract)
    there = value_at(inputs.current.control_plane.object, path) or {}
    raised = there.get("apiVersion", "")
    is_same = there.get("kind") == ref.kind and split_api_version(raised)[0] == ref.api_group
    return {
        "apiVersion": raised if is_same else template["apiVersion"],
        "kind": ref.kind,
        "namespace": template["metadata"]["namespace"],
        "name": ref.name,
    }


def _settings(inputs: Inputs, contract: Version) -> Changes:
    """Set the fields that the topology or its class sets. Fields that neither sets may not exist in
    the provider's API, so they are left alone."""
    topology, of_class = inputs.blueprint.topology.control_plane, _control_plane_class(inputs)
    changes: Changes = {}
    if topology.replicas is not None:
        changes[_path(ControlPlane.replicas, contract)] = topology.replicas
    if topology.rollout.after:
        after = stamp(moment(topology.rollout.after))
        changes[_path(ControlPlane.rollout_after, contract)] = after
    if gates := topology.readiness_gates or of_class.readiness_gates:
        changes[_path(ControlPlane.readiness_gates, contract)] = _encode(gates)
    if taints := topology.taints or of_class.taints:
        changes[_path(ControlPlane.taints, contract)] = _encode(taints)
    return changes | _timeouts(topology.deletion, of_class.deletion, contract)


def _timeouts(
    topology: MachineDeletionSpec, of_class: MachineDeletionSpec, contract: Version
) -> Changes:
    changes: Changes = {}
    for attribute, field in _TIMEOUTS:
        result = getattr(topology, attribute)
        seconds = getattr(of_class, attribute) if result is None else result
        if seconds is not None:
            old = contract is Version.V1BETA1
            changes[_path(field, contract)] = (
                duration(timedelta(seconds=seconds)) if old else seconds
            )
    return changes


def _encode(models: Sequence[Model]) -> list[Document]:
    return [encode(model) for model in models]


def _control_plane_class(inputs: Inputs) -> ControlPlaneClass:
    return inputs.blueprint.cluster_class.spec.control_plane


def _contract_view(inputs: Inputs, document: Document) -> ControlPlane:
    return ControlPlane(document, inputs.blueprint.control_plane.contract)


def _path(field: Field[Any], contract: Version) -> tuple[str, ...]:
    return tuple(field.path(contract).split("."))
