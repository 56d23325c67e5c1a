"""The condition TopologyReconciled and the upgrade plans in the status of a Cluster.

The functions are pure: their input is the result of one reconcile. The messages are upstream's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kapy.api.cluster import (
    Cluster,
    ClusterControlPlaneStatus,
    ClusterStatus,
    StatusUpgradePlanVersion,
    WorkersStatus,
)
from kapy.api.cluster_class import ClusterClass
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.names import Annotation, ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions import FALSE, TRUE, v1beta1
from kapy.conditions.paused import is_paused, paused_condition
from kapy.contract.control_plane import ControlPlane
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hooks import Hook
from kapy.topology.state import ClusterState
from kapy.topology.upgrade_tracker import UpgradeTracker, WorkersUpgrade

_CLASS_NOT_RECONCILED: Final = (
    "ClusterClass not reconciled. If this condition persists please check ClusterClass status. A "
    "ClusterClass is reconciled if.status.observedGeneration == .metadata.generation is true. If "
    "this is not the case either ClusterClass reconciliation failed or the ClusterClass is paused"
)


class ConditionPair(NamedTuple):
    """The condition in the v1beta2 and the v1beta1 form."""

    condition: Condition
    legacy: V1Beta1Condition


@dataclass(frozen=True)
class ReconcileResult:
    """The result of one reconcile of a topology.

    cluster_class, desired: None if the reconcile did not get that far. error: the error that
    stopped it.
    """

    cluster: Cluster
    upgrades: UpgradeTracker
    calls: HookCalls
    cluster_class: ClusterClass | None = None
    desired: ClusterState | None = None
    error: Exception | None = None


def topology_reconciled(result: ReconcileResult) -> ConditionPair:
    """Return the condition TopologyReconciled: whether every object matches the topology; if not,
    the reason, with the upgrade steps.

    Raises MissingField and WrongType if the version of the desired control plane cannot be read.
    """
    cluster = result.cluster
    if is_paused(cluster, cluster):
        return _false_pair(Reason.PAUSED, paused_condition(cluster, cluster).message)
    if result.error is not None:
        return _failed_pair(str(result.error))
    if cluster.deleting:
        blocked = result.calls.blocking_message("delete")
        message = f"Cluster is deleting. {blocked}" if blocked else "Cluster is deleting"
        return _false_pair(Reason.DELETING, message)
    if result.cluster_class is not None and not _is_observed(result.cluster_class):
        return _false_pair(Reason.CLUSTER_CLASS_NOT_RECONCILED, _CLASS_NOT_RECONCILED)
    if not (cluster.spec.infrastructure_ref or cluster.spec.control_plane_ref):
        blocked = result.calls.blocking_message("Cluster topology creation")
        return _false_pair(Reason.CLUSTER_CREATING, blocked) if blocked else _true()
    return _upgrading_condition(result) if _is_upgrading(result) else _true()


def write_upgrade_plans(status: ClusterStatus, upgrades: UpgradeTracker) -> None:
    """Write the remaining versions of an upgrade into a Cluster's status; without a plan nothing
    changes."""
    if not upgrades.is_planned:
        return
    control_plane, workers = (
        _versions(upgrades.control_plane.plan),
        _versions(upgrades.workers_plan),
    )
    if control_plane or status.control_plane is not None:
        status.control_plane = status.control_plane or ClusterControlPlaneStatus()
        status.control_plane.upgrade_plan = control_plane
    if workers or status.workers is not None:
        status.workers = status.workers or WorkersStatus()
        status.workers.upgrade_plan = workers


def _versions(plan: Iterable[str]) -> list[StatusUpgradePlanVersion]:
    return [StatusUpgradePlanVersion(version=item) for item in plan]


def _is_observed(of_class: ClusterClass) -> bool:
    return of_class.metadata.generation == of_class.status.observed_generation


def _is_upgrading(result: ReconcileResult) -> bool:
    """Return whether any object is upgrading or waits for its upgrade. A control plane that is
    being created for the first time does not count."""
    upgrades = result.upgrades
    control_plane = upgrades.control_plane
    return (
        control_plane.pending
        or control_plane.starting
        or control_plane.upgrading
        or not upgrades.machine_deployments.is_settled
        or not upgrades.machine_pools.is_settled
        or result.calls.is_pending(Hook.AFTER_CLUSTER_UPGRADE)
    )


def _upgrading_condition(result: ReconcileResult) -> ConditionPair:
    upgrades = result.upgrades
    kind, version = _control_plane_target(result)
    topology = result.cluster.spec.topology
    lines = [f"Cluster is upgrading to {topology.version if topology else ''}"]
    if blocked := result.calls.blocking_message("upgrade"):
        lines.append(blocked)
    lines += _control_plane_lines(upgrades, kind, version)
    lines += _MACHINE_DEPLOYMENTS.lines(upgrades.machine_deployments, version)
    lines += _MACHINE_POOLS.lines(upgrades.machine_pools, version)
    reason = Reason.CLUSTER_UPGRADING
    control_plane = upgrades.control_plane
    if not (blocked or control_plane.starting or control_plane.upgrading):
        if _waits_for_user(upgrades.machine_deployments):
            reason = Reason.MACHINE_DEPLOYMENTS_UPGRADE_DEFERRED
        elif _waits_for_user(upgrades.machine_pools):
            reason = Reason.MACHINE_POOLS_UPGRADE_DEFERRED
    return _false_pair(reason, "\n  * ".join(lines))


def _control_plane_target(result: ReconcileResult) -> tuple[str, str]:
    """Return the kind of the control plane and the version that it should have now."""
    document = result.desired.control_plane.object if result.desired else None
    if document is None:
        return "ControlPlane", ""
    return document["kind"], ControlPlane.version.require(ControlPlane(document))


def _control_plane_lines(upgrades: UpgradeTracker, kind: str, version: str) -> Iterator[str]:
    upgrade = upgrades.control_plane
    if upgrade.starting or upgrade.upgrading:
        yield f"{kind} upgrading to version {version}{_later_versions(upgrade.plan, version)}"
    elif upgrade.plan:
        yield f"{kind} pending upgrade to version {', '.join(upgrade.plan)}"


class _Kind(NamedTuple):
    """The words for workers of one kind in messages. deferral: the annotations that defer their
    upgrade."""

    name: str
    deferral: str

    def lines(self, upgrade: WorkersUpgrade, version: str) -> Iterator[str]:
        """Return one line for each state of the upgrade. Each group is listed once: as upgrading,
        else as deferred, else as pending."""
        deferred = upgrade.deferred - upgrade.upgrading
        pending = upgrade.pending - upgrade.upgrading - deferred
        if upgrade.upgrading:
            names, later = self._names(upgrade.upgrading), _later_versions(upgrade.plan, version)
            yield f"{names} upgrading to version {version}{later}"
        if pending and upgrade.plan:
            yield f"{self._names(pending)} pending upgrade to version {', '.join(upgrade.plan)}"
        if deferred:
            names = self._names(deferred)
            yield f"{names} upgrade to version {version} deferred using {self.deferral} annotations"
        if upgrade.pending_create:
            names = self._names(upgrade.pending_create)
            yield f"{names} creation deferred while control plane upgrade is in progress"

    def _names(self, names: set[str]) -> str:
        kind, first = self.name if len(names) == 1 else f"{self.name}s", sorted(names)[:3]
        more = f", ... ({len(names) - 3} more)" if len(names) > 3 else ""
        return f"{kind} {', '.join(first)}{more}"


_MACHINE_DEPLOYMENTS: Final = _Kind("MachineDeployment", "defer-upgrade or hold-upgrade-sequence")
_MACHINE_POOLS: Final = _Kind(
    "MachinePool", f"{Annotation.TOPOLOGY_DEFER_UPGRADE} or hold-upgrade-sequence"
)


def _waits_for_user(upgrade: WorkersUpgrade) -> bool:
    """Return whether the upgrade can only go on after user action: no group but deferred ones
    remains.
    """
    return bool(upgrade.deferred) and not (upgrade.upgrading or upgrade.pending - upgrade.deferred)


def _later_versions(plan: list[str], version: str) -> str:
    """Return the later versions of an upgrade, as the end of a message."""
    later = [item for item in plan if item != version]
    return f" ({', '.join(later)} pending)" if later else ""


def _true() -> ConditionPair:
    kind = ConditionType.TOPOLOGY_RECONCILED
    condition = Condition(type=kind, status=TRUE, reason=Reason.RECONCILE_SUCCEEDED, message="")
    return ConditionPair(condition, v1beta1.true(V1Beta1Type.TOPOLOGY_RECONCILED))


def _false_pair(reason: str, message: str) -> ConditionPair:
    legacy = v1beta1.false(V1Beta1Type.TOPOLOGY_RECONCILED, reason, v1beta1.INFO, message)
    return ConditionPair(_false_condition(reason, message), legacy)


def _failed_pair(message: str) -> ConditionPair:
    reason = V1Beta1Reason.TOPOLOGY_RECONCILE_FAILED
    legacy = v1beta1.false(V1Beta1Type.TOPOLOGY_RECONCILED, reason, v1beta1.ERROR, message)
    return ConditionPair(_false_condition(Reason.RECONCILE_FAILED, message), legacy)


def _false_condition(reason: str, message: str) -> Condition:
    return Condition(
        type=ConditionType.TOPOLOGY_RECONCILED, status=FALSE, reason=reason, message=message
    )
