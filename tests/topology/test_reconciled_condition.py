"""The TopologyReconciled condition of a Cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.cluster import ClusterControlPlaneStatus, ClusterStatus
from kapy.kube import Document
from kapy.kube.model import encode
from kapy.topology.hook_cache import HookCache
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hooks import Answer, Hook
from kapy.topology.reconciled_condition import (
    ReconcileResult,
    topology_reconciled,
    write_upgrade_plans,
)
from kapy.topology.state import ClusterState, ControlPlaneState
from kapy.topology.upgrade_tracker import ControlPlaneUpgrade, UpgradeTracker, WorkersUpgrade
from tests.topology.managed import cluster, cluster_class

NOW, NEXT = "v1.33.0", "v1.34.0"
REFERENCES = {
    "infrastructureRef": {"kind": "ThingCluster", "name": "i", "apiGroup": "infra.io"},
    "controlPlaneRef": {"kind": "ThingPlane", "name": "p", "apiGroup": "plane.io"},
}
MANY = {"md1", "md2", "md3", "md4"}


async def _unwritten(annotation: str) -> None:
    raise AssertionError(f"nothing is written here: {annotation}")


def found(
    change: Document | None = None,
    *,
    blocking: Hook | None = None,
    plane: ControlPlaneUpgrade | None = None,
    mds: WorkersUpgrade | None = None,
    mps: WorkersUpgrade | None = None,
    version: str = NEXT,
    **more: Any,
) -> ReconcileResult:
    of = cluster({"spec": REFERENCES} if change is None else change)
    calls = HookCalls(of, None, HookCache(), _unwritten)
    if blocking is not None:
        calls.answers = {blocking: Answer(10, "msg"), Hook.AFTER_CLUSTER_UPGRADE: Answer(0, "go")}
    upgrades = UpgradeTracker(
        control_plane=plane or ControlPlaneUpgrade(),
        machine_deployments=mds or WorkersUpgrade(),
        machine_pools=mps or WorkersUpgrade(),
    )
    document = {"kind": "ThingPlane", "metadata": {"name": "p"}, "spec": {"version": version}}
    desired = ClusterState(of, control_plane=ControlPlaneState(document))
    return ReconcileResult(
        of, upgrades, calls, cluster_class=cluster_class(), desired=desired, **more
    )


def annotated(**annotations: str) -> Document:
    return {"metadata": {"annotations": annotations}, "spec": REFERENCES}


PAUSED = "cluster.x-k8s.io/paused"
BROKEN = ValueError("it is broken")


@pytest.mark.parametrize(
    ("result", "reason", "message"),
    [
        (found(), "ReconcileSucceeded", ""),
        (found({"spec": {"paused": True}}), "Paused", "Cluster spec.paused is set to true"),
        (
            found(annotated(**{PAUSED: ""}), error=BROKEN),
            "Paused",
            "Cluster has the cluster.x-k8s.io/paused annotation",
        ),
        (
            found({**annotated(**{PAUSED: ""}), "spec": {"paused": True}}),
            "Paused",
            "Cluster spec.paused is set to true, "
            "Cluster has the cluster.x-k8s.io/paused annotation",
        ),
        (found(error=BROKEN), "ReconcileFailed", "it is broken"),
        (
            found({"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}),
            "Deleting",
            "Cluster is deleting",
        ),
        (
            found(
                {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}},
                blocking=Hook.BEFORE_CLUSTER_DELETE,
            ),
            "Deleting",
            "Cluster is deleting. Following hooks are blocking delete: BeforeClusterDelete: msg",
        ),
        (
            found({}, blocking=Hook.BEFORE_CLUSTER_CREATE),
            "ClusterCreating",
            "Following hooks are blocking Cluster topology creation: BeforeClusterCreate: msg",
        ),
        (found({}), "ReconcileSucceeded", ""),
        (found(plane=ControlPlaneUpgrade(provisioning=True)), "ReconcileSucceeded", ""),
    ],
)
def test_a_topology_is_reconciled_or_says_why_not(
    result: ReconcileResult, reason: str, message: str
) -> None:
    condition_pair = topology_reconciled(result)
    assert (condition_pair.condition.reason, condition_pair.condition.message) == (reason, message)
    is_true = reason == "ReconcileSucceeded"
    assert (
        condition_pair.condition.status
        == condition_pair.legacy.status
        == ("True" if is_true else "False")
    )
    assert condition_pair.legacy.message == message
    failed = reason == "ReconcileFailed"
    assert condition_pair.legacy.severity == ("" if is_true else "Error" if failed else "Info")
    expected = {"ReconcileFailed": "TopologyReconcileFailed", "ReconcileSucceeded": ""}
    assert condition_pair.legacy.reason == expected.get(reason, reason)


def test_a_class_not_reconciled_since_its_change_is_awaited() -> None:
    result = found()
    assert result.cluster_class is not None
    result.cluster_class.metadata.generation = 2
    condition_pair = topology_reconciled(result)
    assert (
        condition_pair.condition.reason
        == condition_pair.legacy.reason
        == "ClusterClassNotReconciled"
    )


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        (
            found(
                blocking=Hook.BEFORE_CONTROL_PLANE_UPGRADE,
                plane=ControlPlaneUpgrade(pending=True, plan=[NOW, NEXT]),
                mds=WorkersUpgrade(pending=MANY, plan=[NEXT]),
            ),
            [
                "Following hooks are blocking upgrade: BeforeControlPlaneUpgrade: msg",
                "ThingPlane pending upgrade to version v1.33.0, v1.34.0",
                "MachineDeployments md1, md2, md3, ... (1 more) pending upgrade to version v1.34.0",
            ],
        ),
        (
            found(
                plane=ControlPlaneUpgrade(starting=True, plan=[NOW, NEXT]),
                mds=WorkersUpgrade(pending={"md1"}, plan=[NEXT]),
                mps=WorkersUpgrade(pending={"mp1", "mp2"}, plan=[NEXT]),
                version=NOW,
            ),
            [
                "ThingPlane upgrading to version v1.33.0 (v1.34.0 pending)",
                "MachineDeployment md1 pending upgrade to version v1.34.0",
                "MachinePools mp1, mp2 pending upgrade to version v1.34.0",
            ],
        ),
        (
            found(
                plane=ControlPlaneUpgrade(upgrading=True),
                mds=WorkersUpgrade(pending_create={"new"}),
            ),
            [
                "ThingPlane upgrading to version v1.34.0",
                "MachineDeployment new creation deferred while control plane upgrade is in "
                "progress",
            ],
        ),
        (
            found(
                mds=WorkersUpgrade(
                    upgrading={"md1"}, pending=MANY, deferred={"md1", "md2"}, plan=[NOW, NEXT]
                ),
                version=NOW,
            ),
            [
                "MachineDeployment md1 upgrading to version v1.33.0 (v1.34.0 pending)",
                "MachineDeployments md3, md4 pending upgrade to version v1.33.0, v1.34.0",
                "MachineDeployment md2 upgrade to version v1.33.0 deferred using defer-upgrade or "
                "hold-upgrade-sequence annotations",
            ],
        ),
        (
            found(annotated(**{"runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade"})),
            [],
        ),
    ],
)
def test_an_upgrade_is_reported_with_all_that_it_waits_for(
    result: ReconcileResult, lines: list[str]
) -> None:
    condition_pair = topology_reconciled(result)
    assert condition_pair.condition.reason == condition_pair.legacy.reason == "ClusterUpgrading"
    assert condition_pair.condition.message.split("\n  * ") == [
        "Cluster is upgrading to v1.34.0",
        *lines,
    ]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (found(mds=WorkersUpgrade(pending={"a"}, deferred={"a"})), "MachineDeployments"),
        (found(mps=WorkersUpgrade(pending={"a"}, deferred={"a"})), "MachinePools"),
        (
            found(mds=WorkersUpgrade(deferred={"a"}), mps=WorkersUpgrade(deferred={"a"})),
            "MachineDeployments",
        ),
        (found(mds=WorkersUpgrade(pending={"a", "b"}, deferred={"a"})), None),
        (found(mds=WorkersUpgrade(upgrading={"b"}, deferred={"a"})), None),
        (
            found(plane=ControlPlaneUpgrade(upgrading=True), mds=WorkersUpgrade(deferred={"a"})),
            None,
        ),
        (found(blocking=Hook.AFTER_WORKERS_UPGRADE, mds=WorkersUpgrade(deferred={"a"})), None),
    ],
)
def test_an_upgrade_that_waits_for_its_user_alone_has_a_reason_of_its_own(
    result: ReconcileResult, reason: str | None
) -> None:
    expected = f"{reason}UpgradeDeferred" if reason else "ClusterUpgrading"
    assert topology_reconciled(result).condition.reason == expected


def planned(plane: list[str], workers: list[str]) -> UpgradeTracker:
    return UpgradeTracker(
        control_plane=ControlPlaneUpgrade(plan=plane),
        machine_pools=WorkersUpgrade(plan=workers),
        is_planned=True,
    )


def test_the_versions_ahead_stand_in_the_status() -> None:
    status = ClusterStatus()
    write_upgrade_plans(status, planned([NOW, NEXT], [NEXT]))
    messages = {
        "controlPlane": {"upgradePlan": [{"version": NOW}, {"version": NEXT}]},
        "workers": {"upgradePlan": [{"version": NEXT}]},
    }
    assert encode(status) == messages
    write_upgrade_plans(status, UpgradeTracker())
    assert encode(status) == messages, "what is not known changes nothing"

    counted = ClusterStatus(control_plane=ClusterControlPlaneStatus(replicas=3))
    write_upgrade_plans(counted, planned([], []))
    assert encode(counted) == {"controlPlane": {"replicas": 3}}
