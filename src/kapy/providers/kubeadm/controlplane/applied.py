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
from kapy.sdk import Client

MANAGER: Final = "capi-kubeadmcontrolplane"
METADATA_MANAGER: Final = "capi-kubeadmcontrolplane-metadata"
_SHARED: Final = ("ownerReferences", "finalizers")


class Applied:
    """What this process applied last."""

    def __init__(self, client: Client) -> None:
        self._client = client
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
            return current
        answer = await self._client.apply(resource, wanted, field_manager=manager)
        self._digests[slot] = digest
        return answer

    async def create(self, resource: Resource, wanted: Document) -> Document:
        """Create an object (again, where the answer got lost)."""
        answer = await self._client.apply(resource, wanted, field_manager=MANAGER)
        self._digests[(resource, Key.of(wanted), MANAGER)] = _digest(wanted)
        return answer

    async def create_with_metadata(self, resource: Resource, wanted: Document) -> Document:
        """Create an object whose labels and annotations belong to the metadata manager."""
        answer = await self._client.apply(resource, wanted, field_manager=MANAGER)
        fields = answer["metadata"].get("managedFields")
        if fields:
            patch = {
                "metadata": {
                    "managedFields": split_ownership(fields),
                    "resourceVersion": answer["metadata"]["resourceVersion"],
                }
            }
            answer = await self._client.patch(resource, Key.of(answer), patch)
        return answer

    def forget(self, resource: Resource, key: Key) -> None:
        """The object is gone."""
        for manager in (MANAGER, METADATA_MANAGER):
            self._digests.pop((resource, key, manager), None)


def split_ownership(managed: list[Document]) -> list[Document]:
    """The managed fields with labels and annotations given to the metadata manager."""
    fields = []
    for entry in managed:
        if entry.get("manager") != MANAGER or entry.get("operation") != "Apply":
            fields.append(entry)
            continue
        owned = dict(entry["fieldsV1"])
        metadata = dict(owned.pop("f:metadata", {}))
        moved = {
            "f:annotations": {},
            **{name: metadata.pop(name) for name in ("f:labels",) if name in metadata},
        }
        metadata.pop("f:annotations", None)
        if metadata:
            owned["f:metadata"] = metadata
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
