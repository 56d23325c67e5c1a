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
from tests.providers.kubeadm.hands import CONTROL_PLANE, Hands

REMOVE = "/v3/cluster/member/remove"
OTHER_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/other"
DELETE = {"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": ""}}}


async def wake(hands: Hands) -> None:
    """Have the control plane looked at: etcd tells nobody of its changes."""
    now = hands.plane.clock().isoformat()
    patch = {"metadata": {"annotations": {"looked-at": now}}}
    await hands.plane.client.patch(KubeadmControlPlane.RESOURCE, CONTROL_PLANE, patch)
    await asyncio.sleep(5)


async def one_is_deleted(hands: Hands, name: str) -> None:
    """The control plane shrinks by that Machine, whose Node is being drained then."""
    hands.hold_old = True
    await hands.plane.client.patch(Machine.RESOURCE, Key("default", name), DELETE)
    await change(hands, {"replicas": 1})
    await asyncio.sleep(20)


async def test_the_member_of_a_machine_that_comes_up_stays(hands: Hands) -> None:
    """It is there before the Machine knows its Node."""
    await hands.start()
    await until(hands, at(1))
    (first,) = await names(hands)
    hands.hold_new = True
    await change(hands, {"replicas": 3})
    await until(hands, lambda kcp: kcp.status.replicas == 2)
    (starting,) = await names(hands) - {first}
    hands.etcd.join(starting)
    await wake(hands)
    assert set(hands.etcd.members) == {first, starting}

    hands.hold_new = False
    await until(hands, at(3))
    assert set(hands.etcd.members) == await names(hands)


async def test_a_member_without_a_machine_is_removed(hands: Hands) -> None:
    await hands.start(replicas=3)
    await until(hands, at(3))
    hands.etcd.join("nobody")
    await wake(hands)
    assert set(hands.etcd.members) == await names(hands)
    await until(hands, at(3))


async def test_a_member_is_not_removed_when_the_quorum_could_be_lost(hands: Hands) -> None:
    await hands.start(replicas=3)
    await until(hands, at(3))
    sick = sorted(await names(hands))[:2]
    numbers = [hands.etcd.members[name]["ID"] for name in sick]
    hands.etcd.alarms = [{"memberID": number, "alarm": "NOSPACE"} for number in numbers]
    hands.etcd.join("nobody")
    await wake(hands)
    await wake(hands)
    assert "nobody" in hands.etcd.members
    assert REMOVE not in hands.etcd.calls

    hands.etcd.alarms = []
    await wake(hands)
    assert "nobody" not in hands.etcd.members


async def test_another_member_leads_before_the_machine_is_drained(hands: Hands) -> None:
    await hands.start(replicas=3)
    await until(hands, at(3))
    leader = hands.etcd.leader
    await one_is_deleted(hands, leader)
    assert [machine.metadata.name for machine in await hands.machines() if machine.deleting] == [
        leader
    ]
    assert hands.etcd.leader != leader
    assert leader in hands.etcd.members  # until its Node is drained
    assert len(await hands.machines()) == 3  # and nothing else is done meanwhile

    hands.hold_old = False
    await until(hands, at(1))
    assert set(hands.etcd.members) == await names(hands)


async def test_hooks_of_others_precede_the_removal_of_the_member(hands: Hands) -> None:
    await hands.start(replicas=3)
    await until(hands, at(3))
    going = sorted(await names(hands))[0]
    key = Key("default", going)
    hook: Document = {"metadata": {"annotations": {OTHER_HOOK: ""}}}
    await hands.plane.client.patch(Machine.RESOURCE, key, hook)
    await one_is_deleted(hands, going)
    hands.hold_old = False
    await asyncio.sleep(10)
    assert going in hands.etcd.members
    assert going in await names(hands)

    hook = {"metadata": {"annotations": {OTHER_HOOK: None}}}
    await hands.plane.client.patch(Machine.RESOURCE, key, hook)
    await until(hands, at(1))


async def test_machines_that_go_anyway_are_not_rolled_out_as_well(hands: Hands) -> None:
    await hands.start(replicas=3)
    await until(hands, at(3))
    hands.hold_old = True
    await hands.plane.client.delete(Machine, (await hands.machines())[0].key)
    await change(hands, {"version": "v1.35.0"})
    await asyncio.sleep(10)
    results = [(machine.deleting, machine.spec.version) for machine in await hands.machines()]
    assert sorted(results) == [(False, "v1.34.0"), (False, "v1.34.0"), (True, "v1.34.0")]
    hands.hold_old = False
    await until(hands, at(3, "v1.35.0"))


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
        await remove_member(dependencies, plane(), last, ["b"])
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
    await remove_member(dependencies, plane(), going, ["a", "b"])
    assert request == ["b"]
    assert set(etcd.members) == {"b"}
