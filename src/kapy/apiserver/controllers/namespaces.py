"""Deletion of the content of terminating namespaces, like kube-controller-manager."""

from __future__ import annotations

from collections import Counter

from kapy.apiserver.ask import Ask
from kapy.apiserver.controllers.queue import Place, Queue
from kapy.apiserver.metadata import born, stamp
from kapy.apiserver.plane import Plane
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.store.history import Happening
from kapy.apiserver.store.table import Table
from kapy.apiserver.verbs import deletion
from kapy.kube import Document
from kapy.kube.errors import ApiError, NotFound
from kapy.kube.http import Request, User

NAMESPACES = "namespaces"
_CONTROLLER = User(
    "system:serviceaccount:kube-system:namespace-controller",
    ("system:serviceaccounts", "system:masters", "system:authenticated"),
)


SYSTEM = ("default", "kube-node-lease", "kube-public", "kube-system")
"""The namespaces that always exist."""


def ensure_system_namespaces(plane: Plane) -> None:
    """Create the system namespaces that do not exist."""
    table = plane.store.table(NAMESPACES)
    kind = plane.registry.find("", "v1", NAMESPACES)
    assert kind is not None
    for name in SYSTEM:
        if table.latest("", name) is None:
            document: Document = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name},
            }
            kind.strategy.default(document)
            born(document, kind, "", plane.clock(), plane.rng)
            kind.strategy.prepare_create(document, table)
            plane.store.put(table, "", name, document)


class NamespaceController:
    """Delete the content of terminating namespaces, report what remains, remove the finalizer."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._queue = Queue()

    async def run(self) -> None:
        """Process namespaces until cancelled."""
        store = self._plane.store
        for document in store.table(NAMESPACES).content("").values():
            self._look(document["metadata"]["name"])
        store.listeners.append(self._noticed)
        try:
            while True:
                await self._work((await self._queue.next()).name)
        finally:
            store.listeners.remove(self._noticed)

    def _look(self, name: str) -> None:
        document = self._plane.store.table(NAMESPACES).get("", name)
        if document is not None and document["metadata"].get("deletionTimestamp"):
            self._queue.add(Place(NAMESPACES, "", name))

    def _noticed(self, one: Happening) -> None:
        if one.table == NAMESPACES:
            self._look(one.name)
        elif one.namespace and one.change != "ADDED":
            self._look(one.namespace)

    async def _work(self, name: str) -> None:
        for table in self._plane.store.tables():
            kind = self._plane.registry.in_table(table.name)
            if kind is None or not kind.namespaced:
                continue
            for document in list(table.content(name).values()):
                if not document["metadata"].get("deletionTimestamp"):
                    await self._delete(kind, name, document["metadata"]["name"])
        self._report(name)

    async def _delete(self, kind: Kind, namespace: str, name: str) -> None:
        path = kind.resource.path(namespace, name)
        options = {"propagationPolicy": "Background"}
        request = Request("DELETE", path, body=options, user=_CONTROLLER)
        ask = Ask(request, _CONTROLLER, "delete", kind, namespace, name, "")
        try:
            await deletion.delete(self._plane, ask)
        except NotFound:
            return
        except ApiError:
            self._queue.add_later(Place(NAMESPACES, "", namespace))

    def _report(self, name: str) -> None:
        """Write the remaining content into the conditions, or remove the finalizer."""
        table = self._plane.store.table(NAMESPACES)
        document = table.latest("", name)
        if document is None or not document["metadata"].get("deletionTimestamp"):
            return
        spec = document.get("spec") or {}
        if "kubernetes" not in (spec.get("finalizers") or ()):
            return
        left = self._left(name)
        if not left:
            self._finish(table, document)
            return
        status = document.get("status") or {}
        conditions = _conditions(left, status, stamp(self._plane.clock()))
        if conditions != status.get("conditions"):
            new = {
                **document,
                "metadata": {**document["metadata"]},
                "status": {**status, "conditions": conditions},
            }
            self._plane.store.put(table, "", name, new)

    def _left(self, namespace: str) -> list[tuple[Kind, list[Document]]]:
        found = []
        for table in self._plane.store.tables():
            kind = self._plane.registry.in_table(table.name)
            objects = list(table.content(namespace).values())
            if kind is not None and kind.namespaced and objects:
                found.append((kind, objects))
        return found

    def _finish(self, table: Table, document: Document) -> None:
        store, meta = self._plane.store, document["metadata"]
        spec = document.get("spec") or {}
        finalizers = [one for one in spec.get("finalizers") or () if one != "kubernetes"]
        if not finalizers and not meta.get("finalizers"):
            store.delete(table, "", meta["name"], document)
            return
        kept = {**spec, "finalizers": finalizers} if finalizers else {}
        store.put(table, "", meta["name"], {**document, "metadata": {**meta}, "spec": kept})


def _conditions(
    left: list[tuple[Kind, list[Document]]], status: Document, now: str
) -> list[Document]:
    resources = ", ".join(
        f"{kind.group_resource} has {len(objects)} resource instances"
        for kind, objects in sorted(left, key=lambda one: one[0].group_resource)
    )
    finalizers = Counter(
        finalizer
        for _, objects in left
        for one in objects
        for finalizer in one["metadata"].get("finalizers") or ()
    )
    held = ", ".join(
        f"{name} in {count} resource instances" for name, count in sorted(finalizers.items())
    )
    wanted = [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            f"Some resources are remaining: {resources}",
        ),
        (
            "NamespaceFinalizersRemaining",
            "True" if held else "False",
            "SomeFinalizersRemain" if held else "ContentHasNoFinalizers",
            f"Some content in the namespace has finalizers remaining: {held}"
            if held
            else "All content-preserving finalizers finished",
        ),
    ]
    before = {one["type"]: one for one in status.get("conditions") or ()}
    return [
        {
            "type": kind,
            "status": state,
            "lastTransitionTime": before[kind]["lastTransitionTime"]
            if kind in before and before[kind]["status"] == state
            else now,
            "reason": reason,
            "message": message,
        }
        for kind, state, reason, message in wanted
    ]
