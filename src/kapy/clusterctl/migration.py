"""Storage migration: rewrites objects in the storage version, so that CRDs can drop older versions.

Upstream: `cmd/clusterctl/client/cluster/crd_migration.go`. An API server refuses a CRD without a
version that is listed in its stored versions. The migration runs before any provider is stopped,
because it needs their conversion webhooks.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.errors import InventoryError
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict, NotFound
from kapy.kube.names import CRDS, Resource


async def migrate(
    client: Client, objects: Iterable[Document], progress: Progress, *, only_dropped: bool = False
) -> None:
    """Migrate the objects of the CRDs among `objects`. Raises InventoryError, ApiErrors.

    only_dropped: only if a new CRD lacks one of the stored versions.
    """
    for crd in objects:
        if crd["kind"] == CRDS.kind:
            await _migrate(client, crd, progress, only_dropped=only_dropped)


async def _migrate(
    client: Client, new: Document, progress: Progress, *, only_dropped: bool
) -> None:
    try:
        current = await retry(lambda: client.get(CRDS, Key.of(new)))
    except NotFound:
        return
    versions = {version["name"] for version in new["spec"]["versions"]}
    storage = storage_version(current)
    stored = set((current.get("status") or {}).get("storedVersions") or [storage])
    if storage not in versions:
        raise InventoryError(
            f'unable to upgrade CRD "{new["metadata"]["name"]}" because the new CRD does not '
            f'contain the storage version "{storage}" of the current CRD, thus not allowing CR '
            "migration; upgrade to a version in between first"
        )
    older = sorted(stored - {storage})
    if not older or (only_dropped and stored <= versions):
        return
    kind = new["spec"]["names"]["kind"]
    progress(
        "CR migration required",
        kind=kind,
        storedVersionsToDelete=",".join(older),
        storedVersionToPreserve=storage,
    )
    await _rewrite_all(client, current, storage)
    status = {"status": {"storedVersions": [storage]}}
    await retry(lambda: client.patch(CRDS, Key.of(new), status, subresource="status"))


def storage_version(crd: Document) -> str:
    """Return the version in which the CRD's objects are stored."""
    return str(next(version["name"] for version in crd["spec"]["versions"] if version["storage"]))


async def _rewrite_all(client: Client, crd: Document, storage: str) -> None:
    spec = crd["spec"]
    names = spec["names"]
    resource = Resource(
        spec["group"],
        storage,
        names["plural"],
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
    )
    listed = await retry(lambda: client.list(resource))
    named = {"apiVersion": resource.api_version, "kind": resource.kind}
    await bounded_gather(
        partial(_rewrite, client, resource, {**named, **item}) for item in listed.items
    )


async def _rewrite(client: Client, resource: Resource, document: Document) -> None:
    async def update() -> None:
        # Deleted, or written by another client: in both cases no older version is stored any more.
        with suppress(NotFound, Conflict):
            await client.update(resource, document)

    await retry(update)
