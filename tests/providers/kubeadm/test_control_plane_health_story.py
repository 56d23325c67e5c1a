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
from tests.providers.kubeadm.hands import EXPIRY, Hands

ROLLOUT = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}


async def test_a_broken_component_is_reported(hands: Hands) -> None:
    await hands.start()
    await until(hands, at(1))
    (machine,) = await hands.machines()
    name = machine.metadata.name
    pod = Key("kube-system", f"kube-scheduler-{name}")
    waiting = {"name": "kube-scheduler", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    crashed = {**waiting, "lastState": {"terminated": {"exitCode": 1}}}
    status = {
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [crashed],
    }
    await hands.plane.workload.patch(PODS, pod, {"status": status}, subresource="status")
    kcp = await until(hands, lambda kcp: status_of(kcp, "ControlPlaneComponentsHealthy") == "False")
    (message,) = [
        condition.message
        for condition in kcp.status.conditions
        if condition.type == "ControlPlaneComponentsHealthy"
    ]
    assert message == f"* Machine {name}:\n  * SchedulerPodHealthy: CrashLoopBackOff"
    (machine,) = await hands.machines()
    (reason,) = [
        condition.reason
        for condition in machine.status.conditions
        if condition.type == "SchedulerPodHealthy"
    ]
    assert reason == "Failed"


async def test_an_etcd_that_cannot_be_reached_is_unknown(hands: Hands) -> None:
    hands.etcd.down = True
    await hands.start()
    kcp = await until(
        hands,
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


async def test_the_expiry_of_each_api_server_certificate_is_recorded_once(hands: Hands) -> None:
    await hands.start(replicas=3)
    await until(hands, at(3))
    await asyncio.sleep(5)
    configs = (await hands.plane.client.list(KubeadmConfig, "default")).items
    noted = {config.metadata.annotations.get(Annotation.CERTIFICATES_EXPIRY) for config in configs}
    assert noted == {stamp(EXPIRY)}
    assert sorted(hands.asked) == sorted(await names(hands))


async def test_machines_are_replaced_before_their_certificates_end(hands: Hands) -> None:
    await hands.start(rollout={**ROLLOUT, "before": {"certificatesExpiryDays": 10}})
    await until(hands, at(1))
    (old,) = await hands.machines()
    end = hands.plane.clock() + timedelta(days=10, seconds=30)
    await hands.report(old.key, certificatesExpiryDate=stamp(end))
    await replaced(hands, old.metadata.name, 1)


async def test_a_recovering_etcd_is_noticed_without_an_event(hands: Hands) -> None:
    await hands.start()
    await until(hands, at(1))
    (name,) = await names(hands)
    number = hands.etcd.members[name]["ID"]
    hands.etcd.alarms = [{"memberID": number, "alarm": "NOSPACE"}]
    pod = Key("kube-system", f"etcd-{name}")
    touched = {"status": {"containerStatuses": [{"name": "etcd", "restartCount": 1}]}}
    await hands.plane.workload.patch(PODS, pod, touched, subresource="status")
    await until(hands, lambda kcp: status_of(kcp, "EtcdClusterHealthy") == "False")
    hands.etcd.alarms = []
    await until(hands, lambda kcp: status_of(kcp, "EtcdClusterHealthy") == "True")


async def test_an_unreported_failure_of_etcd_is_noticed_within_ten_minutes(
    hands: Hands,
) -> None:
    await hands.start()
    await until(hands, at(1))
    hands.pace = 300
    await asyncio.sleep(5)
    (number,) = [member["ID"] for member in hands.etcd.members.values()]
    requests, calls = len(hands.plane.counted.requests), len(hands.etcd.calls)
    await asyncio.sleep(500)
    assert hands.etcd.calls[calls:] == []
    assert not [
        request for request in hands.plane.counted.requests[requests:] if "GET" not in request
    ]
    hands.etcd.alarms = [{"memberID": number, "alarm": "CORRUPT"}]
    await asyncio.sleep(120)
    assert status_of(await hands.control_plane(), "EtcdClusterHealthy") == "False"


async def test_a_learner_of_etcd_blocks_the_deletion_of_a_machine(hands: Hands) -> None:
    await hands.start(replicas=3)
    await until(hands, at(3))
    going, learning, _ = sorted(await names(hands))
    hands.etcd.members[learning]["isLearner"] = True
    await hands.plane.client.delete(Machine.RESOURCE, Key("default", going))
    await until(hands, lambda kcp: status_of(kcp, "EtcdClusterHealthy") == "False")
    await asyncio.sleep(60)
    assert going in hands.etcd.members
    del hands.etcd.members[learning]["isLearner"]
    await replaced(hands, going, 3)
    await until(hands, at(3))
    assert sorted(hands.etcd.members) == sorted(await names(hands))
