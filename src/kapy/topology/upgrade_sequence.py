"""Computes the versions that are ahead of a managed cluster, before any of its objects is
upgraded."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.contract.control_plane import ControlPlane
from kapy.kube.version import DIFFERENT, InvalidVersion, Version, compare, parse_tolerant
from kapy.topology.blueprint import Blueprint
from kapy.topology.errors import name_failed_step
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hooks import UpgradePlans
from kapy.topology.state import ClusterState
from kapy.topology.upgrade_plan import (
    BadUpgradePlan,
    check_plans,
    class_versions_plan,
    one_minor_plan,
)
from kapy.topology.upgrade_tracker import UpgradeTracker


async def plan_upgrade(
    blueprint: Blueprint, current: ClusterState, upgrades: UpgradeTracker, calls: HookCalls
) -> None:
    """Put the upgrade plans into the tracker; they are empty if everything has the target version.

    Raises BadUpgradePlan, HookError, and CannotCompute if the control plane has no version.
    """
    document = current.control_plane.object
    if document is not None:
        view = ControlPlane(document, blueprint.control_plane.contract)
        with name_failed_step("get the version from control plane spec"):
            control_plane = ControlPlane.version.require(view)
        await _plan(blueprint, current, upgrades, calls, control_plane)
    upgrades.is_planned = True


async def _plan(
    blueprint: Blueprint,
    current: ClusterState,
    upgrades: UpgradeTracker,
    calls: HookCalls,
    control_plane: str,
) -> None:
    target = blueprint.topology.version
    wanted = _parse(target, f"failed to parse Cluster version {target}")
    has = _parse(control_plane, f"failed to parse ControlPlane version {control_plane}")
    oldest = _oldest(_workers(current), has)
    upgrades.oldest_workers = f"v{oldest}" if oldest else ""
    if all(str(version) == str(wanted) for version in (has, oldest) if version):
        return
    if str(has) == str(wanted) and oldest and compare(oldest, wanted, build_tags=True) == DIFFERENT:
        # Upstream cannot compare builds once the control plane has the newer one, and stops for
        # good. But workers only ever follow the control plane.
        plans, workers = UpgradePlans(()), [target]
    else:
        plans = await _plans(blueprint, upgrades, calls, control_plane)
        workers = check_plans(target, control_plane, upgrades.oldest_workers, *plans)
    upgrades.control_plane.plan = list(plans.control_plane)
    if current.machine_deployments:
        upgrades.machine_deployments.plan = list(workers)
    if current.machine_pools:
        upgrades.machine_pools.plan = list(workers)


async def _plans(
    blueprint: Blueprint, upgrades: UpgradeTracker, calls: HookCalls, control_plane: str
) -> UpgradePlans:
    """Return the intermediate versions from a runtime extension, else from the class, else by
    default.
    """
    spec, target = blueprint.cluster_class.spec, blueprint.topology.version
    if extension := spec.upgrade.external.generate_upgrade_plan_extension:
        return await calls.upgrade_plan(extension, control_plane, upgrades.oldest_workers, target)
    if spec.kubernetes_versions:
        versions = spec.kubernetes_versions
        return UpgradePlans(class_versions_plan(versions, target, control_plane))
    return UpgradePlans(one_minor_plan(target, control_plane))


def _workers(current: ClusterState) -> Iterable[Version]:
    """The versions of all workers that have one."""
    for kind, groups in (
        ("MachineDeployment", current.machine_deployments),
        ("MachinePool", current.machine_pools),
    ):
        for state in groups.values():
            name, version = state.object.metadata.name, state.object.spec.template.spec.version
            if version:
                yield _parse(version, f"failed to parse version {version} of {kind} {name}")


def _oldest(versions: Iterable[Version], control_plane: Version) -> Version | None:
    oldest: Version | None = None
    for version in versions:
        if oldest is None or _is_older(version, oldest, control_plane):
            oldest = version
    return oldest


def _is_older(version: Version, than: Version, control_plane: Version) -> bool:
    """Compare versions that differ in build tags only: the control plane's version is the newer
    one, because workers never run ahead of it."""
    order = compare(version, than, build_tags=True)
    return order == -1 or (order == DIFFERENT and str(version) != str(control_plane))


def _parse(text: str, problem: str) -> Version:
    try:
        return parse_tolerant(text)
    except InvalidVersion as error:
        raise BadUpgradePlan(f"{problem}: {error}") from None
