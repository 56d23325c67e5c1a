"""The controller that migrates the objects of CRDs whose generation has changed."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kapy._aio.clock import Clock
from kapy.api.names import Annotation
from kapy.client.client import Client
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.crd_migration.managed_fields import clean_up, served_versions
from kapy.engine.crd_migration.phases import PHASES, Phase
from kapy.engine.crd_migration.storage_version import (
    MigrationFailed,
    is_required,
    resource_of,
    rewrite,
    storage_version,
    trim_stored_versions,
)
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, Resource

log = logging.getLogger(__name__)

OBSERVED: Final = Annotation.CRD_MIGRATION_OBSERVED_GENERATION


def add_crd_migration(
    runtime: Runtime,
    kinds: Mapping[str, bool],
    *,
    skipped: Collection[Phase] = (),
    metadata: bool = True,
) -> Controller | None:
    """Add the controller to a runtime; return None if all phases are skipped.

    kinds: names of CRDs, and whether their objects are rewritten through the status subresource.
    metadata: watch only the metadata of CRDs; False for a program that watches CRDs anyway.
    """
    phases = frozenset(PHASES).difference(skipped)
    if not phases:
        return None
    definitions = runtime.cache.informer(CRDS, metadata=metadata)
    migrator = _Migrator(runtime.client, definitions, kinds, phases, runtime.clock)
    # One object at a time, so that a migration does not overload the API server.
    controller = Controller("crdmigrator", migrator.reconcile, concurrency=1)
    controller.watch(definitions, migrator.keys)
    # Neither label selectors nor resyncs apply to CRDs, so it is added without an informer.
    runtime.add(controller)
    if runtime.shards is not None:
        runtime.shards.share(controller, definitions)
    return controller


def is_observed(crd: Document) -> bool:
    """Return whether the objects of this generation of a CRD have been migrated."""
    metadata = crd["metadata"]
    observed = (metadata.get("annotations") or {}).get(OBSERVED)
    return bool(observed == str(metadata.get("generation", 0)))


class _Migrator:
    """Reconciles CRDs."""

    def __init__(
        self,
        client: Client,
        definitions: Informer[Document],
        kinds: Mapping[str, bool],
        phases: Collection[Phase],
        clock: Clock,
    ) -> None:
        self._client = client
        self._definitions = definitions
        self._kinds = kinds
        self._phases = phases
        self._clock = clock
        # Objects that were patched already when the migration of others failed, with the generation
        # of their CRD.
        self._rewritten: dict[str, tuple[int, set[Key]]] = {}

    def keys(self, change: Change) -> Iterable[Key]:
        """Map the change of a CRD to its key if its objects are migrated here."""
        key = Key.of(change.document)
        if key.name in self._kinds:
            yield key

    async def reconcile(self, key: Key) -> Result:
        """Migrate the objects of a CRD, unless that has been done for its generation."""
        document = self._definitions.raw(key)
        if key.name not in self._kinds or document is None or is_observed(document):
            return DONE
        try:
            crd = await self._client.get(CRDS, key)
        except NotFound:
            return DONE
        if not is_observed(crd):
            await self._migrate(crd)
        return DONE

    async def _migrate(self, crd: Document) -> None:
        """Run the phases and record the generation. Raises MigrationFailed, ApiError."""
        generation = crd["metadata"].get("generation", 0)
        storage = storage_version(crd)
        resource = resource_of(crd, storage)
        outdated = "StorageVersionMigration" in self._phases and is_required(crd, storage)
        cleans = "CleanupManagedFields" in self._phases
        objects = await self._objects(resource) if outdated or cleans else []
        if outdated:
            await self._rewrite(crd, resource, objects)
            crd = await trim_stored_versions(self._client, crd, storage)
        if cleans and objects:
            served = served_versions(crd)
            errors = await clean_up(self._client, resource, objects, served, self._clock())
            _check(errors, f"failed to clean up managedFields of {resource.kind} objects")
        # A change of the CRD in between changes its generation, so the CRD is reconciled again.
        patch = {"metadata": {"annotations": {OBSERVED: str(generation)}}}
        await self._client.patch(CRDS, Key.of(crd), patch)
        self._rewritten.pop(crd["metadata"]["name"], None)

    async def _objects(self, resource: Resource) -> list[Document]:
        """Read the metadata of all objects from the server. Caches have managedFields in part."""
        listed = await self._client.list(resource, metadata=True)
        return [{"metadata": item["metadata"]} for item in listed.items]

    async def _rewrite(self, crd: Document, resource: Resource, objects: list[Document]) -> None:
        name = crd["metadata"]["name"]
        generation = crd["metadata"].get("generation", 0)
        rewritten_generation, rewritten = self._rewritten.get(name, (generation, set()))
        if rewritten_generation != generation:
            rewritten = set()
        self._rewritten[name] = generation, rewritten
        log.info("%s: migrating %d objects to %s", name, len(objects), resource.api_version)
        errors = await rewrite(
            self._client,
            resource,
            objects,
            subresource="status" if self._kinds[name] else "",
            rewritten=rewritten,
        )
        _check(errors, f"failed to migrate the storage version of {resource.kind} objects")


_SHOWN: Final = 10
"""Errors that a message names."""


def _check(errors: list[str], what: str) -> None:
    if errors:
        more = f" (and {len(errors) - _SHOWN} more)" if len(errors) > _SHOWN else ""
        raise MigrationFailed(f"{what}: {'; '.join(errors[:_SHOWN])}{more}")
