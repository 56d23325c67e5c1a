"""Deletions by the server's own controllers, when admission refuses them for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapy.apiserver.admission.plugin import Review
from kapy.kube import Document
from kapy.kube.errors import Forbidden
from kapy.kube.names import Resource
from tests.apiserver.requester import Asking, config_map, running, taken


class Reluctant:
    """Refuses the first deletions of ConfigMaps."""

    def __init__(self, times: int) -> None:
        self.left = times

    def handles(self, resource: Resource, subresource: str) -> bool:
        return resource.plural == "configmaps"

    async def default(self, review: Review) -> Document:
        assert review.new is not None
        return review.new

    async def validate(self, review: Review) -> Sequence[str]:
        if review.operation == "DELETE" and self.left:
            self.left -= 1
            raise Forbidden("not now")
        return ()


async def gone(stream: Any) -> str:
    """The name in the next DELETED event."""
    while True:
        ((kind, name),) = await taken(stream, 1)
        if kind == "DELETED":
            return name


async def _namespace(asking: Asking) -> None:
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    await asking.create("/api/v1/namespaces", document)


async def test_a_namespace_is_deleted_when_admission_allows_it() -> None:
    async with running(admission=[Reluctant(3)]) as asking:
        await _namespace(asking)
        await asking.create("/api/v1/namespaces/n/configmaps", config_map("a"))
        async with asking.watching("/api/v1/namespaces") as stream:
            await asking.delete("/api/v1/namespaces/n")
            assert await gone(stream) == "n"


async def test_a_dependent_is_deleted_when_admission_allows_it() -> None:
    async with running(admission=[Reluctant(2)]) as asking:
        await _namespace(asking)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "owner"}}
        owner = await asking.create("/api/v1/namespaces/n/secrets", secret)
        uid = owner["metadata"]["uid"]
        reference = {"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": uid}
        path = "/api/v1/namespaces/n/configmaps"
        await asking.create(path, config_map("a", ownerReferences=[reference]))
        async with asking.watching(path) as stream:
            await asking.delete("/api/v1/namespaces/n/secrets/owner")
            assert await gone(stream) == "a"


async def test_a_collection_is_not_deleted_against_admission() -> None:
    async with running(admission=[Reluctant(1)]) as asking:
        path = "/api/v1/namespaces/default/configmaps"
        await asking.create(path, config_map("a"))
        status, body = await asking.ask("DELETE", path)
        assert (status, body["message"]) == (403, "not now")
        assert await asking.names(path) == ["a"]
