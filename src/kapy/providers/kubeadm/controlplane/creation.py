"""Creates a control plane Machine: infrastructure, KubeadmConfig, Machine, in this order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.embedded import ContractVersionedObjectReference as Reference
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.kube import Document, Key
from kapy.kube.errors import REFUSED, KapyError, NotFound
from kapy.kube.meta import OwnerReference, owner_reference
from kapy.kube.names import Resource
from kapy.providers.kubeadm.controlplane.desired import (
    belonging_metadata,
    machine_annotations,
    machine_labels,
    machine_name,
    new_kubeadm_config,
    new_machine,
)
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.template import infrastructure_template
from kapy.providers.kubeadm.controlplane.tools import Tools
from kapy.sdk import clone_template, pick_fewest, v1beta1

_ATTEMPTS: Final = 100


async def create_machine(tools: Tools, plane: ControlPlane, *, join: bool) -> Document:
    """Create the next Machine, in the failure domain with the fewest Machines."""
    kcp = plane.kcp
    name = _free_name(tools, plane)
    made: list[tuple[Resource, Key]] = []
    try:
        reason = V1Beta1Reason.INFRASTRUCTURE_TEMPLATE_CLONING_FAILED
        with _told(plane, name, _infrastructure_kind(plane), reason):
            infrastructure = await _infrastructure(tools, plane, name)
            made.append((infrastructure, Key(kcp.metadata.namespace, name)))
        reason = V1Beta1Reason.BOOTSTRAP_TEMPLATE_CLONING_FAILED
        with _told(plane, name, KubeadmConfig.RESOURCE.kind, reason):
            await _bootstrap(tools, plane, name, join=join)
            made.append((KubeadmConfig.RESOURCE, Key(kcp.metadata.namespace, name)))
        reason = V1Beta1Reason.MACHINE_GENERATION_FAILED
        with _told(plane, name, Machine.RESOURCE.kind, reason):
            answer = await _machine(tools, plane, name, infrastructure)
    except REFUSED:
        await _take_back(tools, made)
        raise
    # The Machine that replaces a remediated one is there.
    kcp.metadata.annotations.pop(Annotation.REMEDIATION_IN_PROGRESS, None)
    return answer


@contextmanager
def _told(plane: ControlPlane, name: str, kind: str, reason: str) -> Iterator[None]:
    """Report that an object of a Machine cannot be created: in the ScalingUp condition, and for
    v1beta1 with the reason."""
    try:
        yield
    except KapyError as error:
        type_ = V1Beta1Type.MACHINES_CREATED
        plane.set_v1beta1(v1beta1.false(type_, reason, v1beta1.ERROR, str(error)))
        if not plane.template_problem:
            # Without the name, which may be another one the next time: the condition stays.
            message = str(error).replace(name, f"{plane.kcp.metadata.name}-…")
            plane.creation_problem = f"{kind} cannot be created: {message}"
        raise


def _infrastructure_kind(plane: ControlPlane) -> str:
    return plane.kcp.spec.machine_template.spec.infrastructure_ref.kind.removesuffix("Template")


async def new_infrastructure(
    tools: Tools, plane: ControlPlane, name: str, owner: OwnerReference | None = None
) -> Document:
    """The infrastructure machine of a slot. Raises as `infrastructure_template`."""
    kcp, cluster = plane.kcp, plane.cluster.metadata.name
    return clone_template(
        await infrastructure_template(tools, plane),
        name=name,
        namespace=kcp.metadata.namespace,
        cluster_name=cluster,
        owner=owner,
        labels=machine_labels(kcp, cluster),
        annotations=machine_annotations(kcp),
    )


async def _infrastructure(tools: Tools, plane: ControlPlane, name: str) -> Resource:
    kcp, cluster = plane.kcp, plane.cluster.metadata.name
    infrastructure = await new_infrastructure(tools, plane, name, owner_reference(kcp))
    resource = await tools.external.resource_of(infrastructure)
    metadata = belonging_metadata(kcp, cluster, resource, name)
    await tools.applied.create_with_metadata(resource, infrastructure, metadata)
    return resource


async def _bootstrap(tools: Tools, plane: ControlPlane, name: str, *, join: bool) -> None:
    kcp, cluster, resource = plane.kcp, plane.cluster.metadata.name, KubeadmConfig.RESOURCE
    config = new_kubeadm_config(kcp, cluster, name, join=join)
    metadata = belonging_metadata(kcp, cluster, resource, name)
    await tools.applied.create_with_metadata(resource, config, metadata)


async def _machine(
    tools: Tools, plane: ControlPlane, name: str, infrastructure: Resource
) -> Document:
    machine = new_machine(
        plane.kcp,
        plane.cluster.metadata.name,
        name,
        next_failure_domain(tools, plane),
        infrastructure=_reference(infrastructure, name),
        bootstrap=_reference(KubeadmConfig.RESOURCE, name),
    )
    return await tools.applied.create(Machine.RESOURCE, machine)


def _reference(resource: Resource, name: str) -> Reference:
    return Reference(kind=resource.kind, name=name, api_group=resource.group)


def next_failure_domain(tools: Tools, plane: ControlPlane) -> str:
    """Where the next Machine goes: the domain with the fewest that will stay, then with the
    fewest at all; "" when there are no domains for control planes."""
    staying = [one for one in plane.machines if not (plane.is_outdated(one) or one.deleting)]
    return pick_fewest(
        failure_domains(plane.cluster),
        [one.spec.failure_domain for one in plane.machines],
        [one.spec.failure_domain for one in staying],
        random=tools.runtime.random,
    )


def failure_domains(cluster: Cluster) -> list[str]:
    """The names of the failure domains that take control plane Machines."""
    return [one.name for one in cluster.status.failure_domains if one.control_plane]


def _free_name(tools: Tools, plane: ControlPlane) -> str:
    """A name that a retry computes again, and that nothing which still goes away has.

    The slot is told by the generation and the Machines that are there: both change with every
    step of a rollout or of scaling.
    """
    kcp, cluster = plane.kcp, plane.cluster.metadata.name
    remediated = kcp.metadata.annotations.get(Annotation.REMEDIATION_IN_PROGRESS, "")
    there = sorted(one.metadata.uid for one in plane.machines)
    for attempt in range(_ATTEMPTS):
        slot = (kcp.metadata.generation, remediated, *there, attempt)
        name = machine_name(kcp, cluster, slot)
        if not _is_taken(tools, Key(kcp.metadata.namespace, name), kcp.metadata.uid):
            break
    return name


def _is_taken(tools: Tools, key: Key, uid: str) -> bool:
    """Whether something of that name is there that is not from an earlier try of ours."""
    cache = tools.runtime.cache
    if cache.informer(Machine).raw(key) is not None:
        return True
    config = cache.informer(KubeadmConfig).raw(key)
    if config is None:
        # The boot data of an earlier Machine, not collected yet.
        return tools.remote.secrets.raw(key) is not None
    metadata = config["metadata"]
    owners = metadata.get("ownerReferences") or ()
    return "deletionTimestamp" in metadata or all(one["uid"] != uid for one in owners)


async def _take_back(tools: Tools, made: list[tuple[Resource, Key]]) -> None:
    """Nothing may be left over of a Machine that could not be made."""
    for resource, key in made:
        try:
            await tools.runtime.client.delete(resource, key)
        except NotFound:
            continue
