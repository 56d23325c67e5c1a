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
from tests.providers.kubeadm.peer_controllers import CONTROL_PLANE, PeerControllers


async def test_deletion_waits_for_the_workers(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    await peers.plane.create(_worker(), _pool())
    await peers.plane.client.delete(KubeadmControlPlane.RESOURCE, CONTROL_PLANE)
    kcp = await until(peers, lambda kcp: status_of(kcp, "Deleting") == "True")
    (condition,) = [item for item in kcp.status.conditions if item.type == "Deleting"]
    assert (condition.reason, condition.message) == (
        "WaitingForWorkersDeletion",
        "KubeadmControlPlane deletion blocked because following objects still exist:\n"
        "* MachinePools: pool\n"
        "* Machines: worker",
    )
    assert len(await peers.machines()) == 4
    await peers.plane.client.delete(MachinePool.RESOURCE, Key("default", "pool"))
    await peers.plane.client.delete(Machine.RESOURCE, Key("default", "worker"))
    calls = len(peers.etcd.calls)
    for _ in range(100):
        await asyncio.sleep(0.1)
        try:
            await peers.control_plane()
        except NotFound:
            break
    assert await peers.machines() == []
    assert not any("remove" in call for call in peers.etcd.calls[calls:])


async def test_a_control_plane_stays_until_its_last_machine_is_deleted(
    peers: PeerControllers,
) -> None:
    await peers.start()
    await until(peers, at(1))
    peers.hold_old = True
    await peers.plane.client.delete(KubeadmControlPlane, CONTROL_PLANE)
    await asyncio.sleep(30)
    assert [machine.deleting for machine in await peers.machines()] == [True]
    assert (await peers.control_plane()).deleting
    peers.hold_old = False
    await asyncio.sleep(30)
    assert (await peers.plane.client.list(KubeadmControlPlane, "default")).items == []


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
