"""The common part of providers that are written by hand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import Annotation, Label
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result, requeue
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import Resource
from kapy.testing.conformance.in_process import Services


class ByHand(ABC):
    """A provider of one kind. wrong: the name of the rule that it breaks, "" for none.

    owner: the kind that has to own its objects.
    """

    KIND: ClassVar[Resource]
    OWNER: ClassVar[Resource] = Machine.RESOURCE
    FINALIZER: ClassVar[str] = "hand.example.com/provider"

    def __init__(self, runtime: Runtime, wrong: str) -> None:
        self.wrong = wrong
        self.runtime = runtime
        self.client = runtime.client
        self.objects = runtime.cache.informer(self.KIND)
        self.clusters = runtime.cache.informer(Cluster.RESOURCE)
        controller = Controller(f"by-hand-{self.KIND.kind}", self._reconcile)
        if not self.is_wrong("watch"):
            controller.watch(self.objects)
            controller.watch(self.clusters, self._of_cluster)
        runtime.add(controller, self.objects)
        self.controller = controller

    @classmethod
    def adding(cls, wrong: str = "") -> Callable[[Runtime], Services | None]:
        """Adds it to a runtime."""

        def add(runtime: Runtime) -> None:
            cls(runtime, wrong)

        return add

    @abstractmethod
    async def advance(self, document: Document, cluster: Document | None) -> Result:
        """Do what is to be done for an object."""

    async def free(self, document: Document) -> None:
        """Undo it. Nothing, unless a provider says otherwise."""
        del document

    def is_wrong(self, rule: str) -> bool:
        """Whether this is the rule that it breaks."""
        return self.wrong == rule

    async def _reconcile(self, key: Key) -> Result:
        document = self.objects.raw(key)
        if document is None:
            return DONE
        cluster = self.clusters.raw(Key(key.namespace, self.cluster_of(document)))
        if cluster is None and not self.is_wrong("owner") and not _leaves(document):
            return DONE
        paused = _is_paused(document) or (cluster is not None and _is_paused(cluster))
        if cluster is not None and not self.is_wrong("paused-condition"):
            await self.condition(document, "Paused", paused)
        if paused and not self.is_wrong("pausing"):
            return DONE
        if _leaves(document):
            return await self._leave(document)
        if not self.is_owned(document) and not self.is_wrong("owner"):
            return DONE
        if self.is_wrong("idle"):
            await self._fidget(document)
            await self.advance(document, cluster)
            return requeue(after=timedelta(seconds=10), because="it cannot sit still")
        return await self.advance(document, cluster)

    async def _leave(self, document: Document) -> Result:
        if not finalizers(document) or self.is_wrong("deletion"):
            return DONE
        await self.free(document)
        await self.patch(document, {"metadata": {"finalizers": None}})
        return DONE

    async def _fidget(self, document: Document) -> None:
        now = str(int(self.runtime.clock().timestamp()))
        if (document["metadata"].get("annotations") or {}).get("fidget") != now:
            await self.patch(document, {"metadata": {"annotations": {"fidget": now}}})

    async def hold(self, document: Document) -> None:
        """Store the finalizer."""
        await self.patch(document, {"metadata": {"finalizers": [self.FINALIZER]}})

    async def condition(self, document: Document, of_type: str, holds: bool) -> None:
        """Store a condition."""
        conditions = (document.get("status") or {}).get("conditions") or []
        wanted = {"type": of_type, "status": str(holds), "reason": of_type}
        if wanted not in conditions:
            others = [item for item in conditions if item["type"] != of_type]
            await self.report(document, {"conditions": [*others, wanted]})

    async def report(self, document: Document, status: Document) -> None:
        """Store what is new of a status."""
        current = (self.now(document) or document).get("status") or {}
        if any(current.get(name) != value for name, value in status.items()):
            await self.patch(document, {"status": status}, "status")

    async def patch(self, document: Document, patch: Document, part: str = "") -> None:
        """Merge into an object, if it is there."""
        try:
            await self.client.patch(self.KIND, Key.of(document), patch, subresource=part)
        except NotFound:
            return

    def now(self, document: Document) -> Document | None:
        """The object as it is after what was written."""
        return self.objects.raw(Key.of(document))

    async def get(self, resource: Resource, key: Key) -> Document | None:
        """An object as the server has it."""
        try:
            document: Document = await self.client.get(resource, key)
        except NotFound:
            return None
        return document

    def is_owned(self, document: Document) -> bool:
        """Whether it has the owner that it needs."""
        return self.owner_of(document) is not None

    def owner_of(self, document: Document) -> Document | None:
        """The reference to its owner."""
        owners = document["metadata"].get("ownerReferences") or ()
        return next((owner for owner in owners if owner["kind"] == self.OWNER.kind), None)

    def cluster_of(self, document: Document) -> str:
        """The name of its Cluster."""
        return str((document["metadata"].get("labels") or {}).get(Label.CLUSTER_NAME, ""))

    def _of_cluster(self, change: Change) -> list[Key]:
        cluster = Key.of(change.document)
        return [
            Key.of(document)
            for document in self.objects.list(cluster.namespace)
            if self.cluster_of(document) == cluster.name
        ]


def owned_by(document: Document, *, controller: bool = True) -> Document:
    """A reference to an owner."""
    metadata = document["metadata"]
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": controller,
        "blockOwnerDeletion": True,
    }


def finalizers(document: Document) -> list[Any]:
    """Of an object."""
    return list(document["metadata"].get("finalizers") or ())


def _leaves(document: Document) -> bool:
    return "deletionTimestamp" in document["metadata"]


def _is_paused(document: Document) -> bool:
    annotations = document["metadata"].get("annotations") or {}
    return bool((document.get("spec") or {}).get("paused")) or Annotation.PAUSED in annotations
