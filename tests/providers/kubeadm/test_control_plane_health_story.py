"""The health of control plane members: components, etcd, and expiry of certificates."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import stamp
from kapy.kube import Key
from kapy.kube.names import PODS
from tests.providers.kubeadm.awaiting import at, names, replaced, status_of, until
from tests.providers.kubeadm.peer_controllers import EXPIRY, PeerControllers

ROLLOUT = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}


async def test_a_broken_component_is_reported(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    (machine,) = await peers.machines()
    name = machine.metadata.name
    pod = Key("kube-system", f"kube-scheduler-{name}")
    waiting = {"name": "kube-scheduler", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    crashed = {**waiting, "lastState": {"terminated": {"exitCode": 1}}}
    status = {
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [crashed],
    }
    await peers.plane.workload.patch(PODS, pod, {"status": status}, subresource="status")
    kcp = await until(peers, lambda kcp: status_of(kcp, "ControlPlaneComponentsHealthy") == "False")
    (message,) = [
        condition.message
        for condition in kcp.status.conditions
        if condition.type == "ControlPlaneComponentsHealthy"
    ]
    assert message == f"* Machine {name}:\n  * SchedulerPodHealthy: CrashLoopBackOff"
    (machine,) = await peers.machines()
    (reason,) = [
        condition.reason
        for condition in machine.status.conditions
        if condition.type == "SchedulerPodHealthy"
    ]
    assert reason == "Failed"


async def test_an_etcd_that_cannot_be_reached_is_unknown(peers: PeerControllers) -> None:
    peers.etcd.down = True
    await peers.start()
    kcp = await until(
        peers,
        lambda kcp: (
            status_of(kcp, "EtcdClusterHealthy") == "Unknown"
            and kcp.status.initialization.control_plane_initialized
            and kcp.status.ready_replicas
        ),
    )
    (message,) = [
        condition.message
        for condition in kcp.status.conditions
        if condition.type == "EtcdClusterHealthy"
    ]
    assert "Failed to connect to etcd: no etcd answers on" in message
    assert status_of(kcp, "ControlPlaneComponentsHealthy") == "True"


async def test_the_expiry_of_each_api_server_certificate_is_recorded_once(
    peers: PeerControllers,
) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    await asyncio.sleep(5)
    configs = (await peers.plane.client.list(KubeadmConfig, "default")).items
    noted = {config.metadata.annotations.get(Annotation.CERTIFICATES_EXPIRY) for config in configs}
    assert noted == {stamp(EXPIRY)}
    assert sorted(peers.asked) == sorted(await names(peers))


async def test_machines_are_replaced_before_their_certificates_end(peers: PeerControllers) -> None:
    await peers.start(rollout={**ROLLOUT, "before": {"certificatesExpiryDays": 10}})
    await until(peers, at(1))
    (old,) = await peers.machines()
    end = peers.plane.clock() + timedelta(days=10, seconds=30)
    await peers.report(old.key, certificatesExpiryDate=stamp(end))
    await replaced(peers, old.metadata.name, 1)


async def test_a_recovering_etcd_is_noticed_without_an_event(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    (name,) = await names(peers)
    number = peers.etcd.members[name]["ID"]
    peers.etcd.alarms = [{"memberID": number, "alarm": "NOSPACE"}]
    pod = Key("kube-system", f"etcd-{name}")
    touched = {"status": {"containerStatuses": [{"name": "etcd", "restartCount": 1}]}}
    await peers.plane.workload.patch(PODS, pod, touched, subresource="status")
    await until(peers, lambda kcp: status_of(kcp, "EtcdClusterHealthy") == "False")
    peers.etcd.alarms = []
    await until(peers, lambda kcp: status_of(kcp, "EtcdClusterHealthy") == "True")


async def test_an_unreported_failure_of_etcd_is_noticed_within_ten_minutes(
    peers: PeerControllers,
) -> None:
    await peers.start()
    await until(peers, at(1))
    peers.pace = 300
    await asyncio.sleep(5)
    (number,) = [member["ID"] for member in peers.etcd.members.values()]
    requests, calls = len(peers.plane.counted.requests), len(peers.etcd.calls)
    await asyncio.sleep(500)
    assert peers.etcd.calls[calls:] == []
    assert not [
        request for request in peers.plane.counted.requests[requests:] if "GET" not in request
    ]
    peers.etcd.alarms = [{"memberID": number, "alarm": "CORRUPT"}]
    await asyncio.sleep(120)
    assert status_of(await peers.control_plane(), "EtcdClusterHealthy") == "False"


async def test_a_learner_of_etcd_blocks_the_deletion_of_a_machine(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    going, learning, _ = sorted(await names(peers))
    peers.etcd.members[learning]["isLearner"] = True
    await peers.plane.client.delete(Machine.RESOURCE, Key("default", going))
    await until(peers, lambda kcp: status_of(kcp, "EtcdClusterHealthy") == "False")
    await asyncio.sleep(60)
    assert going in peers.etcd.members
    del peers.etcd.members[learning]["isLearner"]
    await replaced(peers, going, 3)
    await until(peers, at(3))
    assert sorted(peers.etcd.members) == sorted(await names(peers))
