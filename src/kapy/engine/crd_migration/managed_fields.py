"""Cleanup of managedFields: entries of versions that a CRD no longer serves are removed.

An API server cannot apply anything to an object with an entry of a version that it does not know
(https://github.com/kubernetes/kubernetes/issues/111937).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, Conflict, NotFound
from kapy.kube.names import Resource

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
    """Remove the entries from all objects; return the errors."""
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
    """Remove the entries from one object, which is read again after a conflict."""
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
