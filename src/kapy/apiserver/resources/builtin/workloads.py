"""Services, Pods and what makes pods: what the server gives out, and what it refuses."""

from __future__ import annotations

from kapy.apiserver.resources.builtin.kind_warnings import service_warnings
from kapy.apiserver.resources.builtin.service_errors import service_errors
from kapy.apiserver.resources.builtin.strategy import BuiltIn
from kapy.apiserver.resources.builtin.table import Row
from kapy.apiserver.resources.builtin.workload_errors import pod_errors, workload_errors
from kapy.apiserver.resources.strategy import masked
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors
from kapy.kube.qualified_names import dns_label_errors


class ServiceStrategy(BuiltIn):
    """Services: cluster addresses and node ports are given out."""

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        return dns_label_errors(masked(name) if prefix else name)

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return FieldErrors.of(service_errors(document, old))

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        del old
        return list(service_warnings(document))

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        spec = {**document["spec"]}
        document["spec"] = spec
        kind, headless = spec.get("type"), spec.get("clusterIP") == "None"
        if kind == "ExternalName":
            return
        if not spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIP"] = _free_address(table)
        if not spec.get("clusterIPs"):
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
            # A Service that was of another type loses what it was given, unless it is changed.
            for field in _GIVEN:
                if field in spec and spec[field] == before.get(field):
                    del spec[field]
            return
        for field in _GIVEN:
            if not spec.get(field) and field in before:
                spec[field] = before[field]


_GIVEN = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
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


_TOLERATIONS: tuple[Document, ...] = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)
"""What kube-apiserver's DefaultTolerationSeconds admission adds."""

_QOS = ("cpu", "memory")


class PodStrategy(BuiltIn):
    """Pods: pending until somebody says otherwise, with the class of their resources."""

    def prepare_create(self, document: Document, table: Table) -> None:
        del table
        spec = document.get("spec") or {}
        keys = {one.get("key") for one in spec.get("tolerations") or ()}
        added = [one for one in _TOLERATIONS if one["key"] not in keys]
        document["spec"] = {**spec, "tolerations": [*(spec.get("tolerations") or ()), *added]}
        document["status"] = {"phase": "Pending", "qosClass": _qos(document.get("spec") or {})}

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        if old is not None:
            return []
        return FieldErrors.of(pod_errors(document.get("spec") or {}, "spec"))


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


class WorkloadStrategy(BuiltIn):
    """Deployments, ReplicaSets, StatefulSets and DaemonSets: a selector, and a template for it."""

    def __init__(self, row: Row) -> None:
        super().__init__(row)
        self._named = row.kind.lower()
        self._counted = row.kind != "DaemonSet"

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return FieldErrors.of(workload_errors(document, old, self._named, counted=self._counted))
