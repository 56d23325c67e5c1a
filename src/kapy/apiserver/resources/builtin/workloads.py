"""Strategies of Services, Pods and workloads."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kapy.apiserver.resources.builtin.defaults import TEMPLATE_GENERATION
from kapy.apiserver.resources.builtin.job_errors import add_generated_selector, job_errors
from kapy.apiserver.resources.builtin.kind_warnings import pod_warnings, service_warnings
from kapy.apiserver.resources.builtin.pod_errors import image_errors, pod_errors
from kapy.apiserver.resources.builtin.service_allocation import allocate_service, needs_node_ports
from kapy.apiserver.resources.builtin.service_errors import (
    is_externally_accessible,
    service_errors,
)
from kapy.apiserver.resources.builtin.strategy import BuiltInStrategy
from kapy.apiserver.resources.builtin.table import Row
from kapy.apiserver.resources.builtin.workload_errors import workload_errors
from kapy.apiserver.resources.strategy import mask_generate_name
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors
from kapy.kube.qualified_names import dns_label_errors


class ServiceStrategy(BuiltInStrategy):
    """The strategy of Services: cluster IPs and node ports are allocated."""

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        return dns_label_errors(mask_generate_name(name) if prefix else name)

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return FieldErrors.of(service_errors(document, old))

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        del old
        return list(service_warnings(document))

    def allocate(self, document: Document, old: Document | None, table: Table) -> None:
        allocate_service(document, old, table)

    def prepare_update(self, document: Document, old: Document) -> None:
        """Drop allocated values that the new type of a Service does not have.

        Values that the same write changes stay, so that validation refuses them.
        """
        spec, before = {**(document.get("spec") or {})}, old.get("spec") or {}
        document["spec"] = spec
        if spec.get("type") == "ExternalName" != before.get("type"):
            same = all(spec.get(address) == before.get(address) for address in _ADDRESSES)
            addresses = [*(_ADDRESSES if same else ()), "ipFamilies", "ipFamilyPolicy"]
            _drop_unchanged(spec, before, addresses)
        if needs_node_ports(before) and not needs_node_ports(spec):
            _drop_node_ports(spec, before)
        if before.get("type") == "LoadBalancer" != spec.get("type"):
            _drop_unchanged(spec, before, _BALANCER)
        if is_externally_accessible(before) and not is_externally_accessible(spec):
            _drop_unchanged(spec, before, ("externalTrafficPolicy",))
        if spec.get("type") != "LoadBalancer" and "status" in document:
            document["status"] = {**(document["status"] or {}), "loadBalancer": {}}


_ADDRESSES = ("clusterIP", "clusterIPs")
_BALANCER = ("allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort")


def _drop_unchanged(spec: Document, before: Document, fields: Iterable[str]) -> None:
    for field in fields:
        if field in spec and spec[field] == before.get(field):
            del spec[field]


def _drop_node_ports(spec: Document, before: Document) -> None:
    old_ports = {port.get("nodePort") for port in before.get("ports") or ()}
    request = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
    if old_ports >= request:
        ports = spec.get("ports") or ()
        spec["ports"] = [{k: v for k, v in port.items() if k != "nodePort"} for port in ports]


_TOLERATIONS: tuple[Document, ...] = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)
"""The tolerations that kube-apiserver's DefaultTolerationSeconds admission adds."""

_QOS = ("cpu", "memory")


class PodStrategy(BuiltInStrategy):
    """The strategy of Pods: the initial phase Pending, and the QoS class."""

    def prepare_create(self, document: Document, table: Table) -> None:
        del table
        spec = document.get("spec") or {}
        keys = {toleration.get("key") for toleration in spec.get("tolerations") or ()}
        added = [toleration for toleration in _TOLERATIONS if toleration["key"] not in keys]
        document["spec"] = {**spec, "tolerations": [*(spec.get("tolerations") or ()), *added]}
        document["status"] = {"phase": "Pending", "qosClass": _qos(document.get("spec") or {})}

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        spec = document.get("spec") or {}
        if old is not None and spec == old.get("spec"):
            return []
        return FieldErrors.of((*pod_errors(spec, "spec"), *image_errors(spec, "spec")))

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return [] if old is not None else list(pod_warnings(document.get("spec") or {}, "spec"))


def _qos(spec: Document) -> str:
    """Return the QoS class for a pod's requests and limits."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    parts = [container.get("resources") or {} for container in containers]
    request = [part for item in parts for part in (item.get("requests"), item.get("limits"))]
    if not any(part and any(name in part for name in _QOS) for part in request):
        return "BestEffort"
    guaranteed = all(
        (part.get("limits") or {}).get(name)
        and (part.get("requests") or part["limits"]).get(name) == part["limits"][name]
        for part in parts
        for name in _QOS
    )
    return "Guaranteed" if guaranteed else "Burstable"


class WorkloadStrategy(BuiltInStrategy):
    """The strategy of Deployments, ReplicaSets, StatefulSets and DaemonSets: a selector and a
    matching template.
    """

    def __init__(self, row: Row) -> None:
        super().__init__(row)
        self._named = row.kind.lower()
        self._template_generation = row.kind != "DaemonSet"
        self.generation_counts_annotations = row.kind == "Deployment"

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return FieldErrors.of(
            workload_errors(document, old, self._named, counted=self._template_generation)
        )

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return template_warnings(document, old)


class StatefulSetStrategy(WorkloadStrategy):
    """The strategy of StatefulSets. The feature MaxUnavailableStatefulSet is off."""

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        _drop_unavailable(document)

    def prepare_update(self, document: Document, old: Document) -> None:
        super().prepare_update(document, old)
        _drop_unavailable(document)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        limit = (document.get("spec") or {}).get("revisionHistoryLimit")
        unlimited = [_UNLIMITED] if limit is not None and limit < 0 else []
        return [*super().warnings(document, old), *unlimited]


_UNLIMITED = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
    "a value >= 0 is recommended"
)


def _drop_unavailable(document: Document) -> None:
    spec = document.get("spec") or {}
    strategy = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    if "maxUnavailable" in rolling:
        rolling = {key: value for key, value in rolling.items() if key != "maxUnavailable"}
        document["spec"] = {**spec, "updateStrategy": {**strategy, "rollingUpdate": rolling}}


class DaemonSetStrategy(WorkloadStrategy):
    """The strategy of DaemonSets: an annotation counts the changes of the template."""

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        _count(document, max(1, _template_generation(document)))

    def prepare_update(self, document: Document, old: Document) -> None:
        super().prepare_update(document, old)
        template = (document.get("spec") or {}).get("template")
        changed = template != (old.get("spec") or {}).get("template")
        _count(document, _template_generation(old) + changed)


def _template_generation(document: Document) -> int:
    text = (document["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text, re.ASCII) else 0


def _count(document: Document, number: int) -> None:
    meta = document["metadata"]
    annotations = {**(meta.get("annotations") or {}), TEMPLATE_GENERATION: str(number)}
    document["metadata"] = {**meta, "annotations": annotations}


def template_warnings(document: Document, old: Document | None) -> list[str]:
    """Return the warnings about a new or changed pod template."""
    meta = document["metadata"]
    if old is not None and meta.get("generation") == old["metadata"].get("generation"):
        return []
    template = (document.get("spec") or {}).get("template") or {}
    return list(pod_warnings(template.get("spec") or {}, "spec.template.spec"))


class JobStrategy(BuiltInStrategy):
    """The strategy of Jobs: the server generates the selector of a Job's pods."""

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        spec = document.get("spec") or {}
        if not spec.get("manualSelector"):
            document["spec"] = spec = add_generated_selector(spec, document["metadata"])

    def to_stored(self, document: Document) -> Document:
        template = (document.get("spec") or {}).get("template") or {}
        labels = (template.get("metadata") or {}).get("labels")
        if not labels or document["metadata"].get("labels"):
            return document
        return {**document, "metadata": {**document["metadata"], "labels": labels}}

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return FieldErrors.of(job_errors(document, old))

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return template_warnings(document, old)
