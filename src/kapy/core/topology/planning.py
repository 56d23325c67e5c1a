"""Find out what applying an object would do, before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kapy.client.client import Client
from kapy.contract.external import External
from kapy.core.topology.compatibility import check_compatible
from kapy.core.topology.errors import CannotReconcile, creation_error
from kapy.core.topology.intent import MANAGER, comparable, intent_of, with_dry_run_annotation
from kapy.core.topology.planned import Effect, Planned
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError
from kapy.kube.names import Resource
from kapy.kube.nested import Path
from kapy.kube.patch.merge_patch import difference

_CONFLICT: Final = "server side apply dry-run failed for modified object"


class Planner:
    """Compares existing objects with their intents.

    Usually the object itself shows that nothing would change. Otherwise both the wanted and the
    existing state are applied in dry runs and compared, so that new defaults of a provider version
    never count as a difference.
    """

    def __init__(self, client: Client, external: External, applied: SSACache) -> None:
        self._client = client
        self._external = external
        self._applied = applied

    async def object(self, current: Document | None, desired: Document, *unsaid: Path) -> Planned:
        """Plan an object that keeps its name. Raises CannotReconcile and the client's errors."""
        resource = await self._external.resource_of(desired)
        intent = intent_of(desired, current, unsaid)
        if current is None:
            await self._try_creation(resource, intent)
            return Planned(resource, intent, None, Effect.CREATION)
        check_compatible(current, desired, strictly=True)
        return Planned(
            resource, intent, current, await self._effect(resource, current, intent, unsaid)
        )

    async def own(self, resource: Resource, current: Document | None, desired: Document) -> Planned:
        """Plan an object of a core kind."""
        intent = intent_of(desired, current)
        if current is None:
            await self._try_creation(resource, intent)
            return Planned(resource, intent, None, Effect.CREATION)
        return Planned(resource, intent, current, await self._effect(resource, current, intent, ()))

    async def template(
        self,
        current: Document | None,
        desired: Document,
        next_name: Callable[[str, Document], str],
        *,
        any_kind: bool = False,
    ) -> Planned:
        """Plan a template: a changed spec creates a new object beside the existing one.

        next_name: returns the name of the new one. any_kind: whether its kind may change.
        """
        if current is None:
            return await self.object(None, desired)
        check_compatible(current, desired, any_kind=any_kind)
        resource = await self._external.resource_of(desired)
        intent = intent_of(desired, current)
        if (current["apiVersion"], current["kind"]) == (desired["apiVersion"], desired["kind"]):
            effect = await self._effect(resource, current, intent, ())
            if effect is not Effect.SPEC:
                return Planned(resource, intent, current, effect)
        intent = intent_of(desired, None)
        name = next_name(current["metadata"]["name"], desired)
        intent["metadata"] = {**intent["metadata"], "name": name}
        await self._try_creation(resource, intent)
        return Planned(resource, intent, None, Effect.CREATION, replaces=current)

    async def _try_creation(self, resource: Resource, intent: Document) -> None:
        try:
            await self._client.apply(resource, intent, field_manager=MANAGER, dry_run=True)
        except ApiError as error:
            raise creation_error(intent, error) from error

    async def _effect(
        self, resource: Resource, current: Document, intent: Document, unsaid: Iterable[Path]
    ) -> Effect:
        if self._applied.is_no_op(current, intent, MANAGER):
            return Effect.NOTHING
        who = f"{current['kind']} {Key.of(current)}"
        try:
            wanted = await self._dry_run(resource, intent)
            # Unchanged, with current defaults; its managed fields tell who owns its fields.
            there = await self._dry_run(resource, intent_of(current, current, unsaid))
        except ApiError as error:
            raise CannotReconcile(
                f"failed to create patch helper for {who}: {_CONFLICT}: {error}"
            ) from error
        before = comparable(there, current["metadata"].get("managedFields"), unsaid)
        after = comparable(wanted, wanted["metadata"].get("managedFields"), unsaid)
        if not (change := difference(before, after)):
            self._applied.remember_no_op(current, intent, MANAGER)
            return Effect.NOTHING
        return Effect.SPEC if "spec" in change else Effect.METADATA

    async def _dry_run(self, resource: Resource, intent: Document) -> Document:
        return await self._client.apply(
            resource, with_dry_run_annotation(intent), field_manager=MANAGER, dry_run=True
        )
