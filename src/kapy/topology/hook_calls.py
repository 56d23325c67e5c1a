"""Calls of the runtime hooks of a managed cluster, and the steps that their answers block.

    calls = HookCalls(cluster, hooks, memory, write)       # hooks: None while the gate is closed
    if not await calls.after_control_plane_upgrade(version, steps):
        return version                                      # an extension holds what comes next

Every method that calls a hook answers whether the operation may go on. A hook that follows an
operation is pending from the moment that the operation begins. The Cluster's annotation lists the
pending hooks, so that a restart loses none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from kapy.api.cluster import Cluster
from kapy.api.names import CLUSTER_GROUP, Annotation
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.topology.hook_cache import CacheInputs, HookCache
from kapy.topology.hooks import (
    Answer,
    Hook,
    HookError,
    LifecycleHooks,
    UpgradePlans,
    UpgradeSteps,
    hook_view,
)

Write = Callable[[str], Awaitable[None]]
"""Writes the annotation with the pending hooks; "" removes it."""

_ANNOTATION_SECONDS = 20 * 60
"""The retry time while an annotation blocks an upgrade: twice upstream's sync period. The Cluster
is watched, so removing the annotation takes effect at once; but a blocking answer needs a retry
time."""


class HookCalls:
    """The hook calls of one reconcile of a Cluster, and their answers.

    hooks: None while the RuntimeSDK gate is closed; then nothing is blocked and no hook becomes
    pending. write: writes the annotation of pending hooks; it is called before the operation
    begins.
    """

    def __init__(
        self, cluster: Cluster, hooks: LifecycleHooks | None, memory: HookCache, write: Write
    ) -> None:
        self._cluster = cluster
        self._hooks = hooks
        self._memory = memory
        self._write = write
        self._owed = _pending_hooks(cluster)
        self.answers: dict[Hook, Answer] = {}

    @property
    def is_open(self) -> bool:
        """Whether the RuntimeSDK gate is open."""
        return self._hooks is not None

    def is_pending(self, hook: Hook) -> bool:
        """Return whether a hook is pending: its operation has begun and the hook must still be
        called.
        """
        return hook in self._owed

    @property
    def is_quiet(self) -> bool:
        """Whether this reconcile called no hook and none is pending."""
        return not self.answers and not self._owed

    async def mark_pending(self, *hooks: Hook) -> None:
        """Record hooks as pending in the Cluster."""
        if self.is_open:
            await self._write_pending(self._owed.union(hooks))

    async def _unmark_pending(self, hook: Hook) -> None:
        await self._write_pending(self._owed - {hook})

    async def _write_pending(self, pending: Iterable[str]) -> None:
        after = frozenset(pending)
        if after != self._owed:
            self._owed = after
            await self._write(",".join(sorted(after)))

    def is_blocked_by(self, *hooks: Hook) -> bool:
        """Return whether one of these hooks answered in this reconcile that the operation must
        wait.
        """
        return any(hook in self.answers and self.answers[hook].retry_after for hook in hooks)

    @property
    def retry_after(self) -> int:
        """Seconds until the first blocking hook is to be called again; 0 if none blocks."""
        return min(
            (answer.retry_after for answer in self.answers.values() if answer.retry_after),
            default=0,
        )

    def blocking_message(self, action: str) -> str:
        """Return a sentence with the hooks that block the action and their messages; "" if none
        does.
        """
        result = [
            f"{hook}: {answer.message}" if answer.message else str(hook)
            for hook, answer in self.answers.items()
            if answer.retry_after
        ]
        return (
            f"Following hooks are blocking {action}: {'; '.join(sorted(result))}" if result else ""
        )

    async def before_cluster_create(self) -> bool:
        """Call BeforeClusterCreate before any object of a Cluster is created."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._call(
            Hook.BEFORE_CLUSTER_CREATE,
            lambda: hooks.before_cluster_create(hook_view(self._cluster)),
        )

    async def after_control_plane_initialized(self, *, creating: bool, initialized: bool) -> None:
        """Call AfterControlPlaneInitialized once the control plane is initialized.

        creating: the Cluster has no objects yet; the hook becomes pending at that time.
        """
        if self._hooks is None:
            return
        hook = Hook.AFTER_CONTROL_PLANE_INITIALIZED
        if creating:
            await self.mark_pending(hook)
        if initialized and self.is_pending(hook):
            answer = await self._hooks.after_control_plane_initialized(hook_view(self._cluster))
            self.answers[hook] = answer._replace(retry_after=0)
            await self._unmark_pending(hook)

    async def before_cluster_upgrade(self, start: str, target: str, steps: UpgradeSteps) -> bool:
        """Call BeforeClusterUpgrade before an upgrade, but not before each of its steps: once the
        upgrade has begun, AfterClusterUpgrade is pending. Annotations of users can block an
        upgrade, too."""
        hooks, hook = self._hooks, Hook.BEFORE_CLUSTER_UPGRADE
        if hooks is None or self.is_pending(Hook.AFTER_CLUSTER_UPGRADE):
            return True
        if held := _blocking_annotations_message(self._cluster):
            self.answers[hook] = Answer(_ANNOTATION_SECONDS, held)
            return False
        return await self._call(
            hook,
            lambda: hooks.before_cluster_upgrade(hook_view(self._cluster), start, target, steps),
            *(start, target, steps),
        )

    async def before_control_plane_upgrade(
        self, start: str, target: str, steps: UpgradeSteps
    ) -> bool:
        """Call BeforeControlPlaneUpgrade before the control plane gets its next version."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._call(
            Hook.BEFORE_CONTROL_PLANE_UPGRADE,
            lambda: hooks.before_control_plane_upgrade(
                hook_view(self._cluster), start, target, steps
            ),
            *(start, target, steps),
        )

    async def after_control_plane_upgrade(self, version: str, steps: UpgradeSteps) -> bool:
        """Call AfterControlPlaneUpgrade when the control plane has its next version."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._call_once(
            Hook.AFTER_CONTROL_PLANE_UPGRADE,
            lambda: hooks.after_control_plane_upgrade(hook_view(self._cluster), version, steps),
            *(version, steps),
        )

    async def before_workers_upgrade(self, start: str, target: str, steps: UpgradeSteps) -> bool:
        """Call BeforeWorkersUpgrade before workers follow the control plane."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._call_once(
            Hook.BEFORE_WORKERS_UPGRADE,
            lambda: hooks.before_workers_upgrade(hook_view(self._cluster), start, target, steps),
            *(start, target, steps),
        )

    async def after_workers_upgrade(self, version: str, steps: UpgradeSteps) -> bool:
        """Call AfterWorkersUpgrade when the workers have followed the control plane."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._call_once(
            Hook.AFTER_WORKERS_UPGRADE,
            lambda: hooks.after_workers_upgrade(hook_view(self._cluster), version, steps),
            *(version, steps),
        )

    async def after_cluster_upgrade(self, version: str, *, settled: bool) -> bool:
        """Call AfterClusterUpgrade when the whole upgrade is done and the hooks of its last steps
        were called."""
        hooks = self._hooks
        steps = self.is_pending(Hook.AFTER_CONTROL_PLANE_UPGRADE) or self.is_pending(
            Hook.AFTER_WORKERS_UPGRADE
        )
        if hooks is None or steps or not settled:
            return True
        return await self._call_once(
            Hook.AFTER_CLUSTER_UPGRADE,
            lambda: hooks.after_cluster_upgrade(hook_view(self._cluster), version),
            version,
        )

    async def before_cluster_delete(self) -> bool:
        """Call BeforeClusterDelete before any object of a Cluster is deleted. The caller that goes
        on records this in the Cluster (`Annotation.OK_TO_DELETE`) and need not call the hook again.
        """
        hooks = self._hooks
        if hooks is None or Annotation.OK_TO_DELETE in self._cluster.metadata.annotations:
            return True
        return await self._call(
            Hook.BEFORE_CLUSTER_DELETE,
            lambda: hooks.before_cluster_delete(hook_view(self._cluster)),
        )

    async def upgrade_plan(
        self, extension: str, control_plane: str, workers: str, target: str
    ) -> UpgradePlans:
        """Return the intermediate versions that a runtime extension plans for an upgrade. Raises
        HookError.
        """
        if self._hooks is None:
            raise HookError(
                f'can not use GenerateUpgradePlan extension "{extension}" if RuntimeSDK feature '
                "flag is disabled"
            )
        key = (self._cluster.metadata.uid, extension, control_plane, workers, target)
        plans = self._memory.plan(key)
        if plans is None:
            plans = await self._hooks.generate_upgrade_plan(
                extension, hook_view(self._cluster), control_plane, workers, target
            )
            self._memory.keep_plan(key, plans)
        return plans

    async def _call_once(
        self, hook: Hook, ask: Callable[[], Awaitable[Answer]], *facts: object
    ) -> bool:
        """Call a hook only while it is pending; answers whether the operation may go on."""
        if not self.is_pending(hook):
            return True
        goes_on = await self._call(hook, ask, *facts)
        if goes_on:
            await self._unmark_pending(hook)
        return goes_on

    async def _call(self, hook: Hook, ask: Callable[[], Awaitable[Answer]], *facts: object) -> bool:
        """Call a hook; answers whether the operation may go on.

        A blocking answer is reused until its retry time, unless the Cluster (except its status) or
        the facts in the request have changed.
        """
        if self._hooks is None or not await self._hooks.is_registered(hook, self._cluster):
            return True
        metadata = self._cluster.metadata
        cached = metadata.generation, metadata.labels, facts
        about = CacheInputs(cached, _foreign_annotations(metadata.annotations))
        answer = self._memory.answer(metadata.uid, hook, about)
        if answer is None:
            answer = await ask()
            if answer.retry_after:
                self._memory.keep(metadata.uid, hook, about, answer)
        self.answers[hook] = answer
        return not answer.retry_after


def _pending_hooks(cluster: Cluster) -> frozenset[str]:
    listed = cluster.metadata.annotations.get(Annotation.PENDING_HOOKS, "")
    return frozenset(listed.split(",")) - {""}


def _foreign_annotations(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """Return the annotations of users and other products, without those of Cluster API and
    kubectl.
    """
    return {
        name: value
        for name, value in annotations.items()
        if name != LAST_APPLIED and not name.partition("/")[0].endswith(CLUSTER_GROUP)
    }


def _blocking_annotations_message(cluster: Cluster) -> str:
    """Return a sentence with the annotations that block an upgrade; "" if none does."""
    prefix = Annotation.BEFORE_CLUSTER_UPGRADE_HOOK_PREFIX
    held = sorted(
        annotation for annotation in cluster.metadata.annotations if annotation.startswith(prefix)
    )
    if not held:
        return ""
    are = "annotation {} is set" if len(held) == 1 else "annotations {} are set"
    return are.format(", ".join(held))
