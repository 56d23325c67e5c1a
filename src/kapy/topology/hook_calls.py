"""When extensions are asked about a managed cluster, and what their answers hold.

    calls = HookCalls(cluster, hooks, memory, write)       # hooks: None while the gate is closed
    if not await calls.after_control_plane_upgrade(version, steps):
        return version                                      # an extension holds what comes next

Every question answers whether things may go on. A hook that follows something is owed from the
moment that this begins; the Cluster's annotation says which ones are, so that a restart forgets
none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from kapy.api.cluster import Cluster
from kapy.api.names import CLUSTER_GROUP, Annotation
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.topology.hook_memory import About, HookMemory
from kapy.topology.hooks import (
    Answer,
    Hook,
    HookError,
    LifecycleHooks,
    UpgradePlans,
    UpgradeSteps,
    shown,
)

Write = Callable[[str], Awaitable[None]]
"""Writes the annotation of hooks that are owed; "" takes it away."""

_ANNOTATION_SECONDS = 20 * 60
"""An annotation that holds an upgrade is watched, so nobody has to look again; but an answer that
holds says a time. Twice upstream's sync period."""


class HookCalls:
    """One round of questions about one Cluster, and the answers.

    hooks: None while the RuntimeSDK gate is closed; then everything may go on, and nothing is owed
    anew. write: is called at once, before what the annotation tells of begins.
    """

    def __init__(
        self, cluster: Cluster, hooks: LifecycleHooks | None, memory: HookMemory, write: Write
    ) -> None:
        self._cluster = cluster
        self._hooks = hooks
        self._memory = memory
        self._write = write
        self._owed = _listed(cluster)
        self.answers: dict[Hook, Answer] = {}

    @property
    def is_open(self) -> bool:
        """Whether the RuntimeSDK gate is open."""
        return self._hooks is not None

    def is_owed(self, hook: Hook) -> bool:
        """Whether a hook is still to be called for something that has begun."""
        return hook in self._owed

    @property
    def is_quiet(self) -> bool:
        """Whether no hook was asked in this round, and none is still to be called."""
        return not self.answers and not self._owed

    async def owe(self, *hooks: Hook) -> None:
        """Remember, in the Cluster, that hooks are to be called later."""
        if self.is_open:
            await self._set(self._owed.union(hooks))

    async def _settle(self, hook: Hook) -> None:
        await self._set(self._owed - {hook})

    async def _set(self, owed: Iterable[str]) -> None:
        after = frozenset(owed)
        if after != self._owed:
            self._owed = after
            await self._write(",".join(sorted(after)))

    def is_blocked_by(self, *hooks: Hook) -> bool:
        """Whether an answer of this round holds something."""
        return any(hook in self.answers and self.answers[hook].retry_after for hook in hooks)

    @property
    def retry_after(self) -> int:
        """Seconds until the first one that holds something wants to be asked again; 0 if none."""
        return min((one.retry_after for one in self.answers.values() if one.retry_after), default=0)

    def blocking(self, action: str) -> str:
        """Who holds the action and why, in a sentence; "" if nobody does."""
        said = [
            f"{hook}: {answer.message}" if answer.message else str(hook)
            for hook, answer in self.answers.items()
            if answer.retry_after
        ]
        return f"Following hooks are blocking {action}: {'; '.join(sorted(said))}" if said else ""

    async def before_cluster_create(self) -> bool:
        """To ask before anything of a Cluster is created."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._asked(
            Hook.BEFORE_CLUSTER_CREATE, lambda: hooks.before_cluster_create(shown(self._cluster))
        )

    async def after_control_plane_initialized(self, *, creating: bool, initialized: bool) -> None:
        """To tell once that the control plane is initialized.

        creating: whether nothing of the Cluster is there yet, which is when the hook begins to be
        owed.
        """
        if self._hooks is None:
            return
        hook = Hook.AFTER_CONTROL_PLANE_INITIALIZED
        if creating:
            await self.owe(hook)
        if initialized and self.is_owed(hook):
            told = await self._hooks.after_control_plane_initialized(shown(self._cluster))
            self.answers[hook] = told._replace(retry_after=0)
            await self._settle(hook)

    async def before_cluster_upgrade(self, start: str, target: str, steps: UpgradeSteps) -> bool:
        """To ask before an upgrade, not before each of its steps: once it has begun, the hook that
        follows it is owed. Annotations of users hold an upgrade too."""
        hooks, hook = self._hooks, Hook.BEFORE_CLUSTER_UPGRADE
        if hooks is None or self.is_owed(Hook.AFTER_CLUSTER_UPGRADE):
            return True
        if held := _held_by_annotations(self._cluster):
            self.answers[hook] = Answer(_ANNOTATION_SECONDS, held)
            return False
        return await self._asked(
            hook,
            lambda: hooks.before_cluster_upgrade(shown(self._cluster), start, target, steps),
            *(start, target, steps),
        )

    async def before_control_plane_upgrade(
        self, start: str, target: str, steps: UpgradeSteps
    ) -> bool:
        """To ask before the control plane gets its next version."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._asked(
            Hook.BEFORE_CONTROL_PLANE_UPGRADE,
            lambda: hooks.before_control_plane_upgrade(shown(self._cluster), start, target, steps),
            *(start, target, steps),
        )

    async def after_control_plane_upgrade(self, version: str, steps: UpgradeSteps) -> bool:
        """To ask when the control plane has its next version."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._asked_once(
            Hook.AFTER_CONTROL_PLANE_UPGRADE,
            lambda: hooks.after_control_plane_upgrade(shown(self._cluster), version, steps),
            *(version, steps),
        )

    async def before_workers_upgrade(self, start: str, target: str, steps: UpgradeSteps) -> bool:
        """To ask before workers follow the control plane."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._asked_once(
            Hook.BEFORE_WORKERS_UPGRADE,
            lambda: hooks.before_workers_upgrade(shown(self._cluster), start, target, steps),
            *(start, target, steps),
        )

    async def after_workers_upgrade(self, version: str, steps: UpgradeSteps) -> bool:
        """To ask when the workers have followed the control plane."""
        hooks = self._hooks
        if hooks is None:
            return True
        return await self._asked_once(
            Hook.AFTER_WORKERS_UPGRADE,
            lambda: hooks.after_workers_upgrade(shown(self._cluster), version, steps),
            *(version, steps),
        )

    async def after_cluster_upgrade(self, version: str, *, settled: bool) -> bool:
        """To ask when a whole upgrade is done: everything is settled, and its last steps told."""
        hooks = self._hooks
        steps = self.is_owed(Hook.AFTER_CONTROL_PLANE_UPGRADE) or self.is_owed(
            Hook.AFTER_WORKERS_UPGRADE
        )
        if hooks is None or steps or not settled:
            return True
        return await self._asked_once(
            Hook.AFTER_CLUSTER_UPGRADE,
            lambda: hooks.after_cluster_upgrade(shown(self._cluster), version),
            version,
        )

    async def before_cluster_delete(self) -> bool:
        """To ask before anything of a Cluster is deleted; who goes on says so in the Cluster
        (`Annotation.OK_TO_DELETE`), and need not ask again."""
        hooks = self._hooks
        if hooks is None or Annotation.OK_TO_DELETE in self._cluster.metadata.annotations:
            return True
        return await self._asked(
            Hook.BEFORE_CLUSTER_DELETE, lambda: hooks.before_cluster_delete(shown(self._cluster))
        )

    async def upgrade_plan(
        self, extension: str, control_plane: str, workers: str, target: str
    ) -> UpgradePlans:
        """The versions that an extension wants an upgrade to go through. Raises HookError."""
        if self._hooks is None:
            raise HookError(
                f'can not use GenerateUpgradePlan extension "{extension}" if RuntimeSDK feature '
                "flag is disabled"
            )
        key = (self._cluster.metadata.uid, extension, control_plane, workers, target)
        plans = self._memory.plan(key)
        if plans is None:
            plans = await self._hooks.generate_upgrade_plan(
                extension, shown(self._cluster), control_plane, workers, target
            )
            self._memory.keep_plan(key, plans)
        return plans

    async def _asked_once(
        self, hook: Hook, ask: Callable[[], Awaitable[Answer]], *facts: object
    ) -> bool:
        """Whether things may go on after a hook that is called only while it is owed."""
        if not self.is_owed(hook):
            return True
        goes_on = await self._asked(hook, ask, *facts)
        if goes_on:
            await self._settle(hook)
        return goes_on

    async def _asked(
        self, hook: Hook, ask: Callable[[], Awaitable[Answer]], *facts: object
    ) -> bool:
        """Whether things may go on; an extension that wanted time is not asked before that, unless
        the Cluster is another than before, status aside, or the facts that it is told are."""
        if self._hooks is None or not await self._hooks.is_registered(hook, self._cluster):
            return True
        metadata = self._cluster.metadata
        told = metadata.generation, metadata.labels, facts
        about = About(told, _of_others(metadata.annotations))
        answer = self._memory.answer(metadata.uid, hook, about)
        if answer is None:
            answer = await ask()
            if answer.retry_after:
                self._memory.keep(metadata.uid, hook, about, answer)
        self.answers[hook] = answer
        return not answer.retry_after


def _listed(cluster: Cluster) -> frozenset[str]:
    listed = cluster.metadata.annotations.get(Annotation.PENDING_HOOKS, "")
    return frozenset(listed.split(",")) - {""}


def _of_others(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """What people and products write, without what Cluster API and kubectl keep for themselves."""
    return {
        name: value
        for name, value in annotations.items()
        if name != LAST_APPLIED and not name.partition("/")[0].endswith(CLUSTER_GROUP)
    }


def _held_by_annotations(cluster: Cluster) -> str:
    """Which annotations hold an upgrade, in a sentence; "" if none does."""
    prefix = Annotation.BEFORE_CLUSTER_UPGRADE_HOOK_PREFIX
    held = sorted(one for one in cluster.metadata.annotations if one.startswith(prefix))
    if not held:
        return ""
    are = "annotation {} is set" if len(held) == 1 else "annotations {} are set"
    return are.format(", ".join(held))
