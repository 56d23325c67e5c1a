"""Server-side apply, only when it would change something.

Upstream's field managers: `capi-kubeadmcontrolplane` owns what it creates; the labels and
annotations of what belongs to a Machine belong to `capi-kubeadmcontrolplane-metadata`, so that
they can be changed (and taken away) in place later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.sdk import Applied as Tally
from kapy.sdk import Client

MANAGER: Final = "capi-kubeadmcontrolplane"
METADATA_MANAGER: Final = "capi-kubeadmcontrolplane-metadata"
_SHARED: Final = ("ownerReferences", "finalizers")


class Applied:
    """What this process applied last. tally: counts what was spared and what was not."""

    def __init__(self, client: Client, tally: Tally) -> None:
        self._client = client
        self._tally = tally
        self._digests: dict[tuple[Resource, Key, str], bytes] = {}

    async def apply(
        self, resource: Resource, wanted: Document, current: Document, manager: str = MANAGER
    ) -> Document:
        """The object with what is wanted of it; asks the server only when it must.

        wanted: names the object's uid, so that nothing is created by mistake.
        """
        slot = (resource, Key.of(wanted), manager)
        digest = _digest(wanted)
        if self._digests.get(slot) == digest and holds(current, wanted):
            self._tally.hits[resource.kind] += 1
            return current
        self._tally.misses[resource.kind] += 1
        answer = await self._client.apply(resource, wanted, field_manager=manager)
        self._digests[slot] = digest
        return answer

    async def create(self, resource: Resource, wanted: Document) -> Document:
        """Create an object (again, where the answer got lost)."""
        self._tally.misses[resource.kind] += 1
        answer = await self._client.apply(resource, wanted, field_manager=MANAGER)
        self._digests[(resource, Key.of(wanted), MANAGER)] = _digest(wanted)
        return answer

    async def create_with_metadata(
        self, resource: Resource, wanted: Document, metadata: Document
    ) -> Document:
        """Create an object, part of whose labels and annotations belong to the metadata manager.

        metadata: the intent with which that manager will apply them from now on.
        """
        answer = await self._client.apply(resource, wanted, field_manager=MANAGER)
        fields = answer["metadata"].get("managedFields")
        if fields:
            patch = {
                "metadata": {
                    "managedFields": split_ownership(fields, metadata["metadata"]),
                    "resourceVersion": answer["metadata"]["resourceVersion"],
                }
            }
            answer = await self._client.patch(resource, Key.of(answer), patch)
            self._digests[(resource, Key.of(wanted), METADATA_MANAGER)] = _digest(metadata)
        return answer

    def forget(self, resource: Resource, key: Key) -> None:
        """The object is gone."""
        for manager in (MANAGER, METADATA_MANAGER):
            self._digests.pop((resource, key, manager), None)


def split_ownership(managed: list[Document], metadata: Document) -> list[Document]:
    """The managed fields, with the labels and annotations of `metadata` given to the metadata
    manager and all others to nobody."""
    moved: Document = {
        f"f:{part}": {f"f:{name}": {} for name in metadata[part]}
        for part in ("annotations", "labels")
    }
    fields = []
    for entry in managed:
        if entry.get("manager") != MANAGER or entry.get("operation") != "Apply":
            fields.append(entry)
            continue
        owned = dict(entry["fieldsV1"])
        kept = {
            name: value for name, value in owned.pop("f:metadata", {}).items() if name not in moved
        }
        if kept:
            owned["f:metadata"] = kept
        fields.append({**entry, "fieldsV1": owned})
        fields.append({**entry, "manager": METADATA_MANAGER, "fieldsV1": {"f:metadata": moved}})
    return fields


def holds(current: Any, wanted: Any, field: str = "") -> bool:
    """Whether an object has all that is wanted of it."""
    if isinstance(wanted, Mapping):
        return isinstance(current, Mapping) and all(
            name in current and holds(current[name], value, name) if value not in ({}, []) else True
            for name, value in wanted.items()
        )
    if isinstance(wanted, list) and field in _SHARED:
        return isinstance(current, list) and all(one in current for one in wanted)
    return bool(current == wanted)


def _digest(wanted: Document) -> bytes:
    metadata = {name: value for name, value in wanted["metadata"].items() if name != "uid"}
    text = json.dumps({**wanted, "metadata": metadata}, sort_keys=True)
    return blake2b(text.encode(), digest_size=16).digest()
