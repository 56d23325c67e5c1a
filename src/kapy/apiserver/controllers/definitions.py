"""CustomResourceDefinitions: their kinds are served as soon as they are stored.

A store listener accepts or refuses names, maintains conditions and storedVersions, and keeps a
deleted definition until its objects are gone. It runs in the same transaction as the write, so
clients need not wait for it.

As in kube-apiserver, a name that conflicts with another definition of the group is refused, and the
definition keeps its old one. When the name becomes free, the first definition that asks for it gets
it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kapy.apiserver.resources.ca_bundle import bundle_problem
from kapy.apiserver.resources.custom import CLEANUP, DEFINITIONS, kinds_of, storage_version
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.metadata import format_time
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.kube.apply import Write
from kapy.kube.go_literals import go_quoted

_NO_NAMES: Final[Document] = {"plural": "", "kind": ""}
_NAMES_ACCEPTED: Final = "the initial names have been accepted"


def is_true(document: Document, kind: str) -> bool:
    """Report whether a condition of an object is True. kind: the type of the condition."""
    return any(
        condition["type"] == kind and condition["status"] == "True"
        for condition in (document.get("status") or {}).get("conditions") or ()
    )


def accepted_names(document: Document) -> Document:
    """Return the accepted names of a definition."""
    names: Document = (document.get("status") or {}).get("acceptedNames") or _NO_NAMES
    return names


def compute_status(document: Document, others: Iterable[Document], now: str) -> Document:
    """Return the status of a definition, given the other definitions of its group."""
    spec, status = document["spec"], document.get("status") or {}
    conditions = _Conditions(status.get("conditions") or (), now)
    accepted = accepted_names(document)
    if not _is_same_condition(accepted, spec["names"]):
        problem, accepted = _resolve_names(spec["names"], accepted, others)
        if problem is None:
            conditions.put("NamesAccepted", "True", "NoConflicts", "no conflicts found")
        else:
            conditions.put("NamesAccepted", "False", *problem)
            if "Established" not in conditions.by_type:
                text = "not all names are accepted"
                conditions.put("Established", "False", "NotAccepted", text)
    if conditions.true("NamesAccepted") and not conditions.true("Established"):
        if _invalid_ca_bundle(spec):
            text = "The conversion webhook CABundle is invalid"
            conditions.put("Established", "False", "InvalidCABundle", text)
        else:
            conditions.put("Established", "True", "InitialNamesAccepted", _NAMES_ACCEPTED)
    stored = list(status.get("storedVersions") or [storage_version(document)])
    return {
        **status,
        "conditions": list(conditions.by_type.values()),
        "acceptedNames": accepted,
        "storedVersions": stored,
    }


class _Conditions:
    def __init__(self, conditions: Iterable[Document], now: str) -> None:
        self.by_type = {condition["type"]: condition for condition in conditions}
        self._now = now

    def true(self, kind: str) -> bool:
        return bool(self.by_type.get(kind, {}).get("status") == "True")

    def put(self, kind: str, status: str, reason: str, message: str) -> None:
        before = self.by_type.get(kind, {})
        same = before.get("status") == status
        moment = before.get("lastTransitionTime") if same else None
        self.by_type[kind] = {
            "type": kind,
            "status": status,
            "lastTransitionTime": moment or self._now,
            "reason": reason,
            "message": message,
        }


def _is_same_condition(item: Document, other: Document) -> bool:
    return {key: value for key, value in item.items() if value} == {
        key: value for key, value in other.items() if value
    }


def _resolve_names(
    request: Document, accepted: Document, others: Iterable[Document]
) -> tuple[tuple[str, str] | None, Document]:
    """Return the last conflict (reason and message), and the names that are now accepted."""
    resources, kinds = _names_in_use([accepted, *(accepted_names(element) for element in others)])
    names: dict[str, Any] = {**accepted}
    problem = None
    for field, reason, item in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        if wrong := list(_conflicting_names(request.get(field), accepted.get(field), item)):
            problem = reason, wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
        else:
            names[field] = request.get(field)
    names["categories"] = request.get("categories")
    own_names = {key: value for key, value in names.items() if value or key in _NO_NAMES}
    return problem, {**_NO_NAMES, **own_names}


def _names_in_use(named: Iterable[Document]) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for names in named:
        resources |= {names.get("plural", ""), names.get("singular", "")}
        resources.update(names.get("shortNames") or ())
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources, kinds


def _conflicting_names(request: Any, accepted: Any, value: set[str]) -> Iterator[str]:
    own = accepted if isinstance(accepted, list) else [accepted or ""]
    for name in dict.fromkeys(request if isinstance(request, list) else [request or ""]):
        if name not in own and name in value:
            yield f"{go_quoted(name)} is already in use"


def _invalid_ca_bundle(spec: Document) -> bool:
    client = ((spec.get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    return bool(bundle_problem(base64.b64decode(client.get("caBundle") or "")))


class DefinitionController:
    """Keep a server's custom kinds in sync with its CustomResourceDefinitions."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._served: dict[str, list[Kind]] = {}
        self._ending: dict[str, str] = {}  # name of the definition by table
        table = server.store.peek(DEFINITIONS)
        if table is not None:
            for document in list(table.scan("")):
                self._serve(document)
                self._delete_objects(document)
            self._update_registry()
            for name in self._served:
                self._decode_stored_objects(name)
        server.store.listeners.append(self._on_write)

    def _update_registry(self) -> None:
        kinds = [kind for kinds in self._served.values() for kind in kinds]
        # By group as kube-apiserver, and so in the same order in each process.
        kinds.sort(key=lambda kind: (kind.resource.group, kind.table))
        self._server.registry.set_custom(kinds)

    def _on_write(self, event: WriteEvent) -> None:
        if event.table == DEFINITIONS:
            self._reconcile(event)
        elif event.change == "DELETED" and event.table in self._ending:
            self._remove_definition(event.table)

    def _reconcile(self, event: WriteEvent) -> None:
        if event.change == "DELETED":
            self._served.pop(event.name, None)
            self._ending.pop(event.name, None)
            self._update_registry()
            self._update_group(event.document)
            return
        document = event.document
        if not document["metadata"].get("deletionTimestamp"):
            document = self._update_status(document)
        before = event.previous
        if before is None or _served_fields(before) != _served_fields(document):
            self._serve(document)
            self._update_registry()
            self._decode_stored_objects(event.name)
        if before is not None and accepted_names(before) != accepted_names(document):
            self._update_group(document)
        self._delete_objects(document)

    def _update_group(self, document: Document) -> None:
        """Update the other definitions of the group, for which names may have become free."""
        for other in self._group_definitions(document):
            if not other["metadata"].get("deletionTimestamp"):
                self._update_status(other)

    def _serve(self, document: Document) -> None:
        if is_true(document, "Established"):
            self._served[document["metadata"]["name"]] = kinds_of(
                document, self._server.converter.convert_in_process
            )

    def _decode_stored_objects(self, table_name: str) -> None:
        """Make the table decode the objects that are already stored with the schema of the current
        definition.
        """
        table = self._server.store.table(table_name)
        definition = self._server.store.table(DEFINITIONS).get("", table_name)
        kinds = {kind.resource.api_version: kind for kind in self._served.get(table_name, ())}
        # Later writes were already processed by the current definition.
        since = int(definition["metadata"]["resourceVersion"]) if definition else 0

        def read(document: Document) -> Document:
            kind = kinds.get(document["apiVersion"])
            if kind is None or int(document["metadata"]["resourceVersion"]) > since:
                return document
            return kind.schema.decode(document, [], live=None)

        table.set_reader(read)

    def _update_status(self, document: Document) -> Document:
        """Return the definition with its current status; store it if the status changed."""
        server = self._server
        latest = server.store.table(DEFINITIONS).latest("", document["metadata"]["name"])
        if latest is None or _resource_version(latest) != _resource_version(document):
            return document  # a newer write follows
        status = compute_status(
            document, self._group_definitions(document), format_time(server.clock())
        )
        if status == document.get("status"):
            return document
        kind = server.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert kind is not None
        new = {**document, "metadata": {**document["metadata"]}, "status": status}
        write = Write(
            "kube-apiserver",
            "apiextensions.k8s.io/v1",
            format_time(server.clock()),
            "status",
            {"f:metadata": {}, "f:spec": {}},
        )
        new = kind.schema.tracker.track(document, new, write)
        new = {**new, "metadata": {**new["metadata"]}}
        return server.store.put(server.store.table(DEFINITIONS), "", new["metadata"]["name"], new)

    def _group_definitions(self, document: Document) -> list[Document]:
        """Return the other definitions of a group, including staged writes."""
        name, group = document["metadata"]["name"], document["spec"]["group"]
        table = self._server.store.table(DEFINITIONS)
        names = [item["metadata"]["name"] for item in table.scan("")]
        latest = [table.latest("", item) for item in names if item != name]
        return [item for item in latest if item is not None and item["spec"]["group"] == group]

    def _delete_objects(self, document: Document) -> None:
        """Delete the objects of a definition that is being deleted."""
        meta = document["metadata"]
        if not meta.get("deletionTimestamp") or CLEANUP not in (meta.get("finalizers") or ()):
            return
        table = meta["name"]
        if self._ending.setdefault(table, meta["name"]) and self._server.store.peek(table):
            from kapy.apiserver.verbs.delete import stage_deletion

            for item in list(self._server.store.table(table).content("").values()):
                kinds = self._served.get(table)
                if kinds and not item["metadata"].get("deletionTimestamp"):
                    stage_deletion(self._server, kinds[0], item)
        self._remove_definition(table)

    def _remove_definition(self, table: str) -> None:
        """Remove a deleted definition when none of its objects is left."""
        if table not in self._ending:
            return
        objects = self._server.store.peek(table)
        definitions = self._server.store.table(DEFINITIONS)
        document = definitions.latest("", table)
        if document is None or (objects is not None and (len(objects) or objects.staged)):
            return
        del self._ending[table]
        meta = document["metadata"]
        finalizers = [
            finalizer for finalizer in meta.get("finalizers") or () if finalizer != CLEANUP
        ]
        if finalizers:
            new = {**document, "metadata": {**meta, "finalizers": finalizers}}
            self._server.store.put(definitions, "", table, new)
        else:
            self._server.store.delete(definitions, "", table, document)


class DefinitionFollower(DefinitionController):
    """The DefinitionController of a replica of the store, to which only another process writes."""

    def _update_status(self, document: Document) -> Document:
        return document

    def _delete_objects(self, document: Document) -> None:
        """Do nothing: the other process deletes the objects, and the deletions arrive as writes."""

    def _remove_definition(self, table: str) -> None:
        """Do nothing: the other process removes the definition, and the removal arrives as a
        write.
        """


def _served_fields(document: Document) -> tuple[Any, ...]:
    """Return the fields on which the served kinds depend."""
    status = document.get("status") or {}
    return document["spec"], status.get("acceptedNames"), is_true(document, "Established")


def _resource_version(document: Document) -> str:
    return str(document["metadata"]["resourceVersion"])
