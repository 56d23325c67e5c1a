"""Maps kinds to resources by a server's discovery."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.client.client import Client
from kapy.kube import Document
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import Resource, split_api_version


class UnknownKind(KapyError):
    """The server does not serve this kind in this version."""


class Kinds:
    """The kinds of one server; each group version is discovered once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._served: dict[str, Sequence[Resource]] = {}
        self._preferred: dict[str, str] = {}

    async def of(self, document: Document) -> Resource:
        """Return the resource of an object. Raises UnknownKind (with kubectl's message)."""
        api_version, kind = document["apiVersion"], document["kind"]
        for resource in await self.served(api_version):
            if resource.kind == kind:
                return resource
        raise UnknownKind(f'no matches for kind "{kind}" in version "{api_version}"')

    async def preferred(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a kind in the server's preferred version, None if it is not
        served.
        """
        if group not in self._preferred:
            try:
                result = await self._client.raw("GET", f"/apis/{group}")
            except NotFound:
                return None
            self._preferred[group] = result["preferredVersion"]["groupVersion"]
        served = await self.served(self._preferred[group])
        return next((item for item in served if item.kind == kind), None)

    async def served(self, api_version: str) -> Sequence[Resource]:
        """Return the resources of a group version; none when it is not served."""
        result = self._served.get(api_version)
        if result is None:
            result = self._served[api_version] = await self._discover(api_version)
        return result

    async def _discover(self, api_version: str) -> Sequence[Resource]:
        group, version = split_api_version(api_version)
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            listed = await self._client.raw("GET", root)
        except NotFound:
            return ()
        return [
            Resource(group, version, item["name"], item["kind"], item["namespaced"])
            for item in listed["resources"]
            if "/" not in item["name"]
        ]
