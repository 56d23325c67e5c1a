"""Control plane Machines that are updated in place, and those that are not."""

from __future__ import annotations

import asyncio

from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.machines import is_updating_in_place
from kapy.api.names import Annotation
from kapy.conditions import message_of
from kapy.kube import Document, Key
from kapy.kube.names import EVENTS, PODS
from tests.providers.kubeadm.awaiting import at, change, names, until
from tests.providers.kubeadm.peer_controllers import PeerControllers, template

NO_ROOM = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}


def files(content: str) -> Document:
    return {"kubeadmConfigSpec": {"files": [{"path": "/etc/herd", "content": content}]}}


async def three(peers: PeerControllers) -> set[str]:
    await peers.start(replicas=3, rollout=NO_ROOM)
    await until(peers, at(3))
    return await names(peers)


async def test_a_change_that_is_covered_leaves_all_machines_where_they_are(
    peers: PeerControllers,
) -> None:
    """It cannot be decided at first: then nobody goes. Whoever ran init joins from now on."""
    before = await three(peers)
    await peers.plane.client.create(DevMachineTemplate.RESOURCE, template("large"))
    peers.updates.left, peers.updates.fails = [], "the extension is on holiday"
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate"}
    large = {"spec": {"infrastructureRef": {**reference, "name": "large"}}}
    await change(peers, {**files("meadow"), "machineTemplate": large})
    kcp = await until(
        peers,
        lambda control_plane: (
            "be updated in-place: the extension"
            in message_of(control_plane.status.conditions, "RollingOut")
        ),
    )
    assert "Rolling out 3 not up-to-date replicas" in message_of(
        kcp.status.conditions, "RollingOut"
    )
    peers.updates.fails = ""
    await until(peers, at(3))
    assert await names(peers) == before
    assert sorted(peers.updates.about) == sorted(before)
    for machine in await peers.machines():
        assert not is_updating_in_place(machine)
        config = await peers.plane.client.get(KubeadmConfig, machine.key)
        assert [file.path for file in config.spec.files] == ["/etc/herd"]
        assert config.spec.join_configuration.control_plane is not None
        joined = await peers.plane.client.get(KubeadmConfig.RESOURCE, machine.key)
        assert "initConfiguration" not in joined["spec"]
        dev_machine = await peers.plane.client.get(DevMachine, machine.key)
        annotations = dev_machine.metadata.annotations
        assert annotations[Annotation.CLONED_FROM_NAME] == "large"
        assert Annotation.UPDATE_IN_PROGRESS in annotations  # core takes it away
    events = (await peers.plane.client.list(EVENTS)).items
    begun = [event for event in events if event["reason"] == "SuccessfulStartInPlaceUpdate"]
    assert {document["involvedObject"]["name"] for document in begun} == before


async def test_an_unhealthy_or_surplus_machine_is_deleted_rather_than_updated(
    peers: PeerControllers,
) -> None:
    await three(peers)
    ill, unwanted, healthy = [machine.key for machine in await peers.machines()]
    pod = Key("kube-system", f"kube-scheduler-{ill.name}")
    status = {"conditions": [{"type": "Ready", "status": "False"}]}
    await peers.plane.workload.patch(PODS, pod, {"status": status}, subresource="status")
    peers.updates.left = []
    await change(peers, files("meadow"))
    await until(peers, at(3))
    assert await names(peers) > {unwanted.name, healthy.name}
    assert {*peers.updates.about} == {unwanted.name, healthy.name}
    mark = {"metadata": {"annotations": {Annotation.DELETE_MACHINE: ""}}}
    await peers.plane.client.patch(Machine.RESOURCE, unwanted, mark)
    await change(peers, files("pasture"))
    await until(peers, at(3))
    remaining = await names(peers)
    assert not {ill.name, unwanted.name} & remaining
    assert healthy.name in remaining


async def test_a_machine_that_cannot_be_updated_in_place_is_replaced(
    peers: PeerControllers,
) -> None:
    before = await three(peers)
    await change(peers, files("meadow"))
    await until(peers, at(3))
    assert not await names(peers) & before
    assert {*peers.updates.about} == before


async def test_with_room_for_one_more_two_of_three_are_updated(peers: PeerControllers) -> None:
    before = await three(peers)
    peers.updates.left = []
    rollout = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    await change(peers, {**files("meadow"), "rollout": rollout})
    await until(peers, at(3))
    assert len(await names(peers) & before) == 2


async def test_a_machine_that_fails_during_its_update_is_replaced(peers: PeerControllers) -> None:
    """All others wait for it, and for nobody else."""
    before = await three(peers)
    peers.updates.left, peers.updates.lasts = [], True
    await change(peers, files("meadow"))
    await until(peers, lambda _: peers.updates.about)
    (name,) = peers.updates.about
    await asyncio.sleep(300)
    assert peers.updates.about == [name]
    assert await names(peers) == before
    (updating,) = [item for item in await peers.machines() if is_updating_in_place(item)]
    assert updating.metadata.name == name
    assert Annotation.UPDATE_IN_PROGRESS in updating.metadata.annotations
    await peers.find_unhealthy(name)
    peers.updates.lasts = False
    await until(peers, at(3))
    assert await names(peers) & before == before - {name}
