"""Checks of a Cluster's topology that read other objects.

The other objects are its ClusterClass and, on an upgrade, the control plane and the
MachineDeployments, as long as they are still upgrading to the current version.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Annotation, Label
from kapy.api.validation.class_use import class_key, class_use_errors
from kapy.api.validation.cluster import (
    CLASS,
    UNCHECKED,
    changes_version,
    new_topology_errors,
    version_change_errors,
)
from kapy.api.validation.cluster_class import compatibility_errors
from kapy.client.client import Client
from kapy.contract.control_plane import ControlPlane
from kapy.contract.resolve import crd_name, resolve
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, KapyError, NotFound
from kapy.kube.field_errors import FieldError, forbidden
from kapy.kube.names import CRDS, GroupKind
from kapy.kube.nested import value_at
from kapy.kube.version import InvalidVersion, parse_tolerant
from kapy.topology.cluster_variables import InvalidTopologyShape, is_reconciled, with_variables

_NO_OBJECT: Final = (
    "failed to check if control plane is upgrading: failed to get control plane object"
)


class Findings(NamedTuple):
    """The errors and warnings that the check of a Cluster's topology has found."""

    errors: list[FieldError]
    warnings: list[str]


async def topology_defaults(
    client: Client, new: Document, old: Document | None
) -> tuple[Document, list[FieldError]]:
    """Return a Cluster with default values of its class's variables, and the errors in its
    variables. A Cluster that the schema will refuse is unchanged, as is one whose class does not
    exist or is not reconciled.
    """
    ref = value_at(new, ("spec", "topology", "classRef"))
    if not isinstance(ref, dict) or not isinstance(ref.get("name"), str):
        return new, []
    key = Key(ref.get("namespace") or new["metadata"].get("namespace", ""), ref["name"])
    try:
        cluster_class = await client.get(ClusterClass, key)
    except NotFound:
        return new, []
    if not is_reconciled(cluster_class):
        return new, []
    try:
        return with_variables(new, old, cluster_class)
    except InvalidTopologyShape:
        return new, []


async def topology_findings(client: Client, new: Cluster, old: Cluster | None) -> Findings:
    """Check a Cluster with a topology against its class and its existing objects."""
    topology, key, findings = new.spec.topology, class_key(new), Findings([], [])
    if topology is None or key is None:
        return findings
    cluster_class = await _class_of(client, key, findings.warnings)
    if cluster_class is not None:
        findings.errors.extend(class_use_errors(new, topology, cluster_class))
    if old is None:
        return findings
    if cluster_class is None:
        problem = f"ClusterClass {key} not found"
        findings.errors.append(FieldError("InternalError", CLASS, problem))
    elif old.spec.topology is None:
        findings.errors.extend(new_topology_errors(new))
    else:
        findings.errors.extend(await _change_errors(client, new, old, cluster_class))
        if Annotation.UNSAFE_UPDATE_VERSION in new.metadata.annotations:
            findings.warnings.append(UNCHECKED)
    return findings


async def _change_errors(
    client: Client, new: Cluster, old: Cluster, cluster_class: ClusterClass
) -> list[FieldError]:
    before, after = old.spec.topology, new.spec.topology
    assert before is not None
    assert after is not None
    spec = cluster_class.spec
    busy = (
        await _pending_upgrades(client, old, before.version)
        if changes_version(before, after)
        else []
    )
    errors = version_change_errors(
        new,
        before,
        after,
        ceiling=not (
            spec.kubernetes_versions or spec.upgrade.external.generate_upgrade_plan_extension
        ),
        unsettled=busy,
    )
    was, is_ = class_key(old), class_key(new)
    if was is None or was == is_:
        return errors
    try:
        former = await client.get(ClusterClass, was)
    except ApiError as error:
        problem = (
            f'valid ClusterClass with name "{was}" could not be retrieved, change from class '
            f'"{was}" to class "{is_}" cannot be validated. Error: {error}'
        )
        return [*errors, forbidden(CLASS, problem)]
    return [*errors, *compatibility_errors(former, cluster_class)]


async def _class_of(client: Client, key: Key, warnings: list[str]) -> ClusterClass | None:
    """Return the class if it exists; add a warning if it does not exist or is not reconciled."""
    refers = f"Cluster refers to ClusterClass {key}, but this ClusterClass"
    partly = "Cluster topology has not been fully validated."
    try:
        cluster_class = await client.get(ClusterClass, key)
    except NotFound:
        warnings.append(
            f"{refers} does not exist. {partly} "
            "The ClusterClass must be created to reconcile the Cluster"
        )
        return None
    if not is_reconciled(cluster_class):
        warnings.append(
            f"{refers} hasn't been successfully reconciled. {partly} "
            "Please take a look at the ClusterClass status"
        )
    return cluster_class


async def _pending_upgrades(client: Client, cluster: Cluster, version: str) -> list[str]:
    """Return sentences about the control plane and the MachineDeployments that are still upgrading;
    none if all are done.

    version: the Cluster's current version.
    """
    problems = [
        await _control_plane_problem(client, cluster, version),
        await _deployments_problem(client, cluster, version),
    ]
    return [problem for problem in problems if problem]


async def _control_plane_problem(client: Client, cluster: Cluster, version: str) -> str:
    ref = cluster.spec.control_plane_ref
    if ref is None:
        return f"{_NO_OBJECT}: cannot get object - object reference not set"
    kind = GroupKind(ref.api_group, ref.kind)
    try:
        where = resolve(kind, await client.get(CRDS, Key("", crd_name(*kind))))
        key = Key(cluster.metadata.namespace, ref.name)
        control_plane = ControlPlane(await client.get(where.resource, key), where.contract)
        return _is_upgrading(control_plane, version)
    except KapyError as error:
        return f"{_NO_OBJECT}: {error}"


def _is_upgrading(control_plane: ControlPlane, version: str) -> str:
    """Return whether the control plane is upgrading. Raises WrongType."""
    has = ControlPlane.version.require(control_plane)
    if not _is_same_version(has, version):
        return (
            f"Cluster.spec.topology.version {_without_build(version)} was not propagated to "
            "control plane "
            f"yet (control plane version {_without_build(has)})"
        )
    if control_plane.is_provisioning:
        return "control plane is currently provisioning"
    if control_plane.is_upgrading:
        return "control plane is still completing a previous upgrade"
    return ""


async def _deployments_problem(client: Client, cluster: Cluster, version: str) -> str:
    meta = cluster.metadata
    labels = f"{Label.CLUSTER_NAME}={meta.name},{Label.TOPOLOGY_OWNED}"
    machinedeployment = await client.list(MachineDeployment, meta.namespace, labels=labels)
    busy = [
        deployment.metadata.name
        for deployment in machinedeployment.items
        if await _has_upgrading_machines(client, deployment, version)
    ]
    if not busy:
        return ""
    return f"there are still MachineDeployments completing a previous upgrade: [{', '.join(busy)}]"


async def _has_upgrading_machines(
    client: Client, deployment: MachineDeployment, version: str
) -> bool:
    """Return whether the MachineDeployment, or one of its Machines, has another version."""
    wanted = deployment.spec.template.spec.version
    if not _is_same_version(wanted, version):
        return True
    meta = deployment.metadata
    labels = f"{Label.DEPLOYMENT_NAME}={meta.name}"
    machines = (await client.list(Machine, meta.namespace, labels=labels)).items
    return any(
        machine.spec.version != wanted
        or (
            machine.status.node_info is not None
            and machine.status.node_info.kubelet_version not in ("", wanted)
        )
        for machine in machines
    )


def _is_same_version(left: str, right: str) -> bool:
    return _without_build(left) == _without_build(right)


def _without_build(version: str) -> str:
    try:
        return str(parse_tolerant(version))
    except InvalidVersion:
        return version
