"""The life of a control plane: created, scaled up and down, changed in place."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import stamp
from kapy.kube import Key
from kapy.kube.names import CRDS, EVENTS, SECRETS
from tests.providers.kubeadm.awaiting import at, change, names, status_of, until
from tests.providers.kubeadm.peer_controllers import CLUSTER, PeerControllers, template


async def test_the_first_machine_runs_init(peers: PeerControllers) -> None:
    await peers.start()
    kcp = await until(peers, at(1))
    conditions = {
        condition.type: (condition.status, condition.reason, condition.message)
        for condition in kcp.status.conditions
    }
    assert conditions == {
        "Available": ("True", "Available", ""),
        "CertificatesAvailable": ("True", "Available", ""),
        "ControlPlaneComponentsHealthy": ("True", "Healthy", ""),
        "Deleting": ("False", "NotDeleting", ""),
        "EtcdClusterHealthy": ("True", "Healthy", ""),
        "Initialized": ("True", "Initialized", ""),
        "MachinesReady": ("True", "Ready", ""),
        "MachinesUpToDate": ("True", "UpToDate", ""),
        "Paused": ("False", "NotPaused", ""),
        "Remediating": ("False", "NotRemediating", ""),
        "RollingOut": ("False", "NotRollingOut", ""),
        "ScalingDown": ("False", "NotScalingDown", ""),
        "ScalingUp": ("False", "NotScalingUp", ""),
    }
    assert kcp.status.initialization.control_plane_initialized
    assert kcp.status.last_remediation is None
    assert kcp.metadata.finalizers == ["kubeadm.controlplane.cluster.x-k8s.io"]
    assert kcp.status.selector == (
        "cluster.x-k8s.io/cluster-name=c1,cluster.x-k8s.io/control-plane"
    )


async def test_a_rollout_begins_at_its_date(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    before = await names(peers)
    soon = stamp(peers.plane.clock() + timedelta(seconds=30))
    await change(peers, {"rollout": {"after": soon}})
    await asyncio.sleep(20)
    assert await names(peers) == before
    await asyncio.sleep(20)
    await until(peers, at(1))
    assert not await names(peers) & before
    assert legacy(await peers.control_plane())["MachinesSpecUpToDate"] == ("True", "", "")


def legacy(kcp: KubeadmControlPlane) -> dict[str, tuple[str, str, str]]:
    """Return the v1beta1 conditions, by type."""
    assert kcp.status.deprecated is not None
    assert kcp.status.deprecated.v1beta1 is not None
    conditions = kcp.status.deprecated.v1beta1.conditions
    return {
        beta1_condition.type: (
            beta1_condition.status,
            beta1_condition.reason,
            beta1_condition.message,
        )
        for beta1_condition in conditions
    }


async def test_v1beta1_conditions_are_reported(peers: PeerControllers) -> None:
    peers.hold_new = True
    await peers.start()
    await asyncio.sleep(5)
    messages = legacy(await peers.control_plane())
    assert messages["Available"] == ("False", "WaitingForKubeadmInit", "")
    peers.hold_new = False
    await until(peers, at(1))
    peers.hold_new = True
    await change(peers, {"replicas": 3})
    kcp = await until(peers, lambda kcp: kcp.status.replicas == 2)
    messages = legacy(kcp)
    scaling = ("False", "ScalingUp", "Scaling up control plane to 3 replicas (actual 2)")
    assert messages["Resized"] == messages["Ready"] == scaling
    assert messages["Available"] == messages["ControlPlaneComponentsHealthy"] == ("True", "", "")
    assert kcp.status.deprecated is not None
    counters = kcp.status.deprecated.v1beta1
    assert counters is not None
    assert (counters.ready_replicas, counters.unavailable_replicas) == (1, 1)


async def test_a_machine_and_its_objects_equal_those_of_upstream(peers: PeerControllers) -> None:
    await peers.start()
    kcp = await until(peers, at(1))
    (machine,) = await peers.machines()
    name = machine.metadata.name
    assert name.startswith("c1-control-plane-")
    assert len(name) == len("c1-control-plane-") + 5
    labels = {
        "cluster.x-k8s.io/cluster-name": "c1",
        "cluster.x-k8s.io/control-plane": "",
        "cluster.x-k8s.io/control-plane-name": "c1-control-plane",
    }
    assert machine.metadata.labels == labels
    assert machine.metadata.annotations == {
        "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup": ""
    }
    (owner,) = machine.metadata.owner_references
    assert (owner.kind, owner.uid, owner.controller, owner.block_owner_deletion) == (
        "KubeadmControlPlane",
        kcp.metadata.uid,
        True,
        True,
    )
    assert [gate.condition_type for gate in machine.spec.readiness_gates] == [
        "NodeKubeadmLabelsAndTaintsSet",
        "APIServerPodHealthy",
        "ControllerManagerPodHealthy",
        "SchedulerPodHealthy",
        "EtcdPodHealthy",
        "EtcdMemberHealthy",
    ]
    config = await peers.plane.client.get(KubeadmConfig, machine.key)
    infrastructure = await peers.plane.client.get(DevMachine, machine.key)
    assert config.metadata.labels == infrastructure.metadata.labels == labels
    assert infrastructure.metadata.annotations == {
        "cluster.x-k8s.io/cloned-from-groupkind": (
            "DevMachineTemplate.infrastructure.cluster.x-k8s.io"
        ),
        "cluster.x-k8s.io/cloned-from-name": "small",
    }
    assert config.spec.cluster_configuration.feature_gates == {"ControlPlaneKubeletLocalMode": True}
    template = await peers.plane.client.get(DevMachineTemplate, Key("default", "small"))
    assert [reference.kind for reference in template.metadata.owner_references] == ["Cluster"]


async def test_fields_belong_to_upstreams_managers(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    (machine,) = await peers.machines()
    config = await peers.plane.client.get(KubeadmConfig.RESOURCE, machine.key)
    owned = {
        field["manager"]: field["fieldsV1"]
        for field in config["metadata"]["managedFields"]
        if field["operation"] == "Apply"
    }
    assert sorted(owned) == ["capi-kubeadmcontrolplane", "capi-kubeadmcontrolplane-metadata"]
    assert "f:labels" not in owned["capi-kubeadmcontrolplane"].get("f:metadata", {})
    assert sorted(owned["capi-kubeadmcontrolplane-metadata"]["f:metadata"]["f:labels"]) == [
        "f:cluster.x-k8s.io/cluster-name",
        "f:cluster.x-k8s.io/control-plane",
        "f:cluster.x-k8s.io/control-plane-name",
    ]


async def test_every_secret_is_created_once(peers: PeerControllers) -> None:
    await peers.start()
    kcp = await until(peers, at(1))
    secrets = (await peers.plane.client.list(SECRETS, "default")).items
    (machine,) = await peers.machines()
    assert {document["metadata"]["name"]: sorted(document["data"]) for document in secrets} == {
        "c1-ca": ["tls.crt", "tls.key"],
        "c1-etcd": ["tls.crt", "tls.key"],
        "c1-proxy": ["tls.crt", "tls.key"],
        "c1-sa": ["tls.crt", "tls.key"],
        "c1-kubeconfig": ["value"],
        machine.metadata.name: ["format", "value"],
    }
    for secret in secrets:
        assert secret["type"] == "cluster.x-k8s.io/secret"
        assert secret["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "c1"}
        (owner,) = secret["metadata"]["ownerReferences"]
        assert owner["controller"]
        if secret["metadata"]["name"] != machine.metadata.name:
            assert owner["uid"] == kcp.metadata.uid
    posts = [request for request in peers.plane.counted.requests if request.startswith("POST")]
    assert posts.count("POST /api/v1/namespaces/default/secrets") == len(secrets)


async def test_a_template_that_is_missing_or_unreadable_is_reported(peers: PeerControllers) -> None:
    def scaling(kcp: KubeadmControlPlane) -> str:
        return next(
            (
                condition.message
                for condition in kcp.status.conditions
                if condition.type == "ScalingUp"
            ),
            "",
        )

    client = peers.plane.client
    await peers.start_cluster()
    await client.delete(DevMachineTemplate.RESOURCE, Key("default", "small"))
    await peers.take_charge()
    blocked = "Scaling up from 0 to 1 replicas is blocked because:\n* DevMachineTemplate"
    await until(peers, lambda kcp: scaling(kcp) == f"{blocked} does not exist")
    crd = Key("", "devmachinetemplates.infrastructure.cluster.x-k8s.io")
    label = "cluster.x-k8s.io/v1beta2"
    await client.patch(CRDS, crd, {"metadata": {"labels": {label: None}}})
    await until(peers, lambda kcp: scaling(kcp).startswith(f"{blocked} small cannot be read: "))
    await client.patch(CRDS, crd, {"metadata": {"labels": {label: "v1beta2"}}})
    await client.create(DevMachineTemplate.RESOURCE, template("small"))
    await until(peers, at(1))


async def test_machines_are_created_after_the_infrastructure_is_ready(
    peers: PeerControllers,
) -> None:
    await peers.start(provisioned=False)
    await asyncio.sleep(5)
    kcp = await peers.control_plane()
    messages = {condition.type: condition.message for condition in kcp.status.conditions}
    assert (
        messages["EtcdClusterHealthy"]
        == "Waiting for Cluster status.infrastructureReady to be true"
    )
    assert messages["ScalingUp"] == "Scaling up from 0 to 1 replicas"
    assert await peers.machines() == []


async def test_a_control_plane_grows_one_machine_at_a_time(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    await change(peers, {"replicas": 3})
    await until(peers, lambda kcp: kcp.status.replicas == 2)
    kcp = await peers.control_plane()
    assert [len(await peers.machines()), kcp.status.replicas] == [2, 2]
    await until(peers, at(3))
    assert len(peers.etcd.members) == 3
    configs = (await peers.plane.client.list(KubeadmConfig, "default")).items
    joins = [
        config for config in configs if config.spec.join_configuration.control_plane is not None
    ]
    assert len(joins) == 2
    assert all(join.spec.join_configuration.discovery.bootstrap_token.token for join in joins)


async def test_a_machine_that_does_not_come_up_keeps_the_next_one_waiting(
    peers: PeerControllers,
) -> None:
    await peers.start()
    await until(peers, at(1))
    peers.hold_new = True
    await change(peers, {"replicas": 3})
    await asyncio.sleep(30)
    kcp = await peers.control_plane()
    assert len(await peers.machines()) == 2
    (scaling,) = [
        condition.message for condition in kcp.status.conditions if condition.type == "ScalingUp"
    ]
    assert scaling == (
        "Scaling up from 2 to 3 replicas is blocked because:\n"
        "* waiting for control plane components to become healthy\n"
        "* waiting for etcd cluster to become healthy"
    )
    events = (await peers.plane.client.list(EVENTS, "default")).items
    assert [(event["reason"], event["count"]) for event in events] == [("ControlPlaneUnhealthy", 1)]


async def test_a_control_plane_shrinks_without_losing_etcd(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    leader = peers.etcd.leader
    mark = {"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": ""}}}
    await peers.plane.client.patch(Machine.RESOURCE, Key("default", leader), mark)
    await change(peers, {"replicas": 1})
    await until(peers, at(1))
    (machine,) = await peers.machines()
    assert machine.metadata.name != leader
    assert list(peers.etcd.members) == [machine.metadata.name] == [peers.etcd.leader]
    assert "/v3/maintenance/transfer-leadership" in peers.etcd.calls
    assert peers.outlived == []


async def test_the_machine_chosen_by_a_user_is_deleted_first(peers: PeerControllers) -> None:
    await peers.start(replicas=3)
    await until(peers, at(3))
    chosen = (await peers.machines())[1]
    mark = {"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": ""}}}
    await peers.plane.client.patch(Machine.RESOURCE, chosen.key, mark)
    before = {machine.metadata.name for machine in await peers.machines()}
    await change(peers, {"replicas": 1})
    await until(peers, lambda kcp: kcp.status.replicas == 2)
    after = {machine.metadata.name for machine in await peers.machines()}
    assert before - after == {chosen.metadata.name}


async def test_labels_and_timeouts_change_in_place(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    before = await peers.machines()
    template = {
        "metadata": {"labels": {"team": "blue"}, "annotations": {"note": "new"}},
        "spec": {
            "deletion": {"nodeDrainTimeoutSeconds": 30},
            "readinessGates": [{"conditionType": "Mine"}],
            "taints": [{"key": "mine", "effect": "NoSchedule", "propagation": "Always"}],
        },
    }
    await change(peers, {"machineTemplate": template})
    await asyncio.sleep(2)
    (machine,) = await peers.machines()
    assert machine.metadata.uid == before[0].metadata.uid
    assert machine.metadata.labels["team"] == "blue"
    assert machine.spec.deletion.node_drain_timeout_seconds == 30
    assert machine.spec.readiness_gates[-1].condition_type == "Mine"
    assert [taint.key for taint in machine.spec.taints] == ["mine"]
    config = await peers.plane.client.get(KubeadmConfig, machine.key)
    infrastructure = await peers.plane.client.get(DevMachine, machine.key)
    assert config.metadata.labels["team"] == infrastructure.metadata.labels["team"] == "blue"
    assert config.metadata.annotations["note"] == "new"
    await change(peers, {"machineTemplate": {"metadata": {"labels": {"team": None}}}})
    await asyncio.sleep(2)
    config = await peers.plane.client.get(KubeadmConfig, machine.key)
    (machine,) = await peers.machines()
    assert "team" not in config.metadata.labels
    assert "team" not in machine.metadata.labels


async def test_machines_spread_over_failure_domains(peers: PeerControllers) -> None:
    domains = [
        {"name": "a", "controlPlane": True},
        {"name": "b", "controlPlane": True},
        {"name": "w", "controlPlane": False},
        {"name": "c", "controlPlane": True},
    ]
    await peers.start(replicas=3, failure_domains=domains)
    await until(peers, at(3))
    assert sorted(machine.spec.failure_domain for machine in await peers.machines()) == [
        "a",
        "b",
        "c",
    ]


async def test_a_new_machine_is_placed_in_the_smallest_failure_domain(
    peers: PeerControllers,
) -> None:
    domains = [{"name": name, "controlPlane": True} for name in ("a", "b")]
    await peers.start(replicas=3, failure_domains=domains)
    await until(peers, at(3))
    counted = Counter(machine.spec.failure_domain for machine in await peers.machines())
    (_, most), (fewest, least) = counted.most_common()
    assert (most, least) == (2, 1)
    await change(peers, {"version": "v1.35.0"})
    await until(peers, lambda kcp: kcp.status.replicas == 4)
    (new,) = (machine for machine in await peers.machines() if machine.spec.version == "v1.35.0")
    assert new.spec.failure_domain == fewest


async def test_an_update_in_place_keeps_everything_else_waiting(peers: PeerControllers) -> None:
    peers.updates.lasts = True
    await peers.start()
    await until(peers, at(1))
    (machine,) = await peers.machines()
    for value, owed in (("", "UpdateMachine"), (None, None)):
        marks = {Annotation.UPDATE_IN_PROGRESS: value, Annotation.PENDING_HOOKS: owed}
        patch = {"metadata": {"annotations": marks}}
        await peers.plane.client.patch(Machine.RESOURCE, machine.key, patch)
        if value is not None:
            await change(peers, {"replicas": 3})
            kcp = await until(peers, lambda kcp: status_of(kcp, "MachinesUpToDate") == "False")
            messages = {condition.type: condition.message for condition in kcp.status.conditions}
            assert messages["RollingOut"].endswith("* In-place update in progress")
            assert len(await peers.machines()) == 1
    await until(peers, at(3))


async def test_a_paused_cluster_is_left_alone(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    paused = {"spec": {"paused": True}}
    await peers.plane.client.patch(Cluster.RESOURCE, CLUSTER, paused)
    await change(peers, {"replicas": 3})
    await asyncio.sleep(10)
    kcp = await peers.control_plane()
    assert status_of(kcp, "Paused") == "True"
    assert len(await peers.machines()) == 1
    await peers.plane.client.patch(Cluster.RESOURCE, CLUSTER, {"spec": {"paused": False}})
    await until(peers, at(3))


async def test_a_lost_certificate_is_not_issued_again(peers: PeerControllers) -> None:
    await peers.start()
    await until(peers, at(1))
    await peers.plane.client.delete(SECRETS, Key("default", "c1-sa"))
    kcp = await until(peers, lambda kcp: status_of(kcp, "CertificatesAvailable") == "False")
    messages = {condition.type: condition.message for condition in kcp.status.conditions}
    assert messages["CertificatesAvailable"] == (
        "Cluster certificate for sa is not available, please check cluster certificate secrets"
    )
    assert messages["Available"] == "* Control plane certificates are not available"
