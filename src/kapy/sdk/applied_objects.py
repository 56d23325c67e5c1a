"""Send server-side applies only if they would change something.

One field manager owns created objects. The labels and annotations of a Machine's objects belong to
another manager, `<manager>-metadata`, so that they can be changed and removed in place later.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

from msgspec import json

from kapy.client.client import Client
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document, Key
from kapy.kube.apply.no_op import is_no_op
from kapy.kube.names import Resource

_MOVED: Final = ("f:annotations", "f:labels")
_SHARED: Final = ("ownerReferences", "finalizers")


class AppliedObjects:
    """Applies objects, and caches the last applies. tally: counts hits and misses. manager: the
    field manager of created objects.
    """

    def __init__(self, client: Client, tally: SSACache, manager: str) -> None:
        self.manager = manager
        self.metadata_manager = f"{manager}-metadata"
        self._client = client
        self._tally = tally
        self._digests: dict[tuple[Resource, Key, str], bytes] = {}

    async def apply(
        self, resource: Resource, wanted: Document, current: Document, manager: str = ""
    ) -> Document:
        """Return the object after applying the intent; the server is called only if needed.

        wanted: includes the object's uid, so that nothing is created by mistake.
        """
        manager = manager or self.manager
        slot = (resource, Key.of(wanted), manager)
        digest = _digest(wanted)
        is_known = self._digests.get(slot) == digest and holds(current, wanted)
        if is_known or is_no_op(current, wanted, manager):
            self._tally.hits[resource.kind] += 1
            return current
        self._tally.misses[resource.kind] += 1
        answer = await self._client.apply(resource, wanted, field_manager=manager)
        self._digests[slot] = digest
        return answer

    async def create(self, resource: Resource, wanted: Document) -> Document:
        """Create an object; an existing one of an earlier attempt is returned."""
        self._tally.misses[resource.kind] += 1
        answer = await self._client.apply(resource, wanted, field_manager=self.manager)
        self._digests[(resource, Key.of(wanted), self.manager)] = _digest(wanted)
        return answer

    async def create_with_metadata(
        self, resource: Resource, wanted: Document, metadata: Document
    ) -> Document:
        """Create an object, part of whose labels and annotations belong to the metadata manager.

        metadata: the intent that this manager applies from now on.
        """
        answer = await self._client.apply(resource, wanted, field_manager=self.manager)
        fields = answer["metadata"].get("managedFields")
        if fields:
            patch = {
                "metadata": {
                    "managedFields": split_ownership(fields, metadata["metadata"], self.manager),
                    "resourceVersion": answer["metadata"]["resourceVersion"],
                }
            }
            answer = await self._client.patch(resource, Key.of(answer), patch)
            self._digests[(resource, Key.of(wanted), self.metadata_manager)] = _digest(metadata)
        return answer

    def forget(self, resource: Resource, key: Key) -> None:
        """Forget a deleted object."""
        for manager in (self.manager, self.metadata_manager):
            self._digests.pop((resource, key, manager), None)


def split_ownership(managed: list[Document], metadata: Document, manager: str) -> list[Document]:
    """Return managed fields in which the metadata manager owns the labels and annotations of
    `metadata`, and no manager owns the others.
    """
    moved: Document = {
        f"f:{part}": {f"f:{name}": {} for name in metadata[part]}
        for part in ("annotations", "labels")
        if metadata[part]
    }
    fields = []
    for entry in managed:
        if entry.get("manager") != manager or entry.get("operation") != "Apply":
            fields.append(entry)
            continue
        owned = dict(entry["fieldsV1"])
        labelled = {
            name: value for name, value in owned.pop("f:metadata", {}).items() if name not in _MOVED
        }
        if labelled:
            owned["f:metadata"] = labelled
        fields.append({**entry, "fieldsV1": owned})
        fields.append(
            {**entry, "manager": f"{manager}-metadata", "fieldsV1": {"f:metadata": moved}}
        )
    return fields


def holds(current: Any, wanted: Any, field: str = "") -> bool:
    """Return whether an object has all wanted values."""
    if isinstance(wanted, dict):
        return isinstance(current, dict) and all(
            name in current and holds(current[name], value, name) if value not in ({}, []) else True
            for name, value in wanted.items()
        )
    if isinstance(wanted, list) and field in _SHARED:
        return isinstance(current, list) and all(item in current for item in wanted)
    return bool(current == wanted)


def _digest(wanted: Document) -> bytes:
    metadata = {name: value for name, value in wanted["metadata"].items() if name != "uid"}
    text = json.encode({**wanted, "metadata": metadata}, order="sorted")
    return blake2b(text, digest_size=16).digest()
