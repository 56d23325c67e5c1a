"""The printers of Kubernetes' own kinds, Events included: columns and cells of `kubectl get`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapy.apiserver.resources.builtin.device_kinds import DEVICE_PRINTERS
from kapy.apiserver.resources.builtin.event_conversion import to_core
from kapy.apiserver.resources.builtin.network_printers import NETWORK
from kapy.apiserver.resources.builtin.printer import (
    AGE,
    NONE,
    AgeCell,
    Printer,
    spec_of,
    status_of,
    titles,
)
from kapy.apiserver.resources.builtin.workload_printers import WORKLOADS
from kapy.kube import Document


def _event(document: Document) -> Iterable[Any]:
    if document.get("apiVersion") != "v1":
        document = to_core(document)
    about, series = document.get("involvedObject") or {}, document.get("series")
    kind = str(about.get("kind", "")).lower()
    first = document.get("firstTimestamp") or document.get("eventTime")
    last = document.get("lastTimestamp") or first
    count = document.get("count") or 1
    if series:
        last, count = series.get("lastObservedTime"), series.get("count", 0)
    return [
        AgeCell(last),
        document.get("type", ""),
        document.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        _source(document),
        str(document.get("message", "")).strip(),
        AgeCell(first),
        count,
        document["metadata"].get("name", ""),
    ]


def _source(document: Document) -> str:
    """Return the component that reports the Event, and its host."""
    source = document.get("source") or {}
    component, host = source.get("component", ""), source.get("host", "")
    if not component:
        component = document.get("reportingComponent", "")
        host = document.get("reportingInstance", "")
    return f"{component}, {host}" if host else component


EVENTS = Printer(
    titles(
        *("Last Seen", "Type", "Reason", "Object", "Subobject+", "Source+", "Message"),
        *("First Seen+", "Count+", "Name+"),
    ),
    _event,
    named=False,
)


def _namespace(document: Document) -> Iterable[Any]:
    return [status_of(document).get("phase", "")]


def _config_map(document: Document) -> Iterable[Any]:
    return [len(document.get("data") or {}) + len(document.get("binaryData") or {})]


def _secret(document: Document) -> Iterable[Any]:
    return [document.get("type", ""), len(document.get("data") or {})]


def _lease(document: Document) -> Iterable[Any]:
    return [spec_of(document).get("holderIdentity", "")]


def _node(document: Document) -> Iterable[Any]:
    spec, status = spec_of(document), status_of(document)
    conditions = {
        condition.get("type"): condition.get("status")
        for condition in status.get("conditions") or []
    }
    words = {"True": "Ready", "False": "NotReady"}
    state = words.get(conditions.get("Ready", ""), "Unknown")
    if spec.get("unschedulable"):
        state += ",SchedulingDisabled"
    info = status.get("nodeInfo") or {}
    addresses = {
        address.get("type"): address.get("address") for address in status.get("addresses") or []
    }
    return [
        state,
        _roles(document["metadata"].get("labels") or {}),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE),
        addresses.get("ExternalIP", NONE),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _roles(labels: dict[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    if other := labels.get("kubernetes.io/role"):
        roles.add(other)
    return ",".join(sorted(role for role in roles if role)) or NONE


def _role_binding(document: Document) -> Iterable[Any]:
    role = document.get("roleRef") or {}
    by_kind: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in document.get("subjects") or []:
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        by_kind.setdefault(subject.get("kind", ""), []).append(name)
    return [
        f"{role.get('kind', '')}/{role.get('name', '')}",
        ", ".join(by_kind["User"]),
        ", ".join(by_kind["Group"]),
        ", ".join(by_kind["ServiceAccount"]),
    ]


def _volume(document: Document) -> Iterable[Any]:
    spec, status = spec_of(document), status_of(document)
    claim = spec.get("claimRef") or {}
    return [
        (spec.get("capacity") or {}).get("storage", ""),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        status.get("reason", ""),
        spec.get("volumeMode") or "<unset>",
    ]


def _claim(document: Document) -> Iterable[Any]:
    spec, status = spec_of(document), status_of(document)
    return [
        status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", ""),
        _modes(status.get("accessModes")),
        spec.get("storageClassName", ""),
        spec.get("volumeMode") or "<unset>",
    ]


_SHORT_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(modes: Any) -> str:
    return ",".join(_SHORT_MODES.get(mode, mode) for mode in modes or [])


def _storage_class(document: Document) -> Iterable[Any]:
    return [
        document.get("provisioner", ""),
        document.get("reclaimPolicy") or "Delete",
        document.get("volumeBindingMode") or "Immediate",
        document.get("allowVolumeExpansion", False),
    ]


def _budget(document: Document) -> Iterable[Any]:
    spec, status = spec_of(document), status_of(document)
    least, most = spec.get("minAvailable", "N/A"), spec.get("maxUnavailable", "N/A")
    return [str(least), str(most), status.get("disruptionsAllowed", 0)]


def _hooks(document: Document) -> Iterable[Any]:
    return [len(document.get("webhooks") or [])]


def _priority(document: Document) -> Iterable[Any]:
    return [
        document.get("value", 0),
        document.get("globalDefault", False),
        document.get("preemptionPolicy", ""),
    ]


PRINTERS: dict[str, Printer] = {
    "namespaces": Printer(
        (("Status", "string", 0, "The status of the namespace"), AGE), _namespace
    ),
    "configmaps": Printer(titles("Data", "Age"), _config_map),
    "secrets": Printer(titles("Type", "Data", "Age"), _secret),
    "serviceaccounts": Printer(titles("Age"), lambda _: ()),
    "nodes": Printer(
        titles(
            "Status",
            "Roles",
            "Age",
            "Version",
            "Internal-IP+",
            "External-IP+",
            "OS-Image+",
            "Kernel-Version+",
            "Container-Runtime+",
        ),
        _node,
    ),
    "persistentvolumes": Printer(
        titles(
            "Capacity",
            "Access Modes",
            "Reclaim Policy",
            "Status",
            "Claim",
            "StorageClass",
            "Reason",
            "Age",
            "VolumeMode+",
        ),
        _volume,
    ),
    "persistentvolumeclaims": Printer(
        titles(
            "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "Age", "VolumeMode+"
        ),
        _claim,
    ),
    "leases.coordination.k8s.io": Printer(titles("Holder", "Age"), _lease),
    "rolebindings.rbac.authorization.k8s.io": Printer(
        titles("Role", "Age", "Users+", "Groups+", "ServiceAccounts+"), _role_binding
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": Printer(
        titles("Role", "Age", "Users+", "Groups+", "ServiceAccounts+"), _role_binding
    ),
    "storageclasses.storage.k8s.io": Printer(
        titles("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"),
        _storage_class,
    ),
    "poddisruptionbudgets.policy": Printer(
        titles("Min Available", "Max Unavailable", "Allowed Disruptions#", "Age"), _budget
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": Printer(
        titles("Webhooks#", "Age"), _hooks
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": Printer(
        titles("Webhooks#", "Age"), _hooks
    ),
    "priorityclasses.scheduling.k8s.io": Printer(
        titles("Value#", "Global-Default?", "Age", "PreemptionPolicy"), _priority
    ),
    **WORKLOADS,
    **NETWORK,
    **DEVICE_PRINTERS,
    "events": EVENTS,
}
