"""A KubeadmControlPlane comes to a cluster whose control plane Machines stood for themselves."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from kapy.api.dev_machine import DevMachine
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import EVENTS, SECRETS
from kapy.providers.kubeadm.controlplane.adoption import CannotAdopt, adopt
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from tests.providers.kubeadm.awaiting import at, until
from tests.providers.kubeadm.building import control_plane, plane
from tests.providers.kubeadm.peer_controllers import PeerControllers

LONE = Key("default", "lone")
LABELS = {"cluster.x-k8s.io/cluster-name": "c1", "cluster.x-k8s.io/control-plane": ""}


async def lone_machine(
    peers: PeerControllers, *, version: str = "v1.34.0", owner: Document | None
) -> None:
    """A control plane Machine with what belongs to it, as a person makes them."""
    metadata: Document = {"name": LONE.name, "namespace": LONE.namespace, "labels": LABELS}
    config = {"clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P256"}}
    owners = [owner] if owner is not None else []
    spec = {
        "clusterName": "c1",
        "version": version,
        "bootstrap": {"configRef": _reference(KubeadmConfig)},
        "infrastructureRef": _reference(DevMachine),
    }
    for kind, document in (
        (KubeadmConfig, {"metadata": metadata, "spec": config}),
        (DevMachine, {"metadata": metadata, "spec": {"backend": {"inMemory": {}}}}),
        (Machine, {"metadata": {**metadata, "ownerReferences": owners}, "spec": spec}),
    ):
        resource = kind.RESOURCE
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **document}
        await peers.plane.client.create(resource, whole)


def _reference(kind: type[KubeadmConfig] | type[DevMachine]) -> Document:
    return {"apiGroup": kind.RESOURCE.group, "kind": kind.RESOURCE.kind, "name": LONE.name}


async def controllers_of_secrets(peers: PeerControllers) -> dict[str, str]:
    """The kind that controls each of the cluster's Secrets."""
    results = (await peers.plane.client.list(SECRETS, "default")).items
    return {
        document["metadata"]["name"]: owner["kind"]
        for document in results
        for owner in document["metadata"].get("ownerReferences") or ()
        if owner.get("controller")
    }


async def test_a_control_plane_adopts_machines_and_their_secrets(peers: PeerControllers) -> None:
    await peers.start_cluster()
    await lone_machine(peers, owner=None)
    await asyncio.sleep(5)
    assert set((await controllers_of_secrets(peers)).values()) == {"KubeadmConfig"}
    await peers.take_charge()
    kcp = await until(peers, lambda kcp: at(1)(kcp) or kcp.status.replicas == 2)
    machine = await peers.plane.client.get(Machine, LONE)
    (owner,) = [
        reference for reference in machine.metadata.owner_references if reference.controller
    ]
    assert (owner.kind, owner.uid) == ("KubeadmControlPlane", kcp.metadata.uid)
    assert "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup" in (
        machine.metadata.annotations
    )
    controllers = await controllers_of_secrets(peers)
    assert controllers.pop("lone") == "KubeadmConfig"  # the boot data stays where it belongs
    assert set(controllers.values()) == {"KubeadmControlPlane"}


async def test_a_version_too_far_away_is_not_taken_over(peers: PeerControllers) -> None:
    await peers.start_cluster()
    await lone_machine(peers, version="v1.32.0", owner=None)
    await peers.take_charge()
    await asyncio.sleep(5)
    machine = await peers.plane.client.get(Machine, LONE)
    assert machine.metadata.owner_references == []
    events = (await peers.plane.client.list(EVENTS, "default")).items
    assert {(event["reason"], event["message"]) for event in events} == {
        (
            "AdoptionFailed",
            'Could not adopt Machine default/lone: its version ("v1.32.0") is outside supported'
            ' +/- one minor version skew from KCP\'s ("v1.34.0")',
        )
    }
    assert [item.metadata.name for item in await peers.machines()] == ["lone"]


async def test_machines_of_other_owners_block_a_control_plane(peers: PeerControllers) -> None:
    other = {"apiVersion": "a/v1", "kind": "Other", "name": "o", "uid": "u", "controller": True}
    await peers.start_cluster()
    await lone_machine(peers, owner=other)
    await peers.take_charge()
    message = (
        "not all control plane machines are owned by this KubeadmControlPlane, refusing to operate"
        " in mixed management mode: lone"
    )

    def is_reported(kcp: KubeadmControlPlane) -> bool:
        return any(message in condition.message for condition in kcp.status.conditions)

    kcp = await until(peers, is_reported)
    assert kcp.status.replicas is None
    assert len(await peers.machines()) == 1


async def test_secrets_of_other_clusters_are_not_taken_over(peers: PeerControllers) -> None:
    """Whatever their owner references say."""
    await peers.start_cluster()
    await lone_machine(peers, owner=None)
    await asyncio.sleep(5)
    config = await peers.plane.client.get(KubeadmConfig, LONE)
    owner = {"apiVersion": "a/v1", "kind": "KubeadmConfig", "name": "lone"}
    foreign = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "other-ca",
            "namespace": "default",
            "labels": {"cluster.x-k8s.io/cluster-name": "other"},
            "ownerReferences": [{**owner, "uid": config.metadata.uid}],
        },
    }
    before = await peers.plane.client.create(SECRETS, foreign)
    await peers.take_charge()
    await until(peers, lambda kcp: at(1)(kcp) or kcp.status.replicas == 2)
    assert await peers.plane.client.get(SECRETS, Key("default", "other-ca")) == before


@pytest.mark.parametrize(
    "now",
    [
        None,
        control_plane(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["f"]),
        control_plane(uid="of-another-of-the-name"),
    ],
    ids=["gone", "deleting", "another"],
)
async def test_a_control_plane_that_was_just_deleted_adopts_nothing(
    now: KubeadmControlPlane | None,
) -> None:
    """Its Machines are orphans on purpose then, and the cache may not know."""

    async def get(*_: object) -> KubeadmControlPlane:
        if now is None:
            raise NotFound("gone")
        return now

    dependencies = SimpleNamespace(runtime=SimpleNamespace(client=SimpleNamespace(get=get)))
    with pytest.raises(CannotAdopt, match="has just been deleted"):
        await adopt(cast(Dependencies, dependencies), plane(), [])
