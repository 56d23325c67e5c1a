"""Deletion of a control plane: workers first, then its Machines, then the object."""

from __future__ import annotations

import asyncio

from kapy.api.dev_machine import DevMachine
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from tests.providers.kubeadm.awaiting import at, status_of, until
from tests.providers.kubeadm.hands import CONTROL_PLANE, Hands


async def test_deletion_waits_for_the_workers(hands: Hands) -> None:
    await hands.start(replicas=3)
    await until(hands, at(3))
    await hands.plane.create(_worker(), _pool())
    await hands.plane.client.delete(KubeadmControlPlane.RESOURCE, CONTROL_PLANE)
    kcp = await until(hands, lambda kcp: status_of(kcp, "Deleting") == "True")
    (condition,) = [item for item in kcp.status.conditions if item.type == "Deleting"]
    assert (condition.reason, condition.message) == (
        "WaitingForWorkersDeletion",
        "KubeadmControlPlane deletion blocked because following objects still exist:\n"
        "* MachinePools: pool\n"
        "* Machines: worker",
    )
    assert len(await hands.machines()) == 4
    await hands.plane.client.delete(MachinePool.RESOURCE, Key("default", "pool"))
    await hands.plane.client.delete(Machine.RESOURCE, Key("default", "worker"))
    calls = len(hands.etcd.calls)
    for _ in range(100):
        await asyncio.sleep(0.1)
        try:
            await hands.control_plane()
        except NotFound:
            break
    assert await hands.machines() == []
    assert not any("remove" in call for call in hands.etcd.calls[calls:])


async def test_a_control_plane_stays_until_its_last_machine_is_deleted(hands: Hands) -> None:
    await hands.start()
    await until(hands, at(1))
    hands.hold_old = True
    await hands.plane.client.delete(KubeadmControlPlane, CONTROL_PLANE)
    await asyncio.sleep(30)
    assert [machine.deleting for machine in await hands.machines()] == [True]
    assert (await hands.control_plane()).deleting
    hands.hold_old = False
    await asyncio.sleep(30)
    assert (await hands.plane.client.list(KubeadmControlPlane, "default")).items == []


def _worker() -> Document:
    return {
        "apiVersion": Machine.RESOURCE.api_version,
        "kind": "Machine",
        "metadata": {
            "name": "worker",
            "namespace": "default",
            "labels": {"cluster.x-k8s.io/cluster-name": "c1"},
        },
        "spec": {
            "clusterName": "c1",
            "bootstrap": {"dataSecretName": "any"},
            "infrastructureRef": {
                "apiGroup": DevMachine.RESOURCE.group,
                "kind": "DevMachine",
                "name": "worker",
            },
        },
    }


def _pool() -> Document:
    worker = _worker()
    return {
        "apiVersion": MachinePool.RESOURCE.api_version,
        "kind": "MachinePool",
        "metadata": {**worker["metadata"], "name": "pool"},
        "spec": {"clusterName": "c1", "template": {"spec": worker["spec"]}},
    }
