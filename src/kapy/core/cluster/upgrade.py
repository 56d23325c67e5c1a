"""Check whether parts of a cluster are still upgrading to the current version: that blocks the next
upgrade.
"""

from __future__ import annotations

from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Label
from kapy.client.client import Client
from kapy.contract.control_plane import ControlPlane
from kapy.contract.resolve import crd_name, resolve
from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.kube.names import CRDS, GroupKind
from kapy.kube.version import InvalidVersion, parse_tolerant

_NO_OBJECT: Final = (
    "failed to check if control plane is upgrading: failed to get control plane object"
)


async def pending_upgrades(client: Client, cluster: Cluster, version: str) -> list[str]:
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
