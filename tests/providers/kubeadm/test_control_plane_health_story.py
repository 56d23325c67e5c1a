"""The health of control plane members: components, etcd, and expiry of certificates."""

from __future__ import annotations

import asyncio
import gc
from datetime import timedelta

import pytest

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import stamp
from kapy.kube import Key
from kapy.kube.names import PODS, SECRETS
from kapy.providers.kubeadm.controlplane.dependencies import ReconcileCache
from kapy.providers.kubeadm.controlplane.reconcile import (
    ETCD_PERIOD,
    FULL_PERIOD,
    KubeadmControlPlaneReconciler,
)
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.sdk import Result
from tests.providers.kubeadm.awaiting import at, names, replaced, status_of, until
from tests.providers.kubeadm.peer_controllers import (
    CLUSTER,
    CONTROL_PLANE,
    EXPIRY,
    PeerControllers,
)

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


async def test_an_unchanged_etcd_is_asked_every_ten_minutes_without_a_full_reconcile(
    peers: PeerControllers, monkeypatch: pytest.MonkeyPatch
) -> None:
    full: list[float] = []
    advance = KubeadmControlPlaneReconciler._advance

    async def count(self: KubeadmControlPlaneReconciler, plane: ControlPlane) -> Result:
        full.append(asyncio.get_running_loop().time())
        return await advance(self, plane)

    monkeypatch.setattr(KubeadmControlPlaneReconciler, "_advance", count)
    await peers.start()
    await until(peers, at(1))
    peers.pace = 300
    await asyncio.sleep(60)
    calls, reconciles = len(peers.etcd.calls), len(full)
    await asyncio.sleep(3 * ETCD_PERIOD.total_seconds())
    assert peers.etcd.calls[calls:] == 3 * [
        "/v3/maintenance/status",
        "/v3/cluster/member/list",
        "/v3/maintenance/alarm",
    ]
    assert len(full) == reconciles
    await asyncio.sleep(FULL_PERIOD.total_seconds())
    assert len(full) == reconciles + 1


@pytest.mark.parametrize("change", ["spec", "annotation", "secret"])
async def test_changes_beside_the_control_plane_are_noticed_within_ten_minutes(
    peers: PeerControllers, change: str
) -> None:
    client, secret = peers.plane.client, Key("default", "c1-sa")
    await peers.start()
    await until(peers, at(1))
    if change == "secret":  # as a user brings it: without the label
        labels = {"metadata": {"labels": None}}
        await client.patch(SECRETS, secret, labels)
    peers.pace = 300
    await asyncio.sleep(ETCD_PERIOD.total_seconds() + 60)
    (name,) = await names(peers)
    (machine,) = await peers.machines()
    assert machine.spec.bootstrap.config_ref is not None
    config = Key("default", machine.spec.bootstrap.config_ref.name)
    match change:
        case "spec":
            await client.patch(KubeadmConfig, config, {"spec": {"preKubeadmCommands": ["true"]}})
        case "annotation":
            removal = {"metadata": {"annotations": {Annotation.CERTIFICATES_EXPIRY: None}}}
            await client.patch(KubeadmConfig, config, removal)
        case _:
            await client.delete(SECRETS, secret)
    await asyncio.sleep(ETCD_PERIOD.total_seconds())
    kcp = await peers.control_plane()
    match change:
        case "spec":
            (machine,) = [item for item in await peers.machines() if item.metadata.name == name]
            up_to_date = next(c for c in machine.status.conditions if c.type == "UpToDate")
            assert up_to_date.status == "False"
        case "annotation":
            annotations = (await client.get(KubeadmConfig, config)).metadata.annotations
            assert annotations.get(Annotation.CERTIFICATES_EXPIRY) == stamp(EXPIRY)
        case _:
            assert status_of(kcp, "CertificatesAvailable") == "False"


async def test_nothing_is_kept_of_a_deleted_control_plane(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    gc.collect()
    caches = [item for item in gc.get_objects() if isinstance(item, ReconcileCache)]
    (cache,) = [item for item in caches if item.addons and item.kubeconfigs]
    await peers.plane.client.delete(KubeadmControlPlane, CONTROL_PLANE)
    await asyncio.sleep(60)
    await peers.plane.client.delete(Cluster, CLUSTER)
    await asyncio.sleep(60)
    assert not cache.addons
    assert not cache.kubeconfigs


@pytest.mark.parametrize("change", ["member", "leader", "down", "no member"])
async def test_each_change_of_etcd_is_noticed_within_ten_minutes(
    peers: PeerControllers, change: str
) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    peers.pace = 300
    await asyncio.sleep(ETCD_PERIOD.total_seconds() + 60)
    name = next(name for name in peers.etcd.members if name != peers.etcd.leader)
    match change:
        case "member":
            peers.etcd.members["stranger"] = {"ID": "1", "name": "stranger"}
        case "leader":
            peers.etcd.leader = ""
        case "down":
            peers.etcd.down = True
        case _:
            del peers.etcd.members[name]
    await asyncio.sleep(ETCD_PERIOD.total_seconds())
    if change == "member":  # it is removed from etcd as soon as it is noticed
        assert "/v3/cluster/member/remove" in peers.etcd.calls
    else:
        assert status_of(await peers.control_plane(), "EtcdClusterHealthy") != "True"


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
