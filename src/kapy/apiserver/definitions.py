"""CustomResourceDefinitions: their kinds are served as soon as they are stored.

A store listener accepts or refuses names, maintains conditions and storedVersions, and keeps a
deleted definition until its objects are gone. It runs in the same transaction as the write, so
clients need not wait for it.
"""

from __future__ import annotations

from typing import Any

from kapy.apiserver.definition_status import accepted_names, is_true, status_of
from kapy.apiserver.metadata import stamp
from kapy.apiserver.plane import Plane
from kapy.apiserver.resources.custom import CLEANUP, DEFINITIONS, kinds_of
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.store.history import Happening
from kapy.kube import Document
from kapy.kube.apply import Write


class Definitions:
    """Keep a server's custom kinds in sync with its CustomResourceDefinitions."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._served: dict[str, list[Kind]] = {}
        self._ending: dict[str, str] = {}  # name of the definition by table
        table = plane.store.peek(DEFINITIONS)
        if table is not None:
            for document in list(table.scan("")):
                self._serve(document)
                self._end(document)
            self._renew()
            for name in self._served:
                self._read_again(name)
        plane.store.listeners.append(self._noticed)

    def _renew(self) -> None:
        plane = self._plane
        plane.registry = plane.registry.with_custom(
            kind for kinds in self._served.values() for kind in kinds
        )

    def _noticed(self, one: Happening) -> None:
        if one.table == DEFINITIONS:
            self._changed(one)
        elif one.change == "DELETED" and one.table in self._ending:
            self._finish(one.table)

    def _changed(self, one: Happening) -> None:
        if one.change == "DELETED":
            self._served.pop(one.name, None)
            self._ending.pop(one.name, None)
            self._renew()
            self._reconsider(one.document)
            return
        document = one.document
        if not document["metadata"].get("deletionTimestamp"):
            document = self._settled(document)
        before = one.previous
        if before is None or _serving(before) != _serving(document):
            self._serve(document)
            self._renew()
            self._read_again(one.name)
        if before is not None and accepted_names(before) != accepted_names(document):
            self._reconsider(document)
        self._end(document)

    def _reconsider(self, document: Document) -> None:
        """Update the other definitions of the group, for which names may have become free."""
        for other in self._others(document):
            if not other["metadata"].get("deletionTimestamp"):
                self._settled(other)

    def _serve(self, document: Document) -> None:
        if is_true(document, "Established"):
            self._served[document["metadata"]["name"]] = kinds_of(
                document, self._plane.converted_here
            )

    def _read_again(self, table_name: str) -> None:
        """Convert the objects that are already stored by the current definition."""
        table = self._plane.store.table(table_name)
        definition = self._plane.store.table(DEFINITIONS).get("", table_name)
        kinds = {kind.resource.api_version: kind for kind in self._served.get(table_name, ())}
        # Later writes were already processed by the current definition.
        since = int(definition["metadata"]["resourceVersion"]) if definition else 0

        def read(document: Document) -> Document:
            kind = kinds.get(document["apiVersion"])
            if kind is None or int(document["metadata"]["resourceVersion"]) > since:
                return document
            return kind.schema.decoded(document, [], live=None)

        table.read_again(read)

    def _settled(self, document: Document) -> Document:
        """Return the definition with its current status; store it if the status changed."""
        plane = self._plane
        latest = plane.store.table(DEFINITIONS).latest("", document["metadata"]["name"])
        if latest is None or _revision(latest) != _revision(document):
            return document  # a newer write follows
        status = status_of(document, self._others(document), stamp(plane.clock()))
        if status == document.get("status"):
            return document
        kind = plane.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert kind is not None
        new = {**document, "metadata": {**document["metadata"]}, "status": status}
        write = Write(
            "kube-apiserver",
            "apiextensions.k8s.io/v1",
            stamp(plane.clock()),
            "status",
            {"f:metadata": {}, "f:spec": {}},
        )
        new = kind.schema.tracker.track(document, new, write)
        new = {**new, "metadata": {**new["metadata"]}}
        return plane.store.put(plane.store.table(DEFINITIONS), "", new["metadata"]["name"], new)

    def _others(self, document: Document) -> list[Document]:
        """Return the other definitions of a group, including staged writes."""
        name, group = document["metadata"]["name"], document["spec"]["group"]
        table = self._plane.store.table(DEFINITIONS)
        names = [one["metadata"]["name"] for one in table.scan("")]
        latest = [table.latest("", one) for one in names if one != name]
        return [one for one in latest if one is not None and one["spec"]["group"] == group]

    def _end(self, document: Document) -> None:
        """Delete the objects of a definition that is being deleted."""
        meta = document["metadata"]
        if not meta.get("deletionTimestamp") or CLEANUP not in (meta.get("finalizers") or ()):
            return
        table = meta["name"]
        if self._ending.setdefault(table, meta["name"]) and self._plane.store.peek(table):
            from kapy.apiserver.verbs.deletion import begin

            for one in list(self._plane.store.table(table).content("").values()):
                kinds = self._served.get(table)
                if kinds and not one["metadata"].get("deletionTimestamp"):
                    begin(self._plane, kinds[0], one)
        self._finish(table)

    def _finish(self, table: str) -> None:
        """Remove a deleted definition when none of its objects is left."""
        if table not in self._ending:
            return
        objects = self._plane.store.peek(table)
        definitions = self._plane.store.table(DEFINITIONS)
        document = definitions.latest("", table)
        if document is None or (objects is not None and (len(objects) or objects.staged)):
            return
        del self._ending[table]
        meta = document["metadata"]
        finalizers = [one for one in meta.get("finalizers") or () if one != CLEANUP]
        if finalizers:
            new = {**document, "metadata": {**meta, "finalizers": finalizers}}
            self._plane.store.put(definitions, "", table, new)
        else:
            self._plane.store.delete(definitions, "", table, document)


def _serving(document: Document) -> tuple[Any, ...]:
    """Return the fields on which the served kinds depend."""
    status = document.get("status") or {}
    return document["spec"], status.get("acceptedNames"), is_true(document, "Established")


def _revision(document: Document) -> str:
    return str(document["metadata"]["resourceVersion"])
