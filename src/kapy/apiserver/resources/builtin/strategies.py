"""What is special about writing some of Kubernetes' own kinds."""

from __future__ import annotations

import base64

from kapy.apiserver.resources.builtin.defaults import DEFAULTS
from kapy.apiserver.resources.builtin.table import Row
from kapy.apiserver.resources.strategy import Strategy, masked
from kapy.kube import Document
from kapy.kube.qualified_names import dns_label_errors


class BuiltIn(Strategy):
    """A kind with the flags of its row."""

    def __init__(self, row: Row) -> None:
        self.generation = "g" in row.flags
        self.status = "s" in row.flags
        table = f"{row.plural}.{row.group}" if row.group else row.plural
        self._fill = DEFAULTS.get(table)

    def default(self, document: Document) -> None:
        if self._fill is not None:
            self._fill(document)


class NamespaceStrategy(BuiltIn):
    """Namespaces: a finalizer of their own, a phase, a label with their name."""

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        if "." in name:
            return ["must not contain dots"]
        return dns_label_errors(masked(name) if prefix else name)

    def default(self, document: Document) -> None:
        metadata = document["metadata"]
        if metadata.get("name"):
            labels = metadata.get("labels") or {}
            metadata["labels"] = {**labels, "kubernetes.io/metadata.name": metadata["name"]}

    def prepare_create(self, document: Document) -> None:
        spec = document.get("spec") or {}
        finalizers = spec.get("finalizers") or []
        if "kubernetes" not in finalizers:
            finalizers = [*finalizers, "kubernetes"]
        document["spec"] = {**spec, "finalizers": finalizers}
        document["status"] = {"phase": "Active"}

    def prepare_update(self, document: Document, old: Document) -> None:
        document["spec"] = old.get("spec", {})


class SecretStrategy(BuiltIn):
    """Secrets: a type, and stringData that becomes data."""

    def default(self, document: Document) -> None:
        if not document.get("type"):
            document["type"] = "Opaque"
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
    return _SPECIAL.get((row.group, row.plural), BuiltIn)(row)
