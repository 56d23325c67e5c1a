"""What is special about writing some of Kubernetes' own kinds."""

from __future__ import annotations

import base64

from kapy.apiserver.resources.builtin.defaults import DEFAULTS
from kapy.apiserver.resources.builtin.definition_errors import definition_errors
from kapy.apiserver.resources.builtin.table import Row
from kapy.apiserver.resources.strategy import Strategy, masked
from kapy.apiserver.resources.structs import decoder, struct_of
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.qualified_names import dns_label_errors


class BuiltIn(Strategy):
    """A kind with the flags of its row."""

    def __init__(self, row: Row) -> None:
        self.generation = "g" in row.flags
        self.status = "s" in row.flags
        table = f"{row.plural}.{row.group}" if row.group else row.plural
        self._fill = DEFAULTS.get(table)
        self._struct = struct_of(row.group, row.version, row.kind) or ""

    def default(self, document: Document) -> None:
        if self._fill is not None:
            self._fill(document)

    def prepare_create(self, document: Document, table: Table) -> None:
        """A new object has the status that nobody reported yet."""
        if self.status and self._struct:
            zero = decoder(self._struct)({}, None, [])
            if "status" in zero:
                document["status"] = zero["status"]


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

    def prepare_create(self, document: Document, table: Table) -> None:
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


class ServiceStrategy(BuiltIn):
    """Services: cluster addresses and node ports are given out."""

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        spec = {**document["spec"]}
        document["spec"] = spec
        kind, headless = spec.get("type"), spec.get("clusterIP") == "None"
        if kind == "ExternalName":
            return
        if not spec.get("clusterIP"):
            spec["clusterIP"] = _free_address(table)
        spec["clusterIPs"] = [spec["clusterIP"]]
        both = headless and not spec.get("selector")
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if both else ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack" if both else "SingleStack")
        if kind in ("NodePort", "LoadBalancer"):
            spec["ports"] = _with_node_ports(spec.get("ports") or [], table)

    def prepare_update(self, document: Document, old: Document) -> None:
        spec, before = {**(document.get("spec") or {})}, old.get("spec") or {}
        document["spec"] = spec
        if spec.get("type") == "ExternalName":
            return
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(field) and field in before:
                spec[field] = before[field]


_NODE_PORTS = range(30000, 32768)


def _free_address(table: Table) -> str:
    """An address of 10.96.0.0/12 that no Service has; the first is that of `kubernetes`."""
    taken = {(one.get("spec") or {}).get("clusterIP") for one in table.scan("")}
    number = len(taken) + 1
    while True:
        address = f"10.{96 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
        if address not in taken:
            return address
        number += 1


def _with_node_ports(ports: list[Document], table: Table) -> list[Document]:
    taken = {
        port.get("nodePort")
        for one in table.scan("")
        for port in (one.get("spec") or {}).get("ports") or ()
    }
    given = []
    for port in ports:
        number = port.get("nodePort") or next(one for one in _NODE_PORTS if one not in taken)
        taken.add(number)
        given.append({**port, "nodePort": number})
    return given


_QOS = ("cpu", "memory")


class PodStrategy(BuiltIn):
    """Pods: pending until somebody says otherwise, with the class of their resources."""

    def prepare_create(self, document: Document, table: Table) -> None:
        del table
        document["status"] = {"phase": "Pending", "qosClass": _qos(document.get("spec") or {})}


def _qos(spec: Document) -> str:
    """The quality of service that a pod's requests and limits give it."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    parts = [one.get("resources") or {} for one in containers]
    asked = [part for one in parts for part in (one.get("requests"), one.get("limits"))]
    if not any(part and any(name in part for name in _QOS) for part in asked):
        return "BestEffort"
    guaranteed = all(
        (one.get("limits") or {}).get(name)
        and (one.get("requests") or one["limits"]).get(name) == one["limits"][name]
        for one in parts
        for name in _QOS
    )
    return "Guaranteed" if guaranteed else "Burstable"


class DefinitionStrategy(BuiltIn):
    """CustomResourceDefinitions."""

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        stored = [
            one["name"] for one in document["spec"].get("versions") or () if one.get("storage")
        ]
        document["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored,
        }

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return definition_errors(document, old)


_SPECIAL: dict[tuple[str, str], type[BuiltIn]] = {
    ("", "namespaces"): NamespaceStrategy,
    ("", "pods"): PodStrategy,
    ("", "secrets"): SecretStrategy,
    ("apiextensions.k8s.io", "customresourcedefinitions"): DefinitionStrategy,
    ("", "services"): ServiceStrategy,
}


def strategy_of(row: Row) -> Strategy:
    """The strategy of a built-in resource."""
    return _SPECIAL.get((row.group, row.plural), BuiltIn)(row)
