"""Unhealthy Machines of a control plane are replaced, where that does not break more."""

from __future__ import annotations

import asyncio
import json

from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachine
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.kube import Key
from kapy.kube.errors import Forbidden
from kapy.kube.names import PODS
from tests.providers.kubeadm.awaiting import at, change, names, replaced, until
from tests.providers.kubeadm.peer_controllers import CLUSTER, CONTROL_PLANE, PeerControllers
from tests.providers.kubeadm.test_creation_story import Refusal


def key(name: str) -> Key:
    return Key("default", name)


async def owner_says(peers: PeerControllers, name: str) -> tuple[str, str]:
    """Reason and message of a Machine's OwnerRemediated; both "" when it has none."""
    machine = await peers.plane.client.get(Machine, key(name))
    conditions = [
        condition for condition in machine.status.conditions if condition.type == "OwnerRemediated"
    ]
    return (conditions[0].reason, conditions[0].message) if conditions else ("", "")


def remediating(kcp: KubeadmControlPlane) -> tuple[str, str]:
    (condition,) = [item for item in kcp.status.conditions if item.type == "Remediating"]
    return condition.status, condition.message


async def test_an_unhealthy_machine_is_replaced(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    leader = peers.etcd.leader
    await peers.find_unhealthy(leader)
    new = await replaced(peers, leader, 3)
    await until(peers, at(3))
    machine = await peers.plane.client.get(Machine, key(new))
    noted = json.loads(machine.metadata.annotations[Annotation.REMEDIATION_FOR])
    assert (noted["machine"], noted["retryCount"]) == (leader, 0)
    kcp = await peers.control_plane()
    assert Annotation.REMEDIATION_IN_PROGRESS not in kcp.metadata.annotations
    last = kcp.status.last_remediation
    assert last is not None
    assert (last.machine, last.time, last.retry_count) == (leader, noted["timestamp"], 0)
    assert sorted(peers.etcd.members) == sorted(await names(peers))
    assert "/v3/maintenance/transfer-leadership" in peers.etcd.calls


async def test_the_last_machine_is_kept(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    (only,) = await names(peers)
    await peers.find_unhealthy(only)
    message = "KubeadmControlPlane can't remediate if current replicas are less or equal to 1"
    kcp = await until(peers, lambda kcp: message in remediating(kcp)[1])
    assert remediating(kcp) == ("True", f"* Machine {only}: {message}")
    assert await owner_says(peers, only) == ("CannotBeRemediated", message)
    assert await names(peers) == {only}
    await peers.find_healthy(only)
    await until(peers, lambda kcp: remediating(kcp) == ("False", ""))
    assert await owner_says(peers, only) == ("", "")


async def test_a_first_machine_that_never_starts_is_replaced(
    peers: PeerControllers,
) -> None:
    peers.hold_new = True
    await peers.start()
    await asyncio.sleep(5)
    (stuck,) = await names(peers)
    await peers.find_unhealthy(stuck)
    await asyncio.sleep(1)
    peers.hold_new = False
    await until(peers, at(1))
    (new,) = await names(peers)
    assert new != stuck
    config = await peers.plane.client.get(KubeadmConfig, key(new))
    assert config.spec.join_configuration.control_plane is None


async def test_retries_of_a_failing_replacement_are_limited(peers: PeerControllers) -> None:
    remediation = {"maxRetry": 1, "retryPeriodSeconds": 60}
    await peers.start(replicas=3, remediation=remediation)
    await until(peers, at(3))
    first = peers.etcd.leader
    await peers.find_unhealthy(first)
    second = await replaced(peers, first, 3)
    await until(peers, at(3))
    await peers.find_unhealthy(second)
    message = (
        "KubeadmControlPlane can't remediate this machine because the operation already failed in"
        " the latest 1m0s (RetryPeriodSeconds)"
    )
    await until(peers, lambda kcp: message in remediating(kcp)[1])
    assert await owner_says(peers, second) == ("RemediationDeferred", message)
    third = await replaced(peers, second, 3)  # by the end of the minute, which wakes nobody else
    machine = await peers.plane.client.get(Machine, key(third))
    assert json.loads(machine.metadata.annotations[Annotation.REMEDIATION_FOR])["retryCount"] == 1
    await peers.find_unhealthy(third)
    message = (
        "KubeadmControlPlane can't remediate this machine because the operation already failed 1"
        " times (MaxRetry)"
    )
    await until(peers, lambda kcp: message in remediating(kcp)[1])
    assert await owner_says(peers, third) == ("CannotBeRemediated", message)


async def test_remediation_preserves_the_quorum_of_etcd(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    sick, also_sick, _ = sorted(await names(peers))
    peers.etcd.alarms = [
        {"memberID": peers.etcd.members[name]["ID"], "alarm": "NOSPACE"}
        for name in (sick, also_sick)
    ]
    await peers.find_unhealthy(sick)
    message = (
        "KubeadmControlPlane can't remediate this Machine because this could result in loosing"
        " Kubernetes control plane components or in etcd quorum loss"
    )
    await until(peers, lambda kcp: message in remediating(kcp)[1])
    assert await owner_says(peers, sick) == ("CannotBeRemediated", message)
    assert len(await names(peers)) == 3


async def test_no_machine_is_remediated_while_another_one_starts(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    peers.hold_new = True
    sick = sorted(await names(peers))[0]
    await change(peers, {"replicas": 5})
    await until(peers, lambda kcp: kcp.status.replicas == 4)
    await peers.find_unhealthy(sick)
    message = (
        "KubeadmControlPlane waiting for control plane Machine provisioning to complete before"
        " triggering remediation"
    )
    await until(peers, lambda kcp: message in remediating(kcp)[1])
    assert await owner_says(peers, sick) == ("RemediationDeferred", message)
    peers.hold_new = False
    await until(peers, lambda kcp: at(5)(kcp) and remediating(kcp)[0] == "False")
    assert sick not in await names(peers)


async def test_a_replacement_is_made_although_something_else_is_broken(
    peers: PeerControllers,
) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    removal, broken, _ = sorted(await names(peers))
    pod = Key("kube-system", f"kube-scheduler-{broken}")
    failed = {"phase": "Failed", "conditions": []}
    await peers.plane.workload.patch(PODS, pod, {"status": failed}, subresource="status")
    await peers.find_unhealthy(removal)
    await replaced(peers, removal, 3)
    assert broken in await names(peers)


async def test_an_imminent_upgrade_precedes_a_remediation(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    sick = sorted(await names(peers))[0]
    topology = {"classRef": {"name": "class"}, "version": "v1.35.0"}
    await peers.plane.client.patch(Cluster.RESOURCE, CLUSTER, {"spec": {"topology": topology}})
    await peers.find_unhealthy(sick)
    message = (
        "KubeadmControlPlane can't remediate while waiting for a version upgrade to v1.35.0 to be"
        " propagated from Cluster.spec.topology"
    )
    await until(peers, lambda kcp: message in remediating(kcp)[1])
    assert await owner_says(peers, sick) == ("RemediationDeferred", message)
    step = {"topology.internal.cluster.x-k8s.io/upgrade-step": "v1.34.0"}
    await peers.plane.client.patch(Cluster.RESOURCE, CLUSTER, {"metadata": {"annotations": step}})
    await replaced(peers, sick, 3)


async def test_a_remediation_annotation_left_by_a_crash_is_removed(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    stale = json.dumps({"machine": "m", "timestamp": "2020-01-01T00:00:00Z", "retryCount": 3})
    mark = {"metadata": {"annotations": {Annotation.REMEDIATION_IN_PROGRESS: stale}}}
    await peers.plane.client.patch(KubeadmControlPlane.RESOURCE, CONTROL_PLANE, mark)
    await until(
        peers, lambda kcp: Annotation.REMEDIATION_IN_PROGRESS not in kcp.metadata.annotations
    )


async def test_an_unreadable_note_stops_remediation_only(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    sick = sorted(await names(peers))[0]
    note = {"metadata": {"annotations": {Annotation.REMEDIATION_FOR: "{"}}}
    await peers.plane.client.patch(Machine.RESOURCE, key(sick), note)
    await peers.find_unhealthy(sick)
    message = f"annotation {Annotation.REMEDIATION_FOR} cannot be read"
    await until(peers, lambda kcp: message in remediating(kcp)[1])
    assert (await owner_says(peers, sick))[0] == "CannotBeRemediated"
    await change(peers, {"replicas": 5})
    await until(peers, lambda kcp: kcp.status.replicas == 5)
    assert sick in await names(peers)


async def test_the_next_remediation_waits_for_the_first_replacement(peers: PeerControllers) -> None:
    """Also when its replacement cannot be made."""
    await peers.start(replicas=3)
    await until(peers, at(3))
    first, second, _ = sorted(await names(peers))
    refusal = Refusal(peers.plane, DevMachine.RESOURCE, Forbidden)
    await peers.find_unhealthy(first)
    await until(peers, lambda kcp: kcp.status.replicas == 2)
    await peers.find_unhealthy(second)
    await asyncio.sleep(60)
    assert first not in await names(peers)
    assert second in await names(peers)
    assert len(await names(peers)) == 2

    refusal.on = False
    await until(peers, lambda kcp: at(3)(kcp) and remediating(kcp)[0] == "False")
    assert second not in await names(peers)
