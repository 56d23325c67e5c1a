"""Tests in which a user acts on a management plane and waits for the expected state of objects.

A test runs on virtual time, so waiting takes no time. `until` fails with the last state if the
plane settles on another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from kapy.client.client import Client
from kapy.kube import Document, Key, yaml
from kapy.kube.errors import NotFound
from kapy.kube.meta import Object
from kapy.kube.names import GroupKind, Resource

O = TypeVar("O", bound=Object)  # noqa: E741

STEP = 0.05
PATIENCE = 600.0


class NeverCame(AssertionError):
    """The state for which a test waited did not occur; the message shows the last state."""


class Story:
    """A user who acts on one management plane with a client.

    client: has the credentials of that user. resources: the kinds that `apply` accepts.
    """

    def __init__(self, client: Client, resources: Iterable[Resource]) -> None:
        self.client = client
        self._resources = {resource.group_kind: resource for resource in resources}

    def resource_of(self, document: Document) -> Resource:
        """Return the resource of a document's kind."""
        group, _, _ = document["apiVersion"].rpartition("/")
        return self._resources[GroupKind(group, document["kind"])]

    async def create(self, text: str | Sequence[Document]) -> list[Document]:
        """Create every object of a YAML text (or of a list), in its order."""
        documents = yaml.load_all(text) if isinstance(text, str) else list(text)
        return [
            await self.client.create(self.resource_of(document), document)
            for document in documents
            if document
        ]

    async def get(self, kind: type[O], name: str, namespace: str = "default") -> O | None:
        """Read an object from the server; None if it does not exist."""
        try:
            return await self.client.get(kind, Key(namespace, name))
        except NotFound:
            return None

    async def all(self, kind: type[O], namespace: str = "default") -> Sequence[O]:
        """List all objects of a kind in a namespace."""
        return (await self.client.list(kind, namespace)).items

    async def merge(
        self, kind: type[O], name: str, patch: Document, namespace: str = "default"
    ) -> O:
        """Merge-patch an object, as `kubectl patch --type merge` does."""
        return await self.client.patch(kind, Key(namespace, name), patch)

    async def until(
        self,
        kind: type[O],
        name: str,
        holds: Callable[[O], Any],
        *,
        namespace: str = "default",
        within: float = PATIENCE,
    ) -> O:
        """Wait (at most `within` seconds) until `holds(object)`; returns that object."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while True:
            result = await self.get(kind, name, namespace)
            if result is not None and holds(result):
                return result
            if loop.time() > deadline:
                raise NeverCame(f"{kind.__name__} {namespace}/{name} is {_describe(result)}")
            await asyncio.sleep(STEP)

    async def until_gone(
        self, kind: type[O], name: str, *, namespace: str = "default", within: float = PATIENCE
    ) -> None:
        """Wait until the object no longer exists."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while (result := await self.get(kind, name, namespace)) is not None:
            if loop.time() > deadline:
                raise NeverCame(f"{kind.__name__} {namespace}/{name} is still there: {result}")
            await asyncio.sleep(STEP)

    async def settle(self, seconds: float = 30.0) -> None:
        """Wait until the plane has no work left."""
        await asyncio.sleep(seconds)


def _describe(value: Object | None) -> str:
    if value is None:
        return "not there"
    status: Any = getattr(value, "status", None)
    conditions = getattr(status, "conditions", None) or []
    lines = [
        f"{condition.type}={condition.status} {condition.reason} {condition.message}"
        for condition in conditions
    ]
    return "\n  ".join([f"generation {value.metadata.generation}, conditions:", *lines])
