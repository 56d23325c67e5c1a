"""The version that a control plane should have now on its way to the target version."""

from __future__ import annotations

from kapy.contract.control_plane import ControlPlane
from kapy.topology.desired.inputs import Inputs
from kapy.topology.hooks import Hook
from kapy.topology.upgrade_plan import BadUpgradePlan


async def control_plane_version(inputs: Inputs) -> str:
    """The target version for a new control plane; otherwise its current version or the next version
    of the upgrade plan.

    Runtime extensions are called on the way: first the hooks that follow the previous step, even if
    the control plane has its target version. Results are recorded in `inputs.upgrades`.
    """
    target, document = inputs.blueprint.topology.version, inputs.current.control_plane.object
    if document is None:
        return target
    view = ControlPlane(document, inputs.blueprint.control_plane.contract)
    has = ControlPlane.version.require(view)
    upgrade = inputs.upgrades.control_plane
    upgrade.pending = has != target
    upgrade.provisioning = view.is_provisioning
    upgrade.upgrading = not upgrade.provisioning and view.is_upgrading
    if upgrade.provisioning or upgrade.upgrading:
        return has
    if not await _is_previous_step_over(inputs, has) or not upgrade.pending:
        return has
    return await _next_version(inputs, has)


async def _is_previous_step_over(inputs: Inputs, has: str) -> bool:
    """Whether the workers have followed the control plane's last step and no hook blocks the next
    one."""
    calls, upgrades = inputs.calls, inputs.upgrades
    if not await calls.after_control_plane_upgrade(has, inputs.steps):
        return False
    if not await calls.before_workers_upgrade(upgrades.oldest_workers, has, inputs.steps):
        return False
    workers = (upgrades.machine_deployments, upgrades.machine_pools)
    if any(worker.plan[:1] == [has] for worker in workers):
        upgrades.control_plane.waiting_for_workers = True
        return False
    if any(worker.upgrading for worker in workers):
        return False
    return await calls.after_workers_upgrade(has, inputs.steps)


async def _next_version(inputs: Inputs, has: str) -> str:
    """The next version of the plan, or the current one while a hook blocks the upgrade.

    The hooks that follow a step are recorded as pending before the step begins, so they are not
    lost.
    """
    calls, upgrade = inputs.calls, inputs.upgrades.control_plane
    target = inputs.blueprint.topology.version
    if not await calls.before_cluster_upgrade(has, target, inputs.steps):
        return has
    await calls.mark_pending(Hook.AFTER_CLUSTER_UPGRADE)
    if not upgrade.plan:
        raise BadUpgradePlan(
            "cannot compute the control plane version if the control plane is pending upgrade and "
            "the upgrade plan is not set"
        )
    following = upgrade.plan[0]
    if not await calls.before_control_plane_upgrade(has, following, inputs.steps):
        return has
    await calls.mark_pending(*_hooks_after(inputs, following))
    upgrade.starting, upgrade.pending = True, False
    return following


def _hooks_after(inputs: Inputs, version: str) -> list[Hook]:
    """The hooks that follow a control plane step, including those of workers if they take the step,
    too."""
    upgrades = inputs.upgrades
    hooks = [Hook.AFTER_CONTROL_PLANE_UPGRADE]
    if any(
        workers_upgrade.plan[:1] == [version]
        for workers_upgrade in (upgrades.machine_deployments, upgrades.machine_pools)
    ):
        hooks += [Hook.BEFORE_WORKERS_UPGRADE, Hook.AFTER_WORKERS_UPGRADE]
    return hooks
