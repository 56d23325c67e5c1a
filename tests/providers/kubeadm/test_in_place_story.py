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
from tests.providers.kubeadm.hands import Hands, template

NO_ROOM = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}


def files(content: str) -> Document:
    return {"kubeadmConfigSpec": {"files": [{"path": "/etc/herd", "content": content}]}}


async def three(hands: Hands) -> set[str]:
    await hands.start(replicas=3, rollout=NO_ROOM)
    await until(hands, at(3))
    return await names(hands)


async def test_a_change_that_is_covered_leaves_all_machines_where_they_are(hands: Hands) -> None:
    """It cannot be decided at first: then nobody goes. Whoever ran init joins from now on."""
    before = await three(hands)
    await hands.plane.client.create(DevMachineTemplate.RESOURCE, template("large"))
    hands.updates.left, hands.updates.fails = [], "the extension is on holiday"
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate"}
    large = {"spec": {"infrastructureRef": {**reference, "name": "large"}}}
    await change(hands, {**files("meadow"), "machineTemplate": large})
    kcp = await until(
        hands,
        lambda control_plane: (
            "be updated in-place: the extension"
            in message_of(control_plane.status.conditions, "RollingOut")
        ),
    )
    assert "Rolling out 3 not up-to-date replicas" in message_of(
        kcp.status.conditions, "RollingOut"
    )
    hands.updates.fails = ""
    await until(hands, at(3))
    assert await names(hands) == before
    assert sorted(hands.updates.about) == sorted(before)
    for machine in await hands.machines():
        assert not is_updating_in_place(machine)
        config = await hands.plane.client.get(KubeadmConfig, machine.key)
        assert [file.path for file in config.spec.files] == ["/etc/herd"]
        assert config.spec.join_configuration.control_plane is not None
        joined = await hands.plane.client.get(KubeadmConfig.RESOURCE, machine.key)
        assert "initConfiguration" not in joined["spec"]
        dev_machine = await hands.plane.client.get(DevMachine, machine.key)
        annotations = dev_machine.metadata.annotations
        assert annotations[Annotation.CLONED_FROM_NAME] == "large"
        assert Annotation.UPDATE_IN_PROGRESS in annotations  # core takes it away
    events = (await hands.plane.client.list(EVENTS)).items
    begun = [event for event in events if event["reason"] == "SuccessfulStartInPlaceUpdate"]
    assert {document["involvedObject"]["name"] for document in begun} == before


async def test_an_unhealthy_or_surplus_machine_is_deleted_rather_than_updated(hands: Hands) -> None:
    await three(hands)
    ill, unwanted, healthy = [machine.key for machine in await hands.machines()]
    pod = Key("kube-system", f"kube-scheduler-{ill.name}")
    status = {"conditions": [{"type": "Ready", "status": "False"}]}
    await hands.plane.workload.patch(PODS, pod, {"status": status}, subresource="status")
    hands.updates.left = []
    await change(hands, files("meadow"))
    await until(hands, at(3))
    assert await names(hands) > {unwanted.name, healthy.name}
    assert {*hands.updates.about} == {unwanted.name, healthy.name}
    mark = {"metadata": {"annotations": {Annotation.DELETE_MACHINE: ""}}}
    await hands.plane.client.patch(Machine.RESOURCE, unwanted, mark)
    await change(hands, files("pasture"))
    await until(hands, at(3))
    remaining = await names(hands)
    assert not {ill.name, unwanted.name} & remaining
    assert healthy.name in remaining


async def test_a_machine_that_cannot_be_updated_in_place_is_replaced(hands: Hands) -> None:
    before = await three(hands)
    await change(hands, files("meadow"))
    await until(hands, at(3))
    assert not await names(hands) & before
    assert {*hands.updates.about} == before


async def test_with_room_for_one_more_two_of_three_are_updated(hands: Hands) -> None:
    before = await three(hands)
    hands.updates.left = []
    rollout = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    await change(hands, {**files("meadow"), "rollout": rollout})
    await until(hands, at(3))
    assert len(await names(hands) & before) == 2


async def test_a_machine_that_fails_during_its_update_is_replaced(hands: Hands) -> None:
    """All others wait for it, and for nobody else."""
    before = await three(hands)
    hands.updates.left, hands.updates.lasts = [], True
    await change(hands, files("meadow"))
    await until(hands, lambda _: hands.updates.about)
    (name,) = hands.updates.about
    await asyncio.sleep(300)
    assert hands.updates.about == [name]
    assert await names(hands) == before
    (updating,) = [item for item in await hands.machines() if is_updating_in_place(item)]
    assert updating.metadata.name == name
    assert Annotation.UPDATE_IN_PROGRESS in updating.metadata.annotations
    await hands.find_unhealthy(name)
    hands.updates.lasts = False
    await until(hands, at(3))
    assert await names(hands) & before == before - {name}
