"""Creates a control plane Machine: infrastructure from its template, KubeadmConfig, Machine, in
this order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import NODES
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.desired import (
    desired_machines,
    machine_name,
    new_kubeadm_config,
)
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.sdk import (
    Result,
    v1beta1,
)
from kapy.sdk.contracts import Absent, Found, InfraMachineTemplate, Observed, Unreadable
from kapy.sdk.machine_control_plane import (
    NewMachine,
    Part,
    failure_domains,
    free_name,
    next_failure_domain,
)

_REASONS: Final[Mapping[Part, str]] = {
    "infrastructure": V1Beta1Reason.INFRASTRUCTURE_TEMPLATE_CLONING_FAILED,
    "config": V1Beta1Reason.BOOTSTRAP_TEMPLATE_CLONING_FAILED,
    "machine": V1Beta1Reason.MACHINE_GENERATION_FAILED,
}


async def create_machine(
    dependencies: Dependencies, plane: ControlPlane, *, join: bool
) -> Document:
    """Create the next Machine, in the failure domain with the fewest Machines."""
    kcp, cluster = plane.kcp, plane.cluster.metadata.name
    name = await _free_name(dependencies, plane)
    annotations = {}
    if remediated := kcp.metadata.annotations.get(Annotation.REMEDIATION_IN_PROGRESS):
        annotations[Annotation.REMEDIATION_FOR] = remediated
    new = NewMachine(
        name=name,
        version=kcp.spec.version,
        template=partial(_infrastructure_template, dependencies, plane),
        config=new_kubeadm_config(kcp, cluster, name, join=join),
        failure_domain=partial(_failure_domain, dependencies, plane),
        annotations=annotations,
        report=partial(_report_errors, plane, name),
    )
    answer = await dependencies.factory.create(desired_machines(kcp, cluster), new)
    # The Machine that replaces a remediated one exists.
    kcp.metadata.annotations.pop(Annotation.REMEDIATION_IN_PROGRESS, None)
    return answer


@contextmanager
def _report_errors(plane: ControlPlane, name: str, part: Part) -> Iterator[None]:
    """Report that an object of a Machine cannot be created: in the ScalingUp condition, and for
    v1beta1 with the reason."""
    try:
        yield
    except KapyError as error:
        reason, kind = _REASONS[part], _kind_of(plane, part)
        type_ = V1Beta1Type.MACHINES_CREATED
        plane.set_v1beta1(v1beta1.false(type_, reason, v1beta1.ERROR, str(error)))
        if not plane.template_problem:
            # Without the name, which may change with each attempt: the condition stays the same.
            message = str(error).replace(name, f"{plane.kcp.metadata.name}-…")
            plane.creation_problem = f"{kind} cannot be created: {message}"
        raise


def _kind_of(plane: ControlPlane, part: Part) -> str:
    template = plane.kcp.spec.machine_template.spec.infrastructure_ref.kind
    kinds: dict[Part, str] = {
        "infrastructure": template.removesuffix("Template"),
        "config": KubeadmConfig.RESOURCE.kind,
        "machine": Machine.RESOURCE.kind,
    }
    return kinds[part]


async def new_infrastructure(
    dependencies: Dependencies, plane: ControlPlane, name: str
) -> Document:
    """Return the infrastructure of a Machine as it would be created now. Raises as
    `_infrastructure_template`.
    """
    desired = desired_machines(plane.kcp, plane.cluster.metadata.name)
    return desired.infrastructure(await _infrastructure_template(dependencies, plane), name)


def _failure_domain(dependencies: Dependencies, plane: ControlPlane) -> str:
    outdated = [machine for machine in plane.machines if plane.is_outdated(machine)]
    domains = failure_domains(plane.cluster)
    return next_failure_domain(
        domains, plane.machines, outdated, random=dependencies.runtime.random
    )


async def _free_name(dependencies: Dependencies, plane: ControlPlane) -> str:
    """Return a name that depends on the generation and the existing Machines: both change with
    every step of a rollout or of scaling.
    """
    kcp, cluster = plane.kcp, plane.cluster.metadata.name
    remediated = kcp.metadata.annotations.get(Annotation.REMEDIATION_IN_PROGRESS, "")
    there = sorted(machine.metadata.uid for machine in plane.machines)

    def name_of(attempt: int) -> str:
        slot = (kcp.metadata.generation, remediated, *there, attempt)
        return machine_name(kcp, cluster, slot)

    async def is_taken(name: str) -> bool:
        if _has_node(dependencies, plane, name):
            _report_node(dependencies, plane, name)
            return True
        return _is_taken(dependencies, Key(kcp.metadata.namespace, name), kcp.metadata.uid)

    return await free_name(name_of, is_taken)


def _has_node(dependencies: Dependencies, plane: ControlPlane, name: str) -> bool:
    if plane.nodes is None:
        return False  # there is no connection
    nodes = dependencies.remote.informer(plane.cluster.key, NODES)
    return nodes.raw(Key("", name)) is not None


def _report_node(dependencies: Dependencies, plane: ControlPlane, name: str) -> None:
    """Report a Node whose Machine is gone, as after the restore of an older backup. Its machine
    still runs, but its etcd member is removed and does not join again: a Machine of this name would
    find that machine and wait for the member for ever."""
    dependencies.recorder.warning(
        plane.kcp,
        "NodeWithoutMachine",
        f"Control plane Node {name} has no Machine. Delete the Node, and its machine in the"
        " infrastructure, if the Machine was lost",
    )


def _is_taken(dependencies: Dependencies, key: Key, uid: str) -> bool:
    """Return whether an object of that name exists that is not from an earlier attempt."""
    cache = dependencies.runtime.cache
    if cache.informer(Machine).raw(key) is not None:
        return True
    config = cache.informer(KubeadmConfig).raw(key)
    if config is None:
        # The boot data of an earlier Machine, not garbage-collected yet.
        return dependencies.remote.secrets.raw(key) is not None
    metadata = config["metadata"]
    owners = metadata.get("ownerReferences") or ()
    return "deletionTimestamp" in metadata or all(owner["uid"] != uid for owner in owners)


class _TemplateAbsent(KapyError):
    """The infrastructure template does not exist."""


async def _infrastructure_template(dependencies: Dependencies, plane: ControlPlane) -> Document:
    """Return the template (a shared document). Raises _TemplateAbsent, or the error of the read."""
    reference = plane.kcp.spec.machine_template.spec.infrastructure_ref
    namespace = plane.kcp.metadata.namespace
    return _document(
        plane, await dependencies.external.get(reference, namespace, InfraMachineTemplate)
    )


async def own_template(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Make the Cluster the owner of the template, so that it is moved and deleted with it."""
    reference = plane.kcp.spec.machine_template.spec.infrastructure_ref
    namespace = plane.kcp.metadata.namespace
    _document(plane, await dependencies.factory.template(reference, namespace, plane.cluster))
    return None


def _document(plane: ControlPlane, value: Observed[InfraMachineTemplate]) -> Document:
    reference = plane.kcp.spec.machine_template.spec.infrastructure_ref
    match value:
        case Found(view):
            return view.document
        case Absent():
            plane.template_problem = f"{reference.kind} does not exist"
            raise _TemplateAbsent(
                f'{reference.kind}.{reference.api_group} "{reference.name}" not found'
            )
        case Unreadable(error):
            plane.template_problem = f"{reference.kind} {reference.name} cannot be read: {error}"
            raise error
