"""The owner of a KubeadmConfig: one Machine, or a MachinePool. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.machines import is_control_plane
from kapy.kube import Document
from kapy.kube.names import split_api_version


@dataclass(frozen=True, slots=True)
class ConfigOwner:
    """The facts about its owner that a KubeadmConfig needs.

    data_secret: the boot data Secret in the owner's spec. has_nodes: every desired machine has a
    Node.
    """

    name: str
    cluster: str
    version: str
    data_secret: str | None
    has_nodes: bool
    is_control_plane: bool
    is_pool: bool


def owning_machine(machine: Machine) -> ConfigOwner:
    """Return a Machine as owner."""
    return ConfigOwner(
        name=machine.metadata.name,
        cluster=machine.spec.cluster_name,
        version=machine.spec.version,
        data_secret=machine.spec.bootstrap.data_secret_name,
        has_nodes=machine.status.node_ref is not None,
        is_control_plane=is_control_plane(machine),
        is_pool=False,
    )


def owning_pool(pool: MachinePool) -> ConfigOwner:
    """Return a MachinePool as owner. Its boot data is never final, because tokens in it expire."""
    replicas = 1 if pool.spec.replicas is None else pool.spec.replicas
    return ConfigOwner(
        name=pool.metadata.name,
        cluster=pool.spec.cluster_name,
        version=pool.spec.template.spec.version,
        data_secret=None,
        has_nodes=len(pool.status.node_refs) == replicas,
        is_control_plane=False,
        is_pool=True,
    )


def owner_reference_of(config: Document) -> tuple[str, str, str]:
    """Kind, name and uid of the Machine or MachinePool that owns a KubeadmConfig; "" while none
    does."""
    kinds = (Machine.RESOURCE.kind, MachinePool.RESOURCE.kind)
    for reference in config["metadata"].get("ownerReferences") or ():
        group, _ = split_api_version(reference["apiVersion"])
        if group == Machine.RESOURCE.group and reference["kind"] in kinds:
            return str(reference["kind"]), str(reference["name"]), str(reference["uid"])
    return "", "", ""
