"""The controller that migrates the objects of CRDs whose generation has changed.

Every object is rewritten in the version that the CRD stores. Entries of managedFields whose version
a CRD no longer serves are removed: an API server cannot apply anything to an object with an entry
of a version that it does not know (https://github.com/kubernetes/kubernetes/issues/111937).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from kapy._aio.clock import Clock
from kapy.api.names import Annotation
from kapy.client.client import Client
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.crd_migration import PHASES, Phase
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Conflict, KapyError, NotFound
from kapy.kube.names import CRDS, Resource


class MigrationFailed(KapyError):
    """Objects of a CRD could not be migrated; the message says which, and why."""


def storage_version(crd: Document) -> str:
    """Return the version in which objects are stored. Raises MigrationFailed."""
    for version in crd["spec"]["versions"]:
        if version.get("storage"):
            return str(version["name"])
    name = crd["metadata"]["name"]
    raise MigrationFailed(f"CustomResourceDefinition {name} has no storage version")


def is_required(crd: Document, storage: str) -> bool:
    """Return whether objects may be stored in another version than `storage`."""
    return (crd.get("status") or {}).get("storedVersions") != [storage]


def resource_of(crd: Document, version: str) -> Resource:
    """Return the resource that a CRD defines, in one version."""
    spec = crd["spec"]
    names = spec["names"]
    namespaced = spec["scope"] == "Namespaced"
    return Resource(spec["group"], version, names["plural"], names["kind"], namespaced=namespaced)


async def rewrite(
    client: Client,
    resource: Resource,
    objects: Sequence[Document],
    *,
    subresource: str,
    rewritten: set[Key],
) -> list[str]:
    """Rewrite each object with a patch that changes nothing; return the errors.

    subresource: `status` for objects whose webhooks could refuse the patch. rewritten: the keys of
    objects that need no patch (again); those that succeed are added.
    """
    errors = []
    for obj in objects:
        key = Key.of(obj)
        if key in rewritten:
            continue
        try:
            await client.patch(resource, key, _no_op(resource, obj), subresource=subresource)
        except (NotFound, Conflict):
            pass  # The object is gone, or another client has just written it.
        except ApiError as error:
            errors.append(f"{key}: {error}")
            continue
        rewritten.add(key)
    return errors


async def trim_stored_versions(client: Client, crd: Document, storage: str) -> Document:
    """Record that objects are stored in one version only. Raises Conflict if the CRD has changed
    meanwhile.
    """
    patch = {
        "metadata": {"resourceVersion": crd["metadata"]["resourceVersion"]},
        "status": {"storedVersions": [storage]},
    }
    return await client.patch(CRDS, Key.of(crd), patch, subresource="status")


def _no_op(resource: Resource, document: Document) -> Document:
    """Return a merge patch that holds only the identity and the resourceVersion of an object."""
    names = ("name", "namespace", "resourceVersion")
    metadata = {
        name: document["metadata"][name] for name in names if document["metadata"].get(name)
    }
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


ATTEMPTS: Final = 5
"""Upstream: `retry.DefaultRetry`."""
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


def served_versions(crd: Document) -> frozenset[str]:
    """Return the API versions that a CRD serves."""
    spec = crd["spec"]
    return frozenset(f"{spec['group']}/{v['name']}" for v in spec["versions"] if v.get("served"))


def remaining_entries(
    entries: Sequence[Document], served: Collection[str], api_version: str, now: datetime
) -> list[Document] | None:
    """Return the managedFields without entries of versions that are not served, None if there are
    no such entries.

    If none remains, a minimal entry takes the place of the first one. An API server would otherwise
    make an entry for an update at the next apply, and that entry would own all fields, too.
    """
    remaining = [entry for entry in entries if entry.get("apiVersion") in served]
    if len(remaining) == len(entries):
        return None
    if remaining:
        return remaining
    first = entries[0]
    return [
        {
            "manager": first.get("manager", ""),
            "operation": first.get("operation", ""),
            "apiVersion": api_version,
            "time": now.strftime(_TIME),
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:name": {}}},
        }
    ]


async def clean_up(
    client: Client,
    resource: Resource,
    objects: Sequence[Document],
    served: Collection[str],
    now: datetime,
) -> list[str]:
    """Remove managedFields entries of versions that are not served from all objects; return the
    errors.
    """
    errors = []
    for obj in objects:
        try:
            await _clean_up(client, resource, obj, served, now)
        except NotFound:
            continue  # The object is gone.
        except ApiError as error:
            errors.append(f"{Key.of(obj)}: {error}")
    return errors


async def _clean_up(
    client: Client, resource: Resource, document: Document, served: Collection[str], now: datetime
) -> None:
    """Remove managedFields entries of versions that are not served from one object.

    The object is read again after a conflict.
    """
    key = Key.of(document)
    for attempt in range(ATTEMPTS):
        metadata = document["metadata"]
        entries = metadata.get("managedFields") or ()
        remaining = remaining_entries(entries, served, resource.api_version, now)
        if remaining is None:
            return
        try:
            await client.patch(resource, key, _patch(remaining, metadata["resourceVersion"]))
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
            document = await client.get(resource, key)
        else:
            return


def _patch(entries: list[Document], version: str) -> list[Document]:
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]


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
    """Reconciles CRDs: migrates their stored objects and cleans up managedFields."""

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
