"""The plan of the writes for one Cluster: the effect of applying each object, known before the
first write.

An object may replace another one only if both are compatible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from kapy.client.client import Client
from kapy.contract.external import External
from kapy.core.topology.errors import CannotReconcile, creation_error
from kapy.core.topology.intent import MANAGER, comparable, intent_of, with_dry_run_annotation
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError
from kapy.kube.field_errors import FieldError, aggregate, forbidden
from kapy.kube.names import GroupKind, Resource, split_api_version
from kapy.kube.nested import Path
from kapy.kube.patch.merge_patch import difference

_CONFLICT: Final = "server side apply dry-run failed for modified object"


class Effect(Enum):
    """The effect of applying an object."""

    NOTHING = "nothing"
    METADATA = "metadata"
    SPEC = "spec"
    CREATION = "creation"


@dataclass(slots=True)
class Planned:
    """One object to apply.

    intent: the apply configuration. current: the existing object, None if there is none. replaces:
    the template that this new one replaces.
    """

    resource: Resource
    intent: Document
    current: Document | None
    effect: Effect
    replaces: Document | None = None

    @property
    def is_change(self) -> bool:
        """Return whether applying the object changes anything."""
        return self.effect is not Effect.NOTHING

    @property
    def creates(self) -> bool:
        """Return whether applying the object creates a new one."""
        return self.effect is Effect.CREATION


@dataclass(slots=True)
class PlannedDeletion:
    """An object to be deleted."""

    resource: Resource
    document: Document


@dataclass(slots=True)
class Parts:
    """An object of a cluster with its dependencies, in the order of writing.

    dependencies: templates, or the objects of a MachinePool. object: None if it may not be written
    now. health_check: None if nothing has to be done about it.
    """

    dependencies: list[Planned] = field(default_factory=list)
    object: Planned | PlannedDeletion | None = None
    health_check: Planned | PlannedDeletion | None = None

    def all(self) -> Iterator[Planned | PlannedDeletion]:
        """Return all planned writes."""
        objects = (self.health_check, *self.dependencies, self.object)
        return (obj for obj in objects if obj is not None and _is_change(obj))


@dataclass(slots=True)
class Plan:
    """The plan of all writes for one Cluster.

    cluster: the merge patch of the Cluster itself. deployments, pools: the writes of
    MachineDeployments and MachinePools, by topology name. deletions: workers that were removed from
    the topology.
    """

    infrastructure: Planned
    control_plane: Parts
    cluster: Document
    deployments: dict[str, Parts] = field(default_factory=dict)
    pools: dict[str, Parts] = field(default_factory=dict)
    deletions: list[Parts] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Return whether the plan has no writes."""
        parts = (
            self.control_plane,
            *self.deployments.values(),
            *self.pools.values(),
            *self.deletions,
        )
        changes = self.infrastructure.is_change or self.cluster
        return not changes and not any(True for part in parts for _ in part.all())


def _is_change(planned: Planned | PlannedDeletion) -> bool:
    return isinstance(planned, PlannedDeletion) or planned.is_change


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
        """Plan the write of an object that keeps its name. Raises CannotReconcile and the client's
        errors.
        """
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
        """Plan the write of an object of a core kind."""
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
        """Plan the write of a template: a changed spec creates a new template beside the existing
        one.

        next_name: returns the name of the new template. any_kind: whether the kind may change.
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


def check_compatible(
    current: Document, desired: Document, *, strictly: bool = False, any_kind: bool = False
) -> None:
    """Raise CannotReconcile unless `desired` may replace `current`.

    strictly: the name must be the same. any_kind: any kind in the same namespace is allowed.
    """
    errors: list[FieldError] = []
    if strictly:
        errors += _name_errors(current, desired)
    if not any_kind:
        errors += _kind_errors(current, desired)
    errors += _namespace_errors(current, desired)
    if errors:
        raise CannotReconcile(aggregate(errors))


def _kind(document: Document) -> GroupKind:
    return GroupKind(split_api_version(document["apiVersion"])[0], document["kind"])


def _name_errors(current: Document, desired: Document) -> Iterator[FieldError]:
    was, is_ = current["metadata"]["name"], desired["metadata"]["name"]
    if was != is_:
        yield forbidden(
            "metadata.name",
            f'metadata.name of {_kind(current)}/{was} cannot be changed from "{was}" to "{is_}" to '
            "prevent incompatible changes in the Cluster",
        )


def _kind_errors(current: Document, desired: Document) -> Iterator[FieldError]:
    before, after, name = _kind(current), _kind(desired), current["metadata"]["name"]
    for attribute, what, was, is_ in (
        ("apiVersion", "group", before.group, after.group),
        ("kind", "kind", before.kind, after.kind),
    ):
        if was != is_:
            yield forbidden(
                f"metadata.{attribute}",
                f'apiVersion.{what} of {before}/{name} cannot be changed from "{was}" to "{is_}" '
                "to prevent incompatible changes in the Cluster",
            )


def _namespace_errors(current: Document, desired: Document) -> Iterator[FieldError]:
    was, is_ = (item["metadata"].get("namespace", "") for item in (current, desired))
    if was != is_:
        yield forbidden(
            "metadata.namespace",
            f"metadata.namespace of {_kind(current)}/{current['metadata']['name']} cannot be "
            f'changed from "{was}" to "{is_}" because templates must be in the same namespace as '
            "the Cluster",
        )
