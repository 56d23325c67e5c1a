"""Adopts control plane Machines without a controller.

They were created before the KubeadmControlPlane; their Secrets, which the bootstrap provider
created for the first of them, are adopted, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.names import SECRETS, Resource
from kapy.kube.version import parse_tolerant
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.scope import ControlPlane


class CannotAdopt(KapyError):
    """A Machine cannot be adopted."""


def is_adoptable(machine: Document) -> bool:
    """Return whether a control plane Machine has no controller."""
    owners = machine["metadata"].get("ownerReferences") or ()
    return not any(owner.get("controller") for owner in owners)


async def adopt(
    dependencies: Dependencies, plane: ControlPlane, machines: Sequence[Document]
) -> None:
    """Become the controller of Machines, so that their changes trigger reconciles. Raises
    CannotAdopt.

    None is adopted if one of them must not be. A version too far from ours is reported as an event,
    since only a user can change it.
    """
    await _ensure_not_deleted(dependencies, plane.kcp)
    for machine in machines:
        _check_bootstrap(machine)
    if any(_is_too_far(dependencies, plane.kcp, machine) for machine in machines):
        return
    for machine in machines:
        await _adopt_secrets(dependencies, plane, machine)
        await _set_controller(dependencies, plane.kcp, Machine.RESOURCE, machine, without="")


async def _ensure_not_deleted(dependencies: Dependencies, kcp: KubeadmControlPlane) -> None:
    """Check on the server that the control plane still exists; the cache may be behind.

    A deletion that orphans Machines must not be undone.
    """
    try:
        now = await dependencies.runtime.client.get(KubeadmControlPlane, kcp.key)
    except NotFound:
        now = None
    if now is None or now.deleting or now.metadata.uid != kcp.metadata.uid:
        raise CannotAdopt(f"KubeadmControlPlane {kcp.key} has just been deleted")


def _check_bootstrap(machine: Document) -> None:
    reference: dict[str, Any] = machine["spec"]["bootstrap"].get("configRef") or {}
    if reference.get("kind") != KubeadmConfig.RESOURCE.kind:
        raise CannotAdopt(
            f"unable to adopt Machine {Key.of(machine)}: spec.bootstrap.configRef must name a"
            f" KubeadmConfig, it names {reference.get('kind') or 'nothing'}"
        )


def _is_too_far(dependencies: Dependencies, kcp: KubeadmControlPlane, machine: Document) -> bool:
    text = machine["spec"].get("version")
    if not text:
        return False  # its creator is responsible for the version
    ours, theirs = parse_tolerant(kcp.spec.version), parse_tolerant(text)
    if ours.major == theirs.major and abs(ours.minor - theirs.minor) <= 1:
        return False
    dependencies.recorder.warning(
        kcp,
        "AdoptionFailed",
        f'Could not adopt Machine {Key.of(machine)}: its version ("{text}") is outside supported'
        f' +/- one minor version skew from KCP\'s ("{kcp.spec.version}")',
    )
    return True


async def _adopt_secrets(
    dependencies: Dependencies, plane: ControlPlane, machine: Document
) -> None:
    """The cluster's Secrets that belong to the Machine's KubeadmConfig, except its boot data."""
    key = Key(plane.kcp.metadata.namespace, machine["spec"]["bootstrap"]["configRef"]["name"])
    config = dependencies.runtime.cache.informer(KubeadmConfig).get(key)
    if config is None:
        raise CannotAdopt(
            f"unable to adopt Machine {Key.of(machine)}: KubeadmConfig {key} does not exist"
        )
    for secret in dependencies.remote.secrets.list(key.namespace):
        metadata = secret["metadata"]
        owners = {reference["uid"] for reference in metadata.get("ownerReferences") or ()}
        is_clusters = metadata["labels"].get(Label.CLUSTER_NAME) == plane.cluster.metadata.name
        if (
            is_clusters
            and config.metadata.uid in owners
            and metadata["name"] != config.status.data_secret_name
        ):
            await _set_controller(
                dependencies, plane.kcp, SECRETS, secret, without=config.metadata.uid
            )


async def _set_controller(
    dependencies: Dependencies,
    kcp: KubeadmControlPlane,
    resource: Resource,
    document: Document,
    *,
    without: str,
) -> None:
    """Make the control plane the controller of an object; `without` is the UID of the owner to
    remove."""
    wanted = encode(owner_reference(kcp, controller=True, block_deletion=True))
    there: list[Document] = document["metadata"].get("ownerReferences") or []
    others = [item for item in there if item["uid"] not in (kcp.metadata.uid, without)]
    patch = {
        "metadata": {
            "ownerReferences": [*others, wanted],
            "resourceVersion": document["metadata"]["resourceVersion"],
        }
    }
    await dependencies.runtime.client.patch(resource, Key.of(document), patch)
