"""etcd's members and the Machines: who is removed from etcd, when, and who is not."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.kube import Document, Key
from kapy.kube.http import Transport
from kapy.providers.kubeadm.controlplane import etcd_access
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.etcd import Member
from kapy.providers.kubeadm.controlplane.etcd_access import LastMember, remove_member
from kapy.remote.cluster_cache import Kubeconfig
from tests.providers.kubeadm.awaiting import at, change, names, until
from tests.providers.kubeadm.building import plane
from tests.providers.kubeadm.fake_etcd import FakeEtcd
from tests.providers.kubeadm.peer_controllers import CONTROL_PLANE, PeerControllers

REMOVE = "/v3/cluster/member/remove"
OTHER_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/other"
DELETE = {"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": ""}}}


async def wake(peers: PeerControllers) -> None:
    """Have the control plane looked at: etcd tells nobody of its changes."""
    now = peers.plane.clock().isoformat()
    patch = {"metadata": {"annotations": {"looked-at": now}}}
    await peers.plane.client.patch(KubeadmControlPlane.RESOURCE, CONTROL_PLANE, patch)
    await asyncio.sleep(5)


async def one_is_deleted(peers: PeerControllers, name: str) -> None:
    """The control plane shrinks by that Machine, whose Node is being drained then."""
    peers.hold_old = True
    await peers.plane.client.patch(Machine.RESOURCE, Key("default", name), DELETE)
    await change(peers, {"replicas": 1})
    await asyncio.sleep(20)


async def test_the_member_of_a_machine_that_comes_up_stays(peers: PeerControllers) -> None:
    """It is there before the Machine knows its Node."""
    await peers.start()
    await until(peers, at(1))
    (first,) = await names(peers)
    peers.hold_new = True
    await change(peers, {"replicas": 3})
    await until(peers, lambda kcp: kcp.status.replicas == 2)
    (starting,) = await names(peers) - {first}
    peers.etcd.join(starting)
    await wake(peers)
    assert set(peers.etcd.members) == {first, starting}

    peers.hold_new = False
    await until(peers, at(3))
    assert set(peers.etcd.members) == await names(peers)


async def test_a_member_without_a_machine_is_removed(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    peers.etcd.join("nobody")
    await wake(peers)
    assert set(peers.etcd.members) == await names(peers)
    await until(peers, at(3))


async def test_a_member_is_not_removed_when_the_quorum_could_be_lost(
    peers: PeerControllers,
) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    sick = sorted(await names(peers))[:2]
    numbers = [peers.etcd.members[name]["ID"] for name in sick]
    peers.etcd.alarms = [{"memberID": number, "alarm": "NOSPACE"} for number in numbers]
    peers.etcd.join("nobody")
    await wake(peers)
    await wake(peers)
    assert "nobody" in peers.etcd.members
    assert REMOVE not in peers.etcd.calls

    peers.etcd.alarms = []
    await wake(peers)
    assert "nobody" not in peers.etcd.members


async def test_another_member_leads_before_the_machine_is_drained(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    leader = peers.etcd.leader
    await one_is_deleted(peers, leader)
    assert [machine.metadata.name for machine in await peers.machines() if machine.deleting] == [
        leader
    ]
    assert peers.etcd.leader != leader
    assert leader in peers.etcd.members  # until its Node is drained
    assert len(await peers.machines()) == 3  # and nothing else is done meanwhile

    peers.hold_old = False
    await until(peers, at(1))
    assert set(peers.etcd.members) == await names(peers)


async def test_hooks_of_others_precede_the_removal_of_the_member(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    going = sorted(await names(peers))[0]
    key = Key("default", going)
    hook: Document = {"metadata": {"annotations": {OTHER_HOOK: ""}}}
    await peers.plane.client.patch(Machine.RESOURCE, key, hook)
    await one_is_deleted(peers, going)
    peers.hold_old = False
    await asyncio.sleep(10)
    assert going in peers.etcd.members
    assert going in await names(peers)

    hook = {"metadata": {"annotations": {OTHER_HOOK: None}}}
    await peers.plane.client.patch(Machine.RESOURCE, key, hook)
    await until(peers, at(1))


async def test_machines_that_go_anyway_are_not_rolled_out_as_well(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    peers.hold_old = True
    await peers.plane.client.delete(Machine, (await peers.machines())[0].key)
    await change(peers, {"version": "v1.35.0"})
    await asyncio.sleep(10)
    results = [(machine.deleting, machine.spec.version) for machine in await peers.machines()]
    assert sorted(results) == [(False, "v1.34.0"), (False, "v1.34.0"), (True, "v1.34.0")]
    peers.hold_old = False
    await until(peers, at(3, "v1.35.0"))


@pytest.fixture
def etcd(monkeypatch: pytest.MonkeyPatch) -> FakeEtcd:
    """An etcd that is reached without a kubeconfig."""

    async def access(*_: object) -> None:
        return None

    monkeypatch.setattr(etcd_access, "cluster_access", access)
    return FakeEtcd()


async def test_the_last_member_is_never_removed(etcd: FakeEtcd) -> None:
    etcd.join("b")
    last = Member(int(etcd.members["b"]["ID"]), "a")
    dependencies = cast(Dependencies, SimpleNamespace(etcd_dial=etcd.dial))
    with pytest.raises(LastMember, match="cannot remove the last etcd member"):
        await remove_member(dependencies, plane().cluster.key, last, ["b"])
    assert set(etcd.members) == {"b"}


async def test_a_member_is_not_asked_to_remove_itself(etcd: FakeEtcd) -> None:
    request = list[str]()

    def dial(cluster: Key, access: Kubeconfig, node: str) -> Transport:
        request.append(node)
        return etcd.dial(cluster, access, node)

    for name in ("a", "b"):
        etcd.join(name)
    going = Member(int(etcd.members["a"]["ID"]), "a")
    dependencies = cast(Dependencies, SimpleNamespace(etcd_dial=dial))
    await remove_member(dependencies, plane().cluster.key, going, ["a", "b"])
    assert request == ["b"]
    assert set(etcd.members) == {"b"}
