"""The ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` of every namespace.

These are kube-controller-manager's controllers serviceaccount and root-ca-certificate-publisher.
They write in the same transaction as the change that triggers them, so both objects exist as soon
as a namespace is created.
"""

from __future__ import annotations

from typing import Final

from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.direct_writes import create_object, update_object
from kapy.kube import Document

_NAMESPACES, _ACCOUNTS, _CONFIG_MAPS = "namespaces", "serviceaccounts", "configmaps"
DEFAULT: Final = "default"
ROOT_CA: Final = "kube-root-ca.crt"
_ABOUT: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


class NamespaceDefaults:
    """Create these objects in all namespaces of a server for its lifetime.

    authority: PEM of the CA that signed the server's certificate; "" publishes none.
    """

    def __init__(self, server: ServerContext, authority: str) -> None:
        self._server = server
        self._authority = authority
        self._watched = {_ACCOUNTS: DEFAULT, **({_CONFIG_MAPS: ROOT_CA} if authority else {})}
        server.store.listeners.append(self._on_write)
        for space in list(server.store.table(_NAMESPACES).content("").values()):
            self._complete(space["metadata"]["name"])

    def _on_write(self, event: WriteEvent) -> None:
        if event.table == _NAMESPACES:
            if event.change == "ADDED":
                self._complete(event.name)
        elif self._watched.get(event.table) == event.name:
            self._complete(event.namespace)

    def _complete(self, namespace: str) -> None:
        space = self._server.store.table(_NAMESPACES).latest("", namespace)
        if space is None or space["metadata"].get("deletionTimestamp"):
            return
        self._ensure(
            _ACCOUNTS, namespace, {"kind": "ServiceAccount", "metadata": _new_object(DEFAULT)}
        )
        if self._authority:
            meta = {**_new_object(ROOT_CA), "annotations": {"kubernetes.io/description": _ABOUT}}
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


def _new_object(name: str) -> Document:
    return {"name": name}
