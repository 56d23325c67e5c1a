"""What is special about writing some of Kubernetes' own kinds."""

from __future__ import annotations

import base64

from kapy.apiserver.resources.builtin.table import Row
from kapy.apiserver.resources.strategy import Strategy, masked
from kapy.kube import Document
from kapy.kube.qualified_names import dns_label_errors


class BuiltIn(Strategy):
    """A kind with the flags of its row."""

    def __init__(self, flags: str) -> None:
        self.generation = "g" in flags
        self.status = "s" in flags


class NamespaceStrategy(BuiltIn):
    """Namespaces: a finalizer of their own, a phase, a label with their name."""

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        if "." in name:
            return ["must not contain dots"]
        return dns_label_errors(masked(name) if prefix else name)

    def prepare_create(self, document: Document) -> None:
        spec = document.setdefault("spec", {})
        if "kubernetes" not in spec.setdefault("finalizers", []):
            spec["finalizers"].append("kubernetes")
        document["status"] = {"phase": "Active"}
        _label(document)

    def prepare_update(self, document: Document, old: Document) -> None:
        document["spec"] = old.get("spec", {})
        _label(document)


def _label(document: Document) -> None:
    metadata = document["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    metadata["labels"] = labels


class SecretStrategy(BuiltIn):
    """Secrets: a type, and stringData that becomes data."""

    def prepare_create(self, document: Document) -> None:
        _secret_data(document)

    def prepare_update(self, document: Document, old: Document) -> None:
        _secret_data(document)
        if not document.get("type"):
            document["type"] = old.get("type", "Opaque")


def _secret_data(document: Document) -> None:
    document.setdefault("type", "Opaque")
    plain = document.pop("stringData", None)
    if plain:
        coded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        document["data"] = {**(document.get("data") or {}), **coded}


_SPECIAL: dict[tuple[str, str], type[BuiltIn]] = {
    ("", "namespaces"): NamespaceStrategy,
    ("", "secrets"): SecretStrategy,
}


def strategy_of(row: Row) -> Strategy:
    """The strategy of a built-in resource."""
    return _SPECIAL.get((row.group, row.plural), BuiltIn)(row.flags)
