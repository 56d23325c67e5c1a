"""Calls the lifecycle hooks of extensions for topologies."""

from __future__ import annotations

from typing import Final

from kapy.api.cluster import Cluster
from kapy.hooks.caller import Caller, Subject
from kapy.hooks.catalog import Catalog
from kapy.hooks.hook import GROUP, AnyHook
from kapy.hooks.messages.generate_upgrade_plan import GENERATE_UPGRADE_PLAN
from kapy.hooks.messages.lifecycle import (
    AFTER_CLUSTER_UPGRADE,
    AFTER_CONTROL_PLANE_INITIALIZED,
    AFTER_CONTROL_PLANE_UPGRADE,
    AFTER_WORKERS_UPGRADE,
    BEFORE_CLUSTER_CREATE,
    BEFORE_CLUSTER_DELETE,
    BEFORE_CLUSTER_UPGRADE,
    BEFORE_CONTROL_PLANE_UPGRADE,
    BEFORE_WORKERS_UPGRADE,
    steps_of,
)
from kapy.hooks.messages.message import Request, RetryResponse
from kapy.kube.errors import KapyError
from kapy.kube.meta import to_document
from kapy.topology.hooks import Answer, Hook, HookError, UpgradePlans, UpgradeSteps

KIND: Final = Cluster.RESOURCE.kind


class Lifecycle:
    """Calls all extensions that serve a hook (a `kapy.topology.hooks.LifecycleHooks`)."""

    def __init__(self, caller: Caller, catalog: Catalog) -> None:
        self._caller = caller
        self._newest = {hook.name: hook for hook in catalog if hook.group == GROUP}

    async def is_registered(self, hook: Hook, cluster: Cluster) -> bool:
        try:
            return bool(self._caller.handlers_of(self._newest[hook.value], subject_of(cluster)))
        except KapyError as error:
            raise HookError(str(error)) from error

    async def _call(self, hook: AnyHook, cluster: Cluster, request: Request) -> Answer:
        try:
            response = await self._caller.call_all(hook, subject_of(cluster), request)
        except KapyError as error:
            raise HookError(str(error)) from error
        wait = response.waits if isinstance(response, RetryResponse) else 0
        return Answer(wait, response.message)

    async def _before(
        self,
        hook: AnyHook,
        cluster: Cluster,
        versions: tuple[str, str],
        steps: UpgradeSteps,
    ) -> Answer:
        request = hook.request(
            cluster=to_document(cluster),
            from_kubernetes_version=versions[0],
            to_kubernetes_version=versions[1],
            control_plane_upgrades=steps_of(steps.control_plane),
            workers_upgrades=steps_of(steps.workers),
        )
        return await self._call(hook, cluster, request)

    async def _after(
        self, hook: AnyHook, cluster: Cluster, version: str, steps: UpgradeSteps
    ) -> Answer:
        request = hook.request(
            cluster=to_document(cluster),
            kubernetes_version=version,
            control_plane_upgrades=steps_of(steps.control_plane),
            workers_upgrades=steps_of(steps.workers),
        )
        return await self._call(hook, cluster, request)

    async def before_cluster_create(self, cluster: Cluster) -> Answer:
        hook = BEFORE_CLUSTER_CREATE
        return await self._call(hook, cluster, hook.request(cluster=to_document(cluster)))

    async def after_control_plane_initialized(self, cluster: Cluster) -> Answer:
        hook = AFTER_CONTROL_PLANE_INITIALIZED
        return await self._call(hook, cluster, hook.request(cluster=to_document(cluster)))

    async def before_cluster_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        return await self._before(BEFORE_CLUSTER_UPGRADE, cluster, (start, target), steps)

    async def before_control_plane_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        return await self._before(BEFORE_CONTROL_PLANE_UPGRADE, cluster, (start, target), steps)

    async def after_control_plane_upgrade(
        self, cluster: Cluster, version: str, steps: UpgradeSteps
    ) -> Answer:
        return await self._after(AFTER_CONTROL_PLANE_UPGRADE, cluster, version, steps)

    async def before_workers_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        return await self._before(BEFORE_WORKERS_UPGRADE, cluster, (start, target), steps)

    async def after_workers_upgrade(
        self, cluster: Cluster, version: str, steps: UpgradeSteps
    ) -> Answer:
        return await self._after(AFTER_WORKERS_UPGRADE, cluster, version, steps)

    async def after_cluster_upgrade(self, cluster: Cluster, version: str) -> Answer:
        hook = AFTER_CLUSTER_UPGRADE
        request = hook.request(cluster=to_document(cluster), kubernetes_version=version)
        return await self._call(hook, cluster, request)

    async def before_cluster_delete(self, cluster: Cluster) -> Answer:
        hook = BEFORE_CLUSTER_DELETE
        return await self._call(hook, cluster, hook.request(cluster=to_document(cluster)))

    async def generate_upgrade_plan(
        self, extension: str, cluster: Cluster, control_plane: str, workers: str, target: str
    ) -> UpgradePlans:
        request = GENERATE_UPGRADE_PLAN.request(
            cluster=to_document(cluster),
            from_control_plane_kubernetes_version=control_plane,
            from_workers_kubernetes_version=workers,
            to_kubernetes_version=target,
        )
        subject = subject_of(cluster)
        try:
            plan = await self._caller.call(GENERATE_UPGRADE_PLAN, extension, subject, request)
        except KapyError as error:
            raise HookError(str(error)) from error
        return UpgradePlans(
            [upgrade.version for upgrade in plan.control_plane_upgrades],
            [upgrade.version for upgrade in plan.workers_upgrades],
        )


def subject_of(cluster: Cluster) -> Subject:
    """Return a Cluster as the subject of a hook call."""
    return Subject(KIND, cluster.key)
