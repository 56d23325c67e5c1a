"""The columns that `kubectl get` shows for Kubernetes' own kinds, and how their cells are made.

`Age` is filled in by kapy.apiserver.tables; the cells here are those of the other columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kapy.kube import Document
from kapy.kube.selectors import InvalidSelector, selector_of

Title = tuple[str, str, int, str]
"""Name, type, priority, description."""

_NONE = "<none>"
_AGE: Title = ("Age", "string", 0, "")


class Printer(NamedTuple):
    """The columns of a kind after the name, and the cells of all but the age."""

    columns: tuple[Title, ...]
    cells: Callable[[Document], Iterable[Any]]


def _titles(*names: str) -> tuple[Title, ...]:
    """Columns of strings; a name with a trailing `+` is shown in wide output only."""
    return tuple(
        _AGE if name == "Age" else (name.rstrip("+"), "string", int(name.endswith("+")), "")
        for name in names
    )


def _spec(document: Document) -> Document:
    return document.get("spec") or {}


def _status(document: Document) -> Document:
    return document.get("status") or {}


def _selector(selector: Any) -> str:
    if not selector:
        return _NONE
    try:
        return str(selector_of(selector)) or _NONE
    except (InvalidSelector, AttributeError):
        return "<invalid>"


def _labels(labels: Any) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or _NONE


def _containers(template: Document) -> tuple[str, str]:
    found = (template.get("spec") or {}).get("containers") or []
    names = ",".join(one.get("name", "") for one in found)
    return names, ",".join(one.get("image", "") for one in found)


def _namespace(document: Document) -> Iterable[Any]:
    return [_status(document).get("phase", "")]


def _config_map(document: Document) -> Iterable[Any]:
    return [len(document.get("data") or {}) + len(document.get("binaryData") or {})]


def _secret(document: Document) -> Iterable[Any]:
    return [document.get("type", ""), len(document.get("data") or {})]


def _service_account(document: Document) -> Iterable[Any]:
    return [len(document.get("secrets") or [])]


def _lease(document: Document) -> Iterable[Any]:
    return [_spec(document).get("holderIdentity", "")]


def _service(document: Document) -> Iterable[Any]:
    spec = _spec(document)
    ports = ",".join(_port(one) for one in spec.get("ports") or []) or _NONE
    ingress = (_status(document).get("loadBalancer") or {}).get("ingress") or []
    outer = [*(one.get("ip") or one.get("hostname", "") for one in ingress)]
    outer += spec.get("externalIPs") or []
    external = ",".join(outer)
    if not external:
        external = "<pending>" if spec.get("type") == "LoadBalancer" else _NONE
    if spec.get("type") == "ExternalName":
        external = spec.get("externalName", _NONE)
    kind = spec.get("type", "ClusterIP")
    return [kind, spec.get("clusterIP") or _NONE, external, ports, _labels(spec.get("selector"))]


def _port(port: Document) -> str:
    protocol = port.get("protocol", "TCP")
    if port.get("nodePort"):
        return f"{port.get('port')}:{port['nodePort']}/{protocol}"
    return f"{port.get('port')}/{protocol}"


def _deployment(document: Document) -> Iterable[Any]:
    spec, status = _spec(document), _status(document)
    return [
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        *_containers(spec.get("template") or {}),
        _selector(spec.get("selector")),
    ]


def _replica_set(document: Document) -> Iterable[Any]:
    spec, status = _spec(document), _status(document)
    return [
        spec.get("replicas", 1),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        *_containers(spec.get("template") or {}),
        _selector(spec.get("selector")),
    ]


def _daemon_set(document: Document) -> Iterable[Any]:
    spec, status = _spec(document), _status(document)
    template = spec.get("template") or {}
    return [
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        _labels((template.get("spec") or {}).get("nodeSelector")),
        *_containers(template),
        _selector(spec.get("selector")),
    ]


def _stateful_set(document: Document) -> Iterable[Any]:
    spec, status = _spec(document), _status(document)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [ready, *_containers(spec.get("template") or {})]


def _pod(document: Document) -> Iterable[Any]:
    spec, status = _spec(document), _status(document)
    states = status.get("containerStatuses") or []
    ready = sum(1 for one in states if one.get("ready"))
    restarts = sum(one.get("restartCount", 0) for one in states)
    gates = [one.get("conditionType", "") for one in spec.get("readinessGates") or []]
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or []}
    met = sum(1 for gate in gates if conditions.get(gate) == "True")
    return [
        f"{ready}/{len(spec.get('containers') or [])}",
        _pod_phase(document, states),
        str(restarts),
        status.get("podIP") or _NONE,
        spec.get("nodeName") or _NONE,
        status.get("nominatedNodeName") or _NONE,
        f"{met}/{len(gates)}" if gates else _NONE,
    ]


def _pod_phase(document: Document, states: list[Document]) -> str:
    status = _status(document)
    if document["metadata"].get("deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    for state in reversed(states):
        now = state.get("state") or {}
        for part in ("waiting", "terminated"):
            reason = (now.get(part) or {}).get("reason")
            if reason:
                return str(reason)
    return str(status.get("reason") or status.get("phase", ""))


def _node(document: Document) -> Iterable[Any]:
    spec, status = _spec(document), _status(document)
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or []}
    words = {"True": "Ready", "False": "NotReady"}
    state = words.get(conditions.get("Ready", ""), "Unknown")
    if spec.get("unschedulable"):
        state += ",SchedulingDisabled"
    info = status.get("nodeInfo") or {}
    addresses = {one.get("type"): one.get("address") for one in status.get("addresses") or []}
    return [
        state,
        _roles(document["metadata"].get("labels") or {}),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", _NONE),
        addresses.get("ExternalIP", _NONE),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _roles(labels: dict[str, str]) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)}
    if other := labels.get("kubernetes.io/role"):
        roles.add(other)
    return ",".join(sorted(role for role in roles if role)) or _NONE


def _event(document: Document) -> Iterable[Any]:
    about = document.get("involvedObject") or {}
    kind = str(about.get("kind", "")).lower()
    source = document.get("source") or {}
    reporter = document.get("reportingComponent") or source.get("component") or ""
    last = document.get("lastTimestamp") or document.get("eventTime")
    return [
        last or "<unknown>",
        document.get("type", ""),
        document.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        reporter,
        str(document.get("message", "")).strip(),
        document.get("firstTimestamp") or last or "<unknown>",
        document.get("count", 1),
        document["metadata"]["name"],
    ]


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
    spec, status = _spec(document), _status(document)
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
    spec, status = _spec(document), _status(document)
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
    return ",".join(_SHORT_MODES.get(one, one) for one in modes or [])


def _storage_class(document: Document) -> Iterable[Any]:
    return [
        document.get("provisioner", ""),
        document.get("reclaimPolicy") or "Delete",
        document.get("volumeBindingMode") or "Immediate",
        document.get("allowVolumeExpansion", False),
    ]


def _budget(document: Document) -> Iterable[Any]:
    spec, status = _spec(document), _status(document)
    least, most = spec.get("minAvailable", "N/A"), spec.get("maxUnavailable", "N/A")
    return [str(least), str(most), status.get("disruptionsAllowed", 0)]


def _endpoints(document: Document) -> Iterable[Any]:
    found = []
    for subset in document.get("subsets") or []:
        for address in subset.get("addresses") or []:
            ports = subset.get("ports") or [{}]
            found += [
                f"{address.get('ip', '')}:{port['port']}" if port.get("port") else address.get("ip")
                for port in ports
            ]
    if len(found) > 3:
        return [f"{','.join(found[:3])} + {len(found) - 3} more..."]
    return [",".join(found) or _NONE]


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
        (("Status", "string", 0, "The status of the namespace"), _AGE), _namespace
    ),
    "configmaps": Printer(_titles("Data", "Age"), _config_map),
    "secrets": Printer(_titles("Type", "Data", "Age"), _secret),
    "serviceaccounts": Printer(_titles("Secrets", "Age"), _service_account),
    "services": Printer(
        _titles("Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector+"), _service
    ),
    "endpoints": Printer(_titles("Endpoints", "Age"), _endpoints),
    "pods": Printer(
        _titles(
            "Ready",
            "Status",
            "Restarts",
            "Age",
            "IP+",
            "Node+",
            "Nominated Node+",
            "Readiness Gates+",
        ),
        _pod,
    ),
    "nodes": Printer(
        _titles(
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
    "events": Printer(
        _titles(
            "Last Seen",
            "Type",
            "Reason",
            "Object",
            "Subobject+",
            "Source+",
            "Message",
            "First Seen+",
            "Count+",
            "Name+",
        ),
        _event,
    ),
    "persistentvolumes": Printer(
        _titles(
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
        _titles(
            "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "Age", "VolumeMode+"
        ),
        _claim,
    ),
    "deployments.apps": Printer(
        (
            *_titles("Ready", "Up-to-date", "Available", "Age"),
            *_titles("Containers+", "Images+", "Selector+"),
        ),
        _deployment,
    ),
    "replicasets.apps": Printer(
        _titles("Desired", "Current", "Ready", "Age", "Containers+", "Images+", "Selector+"),
        _replica_set,
    ),
    "daemonsets.apps": Printer(
        _titles(
            "Desired",
            "Current",
            "Ready",
            "Up-to-date",
            "Available",
            "Node Selector",
            "Age",
            "Containers+",
            "Images+",
            "Selector+",
        ),
        _daemon_set,
    ),
    "statefulsets.apps": Printer(_titles("Ready", "Age", "Containers+", "Images+"), _stateful_set),
    "leases.coordination.k8s.io": Printer(_titles("Holder", "Age"), _lease),
    "rolebindings.rbac.authorization.k8s.io": Printer(
        _titles("Role", "Age", "Users+", "Groups+", "ServiceAccounts+"), _role_binding
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": Printer(
        _titles("Role", "Age", "Users+", "Groups+", "ServiceAccounts+"), _role_binding
    ),
    "storageclasses.storage.k8s.io": Printer(
        _titles("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"),
        _storage_class,
    ),
    "poddisruptionbudgets.policy": Printer(
        _titles("Min Available", "Max Unavailable", "Allowed Disruptions", "Age"), _budget
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": Printer(
        _titles("Webhooks", "Age"), _hooks
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": Printer(
        _titles("Webhooks", "Age"), _hooks
    ),
    "priorityclasses.scheduling.k8s.io": Printer(
        _titles("Value", "Global-Default", "Age", "PreemptionPolicy"), _priority
    ),
}
