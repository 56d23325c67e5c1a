"""The ServiceAccount `default` and the ConfigMap `kube-root-ca.crt` of every namespace.

These are kube-controller-manager's controllers serviceaccount and root-ca-certificate-publisher.
They write in the same transaction as the change that triggers them, so both objects exist as soon
as a namespace is created.
"""

from __future__ import annotations

from typing import Final

from kapy.apiserver.controllers.writing import changed, made
from kapy.apiserver.plane import Plane
from kapy.apiserver.store.history import Happening
from kapy.kube import Document

_NAMESPACES, _ACCOUNTS, _CONFIG_MAPS = "namespaces", "serviceaccounts", "configmaps"
DEFAULT: Final = "default"
ROOT_CA: Final = "kube-root-ca.crt"
_ABOUT: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


class Belongings:
    """Create these objects in all namespaces of a server for its lifetime.

    authority: PEM of the CA that signed the server's certificate; "" publishes none.
    """

    def __init__(self, plane: Plane, authority: str) -> None:
        self._plane = plane
        self._authority = authority
        self._watched = {_ACCOUNTS: DEFAULT, **({_CONFIG_MAPS: ROOT_CA} if authority else {})}
        plane.store.listeners.append(self._noticed)
        for space in list(plane.store.table(_NAMESPACES).content("").values()):
            self._complete(space["metadata"]["name"])

    def _noticed(self, one: Happening) -> None:
        if one.table == _NAMESPACES:
            if one.change == "ADDED":
                self._complete(one.name)
        elif self._watched.get(one.table) == one.name:
            self._complete(one.namespace)

    def _complete(self, namespace: str) -> None:
        space = self._plane.store.table(_NAMESPACES).latest("", namespace)
        if space is None or space["metadata"].get("deletionTimestamp"):
            return
        self._ensure(_ACCOUNTS, namespace, {"kind": "ServiceAccount", "metadata": _named(DEFAULT)})
        if self._authority:
            meta = {**_named(ROOT_CA), "annotations": {"kubernetes.io/description": _ABOUT}}
            bundle = {"kind": "ConfigMap", "metadata": meta, "data": {"ca.crt": self._authority}}
            self._ensure(_CONFIG_MAPS, namespace, bundle)

    def _ensure(self, plural: str, namespace: str, wanted: Document) -> None:
        kind = self._plane.registry.find("", "v1", plural)
        assert kind is not None
        name = wanted["metadata"]["name"]
        found = self._plane.table(kind).latest(namespace, name)
        if found is None:
            made(self._plane, kind, namespace, {"apiVersion": "v1", **wanted})
        elif found.get("data") != wanted.get("data"):
            changed(self._plane, kind, found, {**found, "data": wanted["data"]})


def _named(name: str) -> Document:
    return {"name": name}
