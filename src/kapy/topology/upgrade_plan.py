"""The versions on the way to a managed cluster's target version, computed before any of its objects
is upgraded.

The control plane takes one step for each minor version. Workers take as few steps as the version
skew policy of Kubernetes allows. Version strings stay as given, also in errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kapy.contract.control_plane import ControlPlane
from kapy.kube.errors import KapyError
from kapy.kube.version import DIFFERENT, InvalidVersion, Version, compare, parse_tolerant
from kapy.topology.blueprint import Blueprint
from kapy.topology.errors import name_failed_step
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hooks import UpgradePlans
from kapy.topology.state import ClusterState
from kapy.topology.upgrade_tracker import UpgradeTracker

WORKERS_BEHIND: Final = 3
"""The maximum number of minor versions by which workers may be behind their control plane."""


class BadUpgradePlan(KapyError):
    """There is no upgrade plan, or the given one does not lead to the target version."""


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


def one_minor_plan(desired: str, control_plane: str) -> list[str]:
    """Return the control plane's plan if the available versions are unknown: the target version,
    which may be at most one minor version ahead.
    """
    wanted = _parse(desired, "failed to parse desired version")
    current = _parse(control_plane, "failed to parse current ControlPlane version")
    if str(current) == str(wanted):
        return []
    if wanted.minor > current.minor + 1:
        raise BadUpgradePlan(f"cannot compute an upgrade plan from {control_plane} to {desired}")
    return [desired]


def class_versions_plan(versions: Sequence[str], desired: str, control_plane: str) -> list[str]:
    """Return the control plane's plan from the versions of a ClusterClass (oldest first): the last
    patch version of each minor version, up to the target version.
    """
    wanted = _parse(desired, "failed to parse desired version")
    current = _parse(control_plane, "failed to parse current ControlPlane version")
    if str(current) == str(wanted):
        return []
    ahead: dict[str, Version] = {}
    for text in versions:
        version = _parse(text, f"failed to parse version {text}")
        if compare(version, current) <= 0:
            continue
        if compare(version, wanted, build_tags=True) == 1:
            break
        ahead[text] = version
        if str(version) == str(wanted):
            break
    return _last_of_minors(ahead, current.minor, same=current.minor == wanted.minor)


def _last_of_minors(ahead: Mapping[str, Version], minor: int, *, same: bool) -> list[str]:
    """Return the last version of each minor version. same: the upgrade stays within one minor
    version.
    """
    plan = list(ahead)[:1] if same else []
    for text, version in ahead.items():
        if version.minor > minor:
            plan.append(text)
        elif version.minor == minor and plan:
            plan[-1] = text
        minor = version.minor
    return plan


def check_plans(
    desired: str,
    control_plane: str,
    oldest_workers: str,
    control_plane_plan: Sequence[str],
    workers_plan: Sequence[str],
) -> list[str]:
    """Check that both plans lead to the target version; compute the workers' plan if none is given.

    oldest_workers: the oldest version of workers, "" without workers. If no intermediate version is
    known, the plan is empty, as in upstream. Raises BadUpgradePlan.
    """
    wanted = _parse(desired, f"failed to parse Cluster version {desired}")
    current = _parse(control_plane, f"failed to parse ControlPlane version {control_plane}")
    oldest = None
    if oldest_workers:
        oldest = _parse(oldest_workers, f"failed to parse min workers version {oldest_workers}")
    context = _Known(control_plane, current)
    _check_control_plane(desired, wanted, current, control_plane_plan, context)
    if oldest is None or compare(oldest, wanted, build_tags=True) == 0:
        if workers_plan:
            raise BadUpgradePlan(
                "invalid worker upgrade plan; there are no workers or workers already at the "
                "desired version"
            )
        return []
    if control_plane_plan:
        strange = set(workers_plan) - {*control_plane_plan, control_plane}
        if strange:
            raise BadUpgradePlan(
                f"invalid workers upgrade plan: versions {','.join(sorted(strange))} doesn't match "
                "any versions in the control plane upgrade plan nor the control plane version"
            )
    plan = list(workers_plan) or _workers_plan(desired, wanted.minor, oldest.minor, context)
    if plan:
        _check_workers(desired, wanted, oldest, plan, context)
    return plan


@dataclass(slots=True)
class _Known:
    """The control plane's current and future versions with their minor versions, and their order,
    which semantic versions with different build tags do not have."""

    control_plane: str
    current: Version
    minors: dict[int, str] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.minors[self.current.minor] = self.control_plane
        self.order[self.control_plane] = -1


def _check_control_plane(
    desired: str, desired_version: Version, current: Version, plan: Sequence[str], versions: _Known
) -> None:
    problem = "invalid ControlPlane upgrade plan:"
    if compare(current, desired_version, build_tags=True) == 0:
        if plan:
            raise BadUpgradePlan(f"{problem} control plane is already at the desired version")
        return
    for number, text in enumerate(plan):
        versions.order[text] = number
        item = f"{problem} item {number};"
        target = _parse(text, f"{item} failed to parse version {text}")
        if compare(target, current, build_tags=True) <= 0:
            raise BadUpgradePlan(f"{item} version {text} must be greater than v{current}")
        if target.minor not in (current.minor, current.minor + 1):
            raise BadUpgradePlan(
                f"{item} expecting a version with minor {current.minor} or {current.minor + 1}, "
                f"found version {text}"
            )
        versions.minors[target.minor] = text
        current = target
    if compare(current, desired_version, build_tags=True) != 0:
        raise BadUpgradePlan(
            f"{problem} control plane upgrade plan must end with version {desired}, ends with "
            f"v{current} instead"
        )


def _workers_plan(desired: str, count: int, oldest: int, versions: _Known) -> list[str]:
    """Return the upgrade plan of the workers: as few versions as the version skew policy allows,
    the last one being the target version.

    The plan is empty if an intermediate version is unknown, or if the workers are ahead.
    """
    between = range(oldest + WORKERS_BEHIND, count, WORKERS_BEHIND)
    if count < oldest or not all(minor in versions.minors for minor in between):
        return []
    plan = [versions.minors[minor] for minor in between]
    return plan if plan[-1:] == [desired] else [*plan, desired]


def _check_workers(
    desired: str, desired_version: Version, current: Version, plan: Sequence[str], versions: _Known
) -> None:
    for number, text in enumerate(plan):
        item = f"invalid workers upgrade plan, item {number};"
        target = _parse(text, f"{item} failed to parse version {text}")
        order = compare(target, current, build_tags=True)
        if order <= 0:
            raise BadUpgradePlan(f"{item} version {text} must be greater than v{current}")
        if order == DIFFERENT:
            _check_order(item, text, f"v{current}", versions)
        if not 0 <= target.minor - current.minor <= WORKERS_BEHIND:
            raise BadUpgradePlan(
                f"{item} workers cannot go from minor {current.minor} (v{current}) to minor "
                f"{target.minor} ({text}), an intermediate step is required to comply with "
                "Kubernetes version skew rules"
            )
        current = target
    if compare(current, desired_version, build_tags=True) != 0:
        raise BadUpgradePlan(
            f"invalid workers upgrade plan; workers upgrade plan must end with version {desired}, "
            f"ends with v{current} instead"
        )


def _check_order(item: str, target: str, current: str, versions: _Known) -> None:
    """Check versions that differ in build tags only: they must follow the control plane's order."""
    if target not in versions.order:
        raise BadUpgradePlan(f"{item} failer to determine version {target} order")
    if current not in versions.order:
        raise BadUpgradePlan(f"failer to determine version {current} order")
    if versions.order[target] < versions.order[current]:
        raise BadUpgradePlan(f"{item} version {target} must be before {current}")


def _parse(text: str, problem: str) -> Version:
    try:
        return parse_tolerant(text)
    except InvalidVersion as error:
        raise BadUpgradePlan(f"{problem}: {error}") from None
