"""Controllers of namespaces, like kube-controller-manager's.

`NamespaceController` deletes the content of terminating namespaces. `NamespaceDefaults` (upstream's
serviceaccount and root-ca-certificate-publisher) keeps the ServiceAccount `default` and the
ConfigMap `kube-root-ca.crt` of every namespace. It writes in the same transaction as the change
that triggers it, so both objects exist as soon as a namespace is created.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from kapy.apiserver.controllers.work_queue import ObjectKey, WorkQueue
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.metadata import format_time, init_metadata
from kapy.apiserver.store.table import Table
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs import delete
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.direct_writes import create_object, update_object
from kapy.kube import Document
from kapy.kube.errors import ApiError, NotFound
from kapy.kube.http import Request, User

NAMESPACES: Final = "namespaces"
_CONTROLLER = User(
    "system:serviceaccount:kube-system:namespace-controller",
    ("system:serviceaccounts", "system:masters", "system:authenticated"),
)

SYSTEM: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
"""The namespaces that always exist."""
_ACCOUNTS: Final = "serviceaccounts"
_CONFIG_MAPS: Final = "configmaps"
_DEFAULT: Final = "default"
_ROOT_CA: Final = "kube-root-ca.crt"
_ABOUT: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


def ensure_system_namespaces(server: ServerContext) -> None:
    """Create the system namespaces that do not exist."""
    table = server.store.table(NAMESPACES)
    kind = server.registry.find("", "v1", NAMESPACES)
    assert kind is not None
    for name in SYSTEM:
        if table.latest("", name) is None:
            document: Document = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name},
            }
            kind.strategy.default(document)
            init_metadata(document, kind, "", server.clock(), server.rng)
            kind.strategy.prepare_create(document, table)
            server.store.put(table, "", name, document)


class NamespaceController:
    """Delete the content of terminating namespaces, report what remains, remove the finalizer."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._queue = WorkQueue()

    async def run(self) -> None:
        """Process namespaces until cancelled."""
        store = self._server.store
        for document in store.table(NAMESPACES).content("").values():
            self._enqueue_if_terminating(document["metadata"]["name"])
        store.listeners.append(self._on_write)
        try:
            while True:
                await self._process((await self._queue.get()).name)
        finally:
            store.listeners.remove(self._on_write)

    def _enqueue_if_terminating(self, name: str) -> None:
        document = self._server.store.table(NAMESPACES).get("", name)
        if document is not None and document["metadata"].get("deletionTimestamp"):
            self._queue.add(ObjectKey(NAMESPACES, "", name))

    def _on_write(self, event: WriteEvent) -> None:
        if event.table == NAMESPACES:
            self._enqueue_if_terminating(event.name)
        elif event.namespace and event.change != "ADDED":
            self._enqueue_if_terminating(event.namespace)

    async def _process(self, name: str) -> None:
        for table in self._server.store.tables():
            kind = self._server.registry.in_table(table.name)
            if kind is None or not kind.namespaced:
                continue
            for document in list(table.content(name).values()):
                if not document["metadata"].get("deletionTimestamp"):
                    await self._delete(kind, name, document["metadata"]["name"])
        self._update_status(name)

    async def _delete(self, kind: Kind, namespace: str, name: str) -> None:
        path = kind.resource.path(namespace, name)
        options = {"propagationPolicy": "Background"}
        request = Request("DELETE", path, body=options, user=_CONTROLLER)
        context = RequestContext(request, _CONTROLLER, "delete", kind, namespace, name, "")
        try:
            await delete.delete(self._server, context)
        except NotFound:
            return
        except ApiError:
            self._queue.add_after(ObjectKey(NAMESPACES, "", namespace))

    def _update_status(self, name: str) -> None:
        """Write the remaining content into the conditions, or remove the finalizer."""
        table = self._server.store.table(NAMESPACES)
        document = table.latest("", name)
        if document is None or not document["metadata"].get("deletionTimestamp"):
            return
        spec = document.get("spec") or {}
        if "kubernetes" not in (spec.get("finalizers") or ()):
            return
        content = self._remaining_content(name)
        if not content:
            self._remove_finalizer(table, document)
            return
        status = document.get("status") or {}
        conditions = _conditions(content, status, format_time(self._server.clock()))
        if conditions != status.get("conditions"):
            new = {
                **document,
                "metadata": {**document["metadata"]},
                "status": {**status, "conditions": conditions},
            }
            self._server.store.put(table, "", name, new)

    def _remaining_content(self, namespace: str) -> list[tuple[Kind, list[Document]]]:
        result = []
        for table in self._server.store.tables():
            kind = self._server.registry.in_table(table.name)
            objects = list(table.content(namespace).values())
            if kind is not None and kind.namespaced and objects:
                result.append((kind, objects))
        return result

    def _remove_finalizer(self, table: Table, document: Document) -> None:
        store, meta = self._server.store, document["metadata"]
        spec = document.get("spec") or {}
        finalizers = [
            finalizer for finalizer in spec.get("finalizers") or () if finalizer != "kubernetes"
        ]
        if not finalizers and not meta.get("finalizers"):
            store.delete(table, "", meta["name"], document)
            return
        new_spec = {**spec, "finalizers": finalizers} if finalizers else {}
        store.put(table, "", meta["name"], {**document, "metadata": {**meta}, "spec": new_spec})


def _conditions(
    content: list[tuple[Kind, list[Document]]], status: Document, now: str
) -> list[Document]:
    resources = ", ".join(
        f"{kind.group_resource} has {len(objects)} resource instances"
        for kind, objects in sorted(content, key=lambda entry: entry[0].group_resource)
    )
    finalizers = Counter(
        finalizer
        for _, objects in content
        for obj in objects
        for finalizer in obj["metadata"].get("finalizers") or ()
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
    before = {condition["type"]: condition for condition in status.get("conditions") or ()}
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


class NamespaceDefaults:
    """Create these objects in all namespaces of a server for its lifetime.

    authority: PEM of the CA that signed the server's certificate; "" publishes none.
    """

    def __init__(self, server: ServerContext, authority: str) -> None:
        self._server = server
        self._authority = authority
        self._watched = {_ACCOUNTS: _DEFAULT, **({_CONFIG_MAPS: _ROOT_CA} if authority else {})}
        server.store.listeners.append(self._on_write)
        for space in list(server.store.table(NAMESPACES).content("").values()):
            self._complete(space["metadata"]["name"])

    def _on_write(self, event: WriteEvent) -> None:
        if event.table == NAMESPACES:
            if event.change == "ADDED":
                self._complete(event.name)
        elif self._watched.get(event.table) == event.name:
            self._complete(event.namespace)

    def _complete(self, namespace: str) -> None:
        space = self._server.store.table(NAMESPACES).latest("", namespace)
        if space is None or space["metadata"].get("deletionTimestamp"):
            return
        self._ensure(
            _ACCOUNTS, namespace, {"kind": "ServiceAccount", "metadata": {"name": _DEFAULT}}
        )
        if self._authority:
            meta = {"name": _ROOT_CA, "annotations": {"kubernetes.io/description": _ABOUT}}
            bundle = {"kind": "ConfigMap", "metadata": meta, "data": {"ca.crt": self._authority}}
            self._ensure(_CONFIG_MAPS, namespace, bundle)

    def _ensure(self, plural: str, namespace: str, wanted: Document) -> None:
        kind = self._server.registry.find("", "v1", plural)
        assert kind is not None
        name = wanted["metadata"]["name"]
        result = self._server.table(kind).latest(namespace, name)
        if result is None:
            create_object(self._server, kind, namespace, {"apiVersion": "v1", **wanted})
        elif result.get("data") != wanted.get("data"):
            update_object(self._server, kind, result, {**result, "data": wanted["data"]})
