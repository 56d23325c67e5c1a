"""Sets defaults when one of our kinds is created or updated (upstream's webhooks).

The functions work on documents before the schema checks them: a value of the wrong type is left for
the schema to refuse. They never change their argument; unchanged parts are shared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kapy.api.names import (
    ADDONS_GROUP,
    CLUSTER_GROUP,
    CONTROL_PLANE_GROUP,
    INFRASTRUCTURE_GROUP,
    RUNTIME_GROUP,
    Annotation,
    Label,
)
from kapy.kube import Document
from kapy.kube.digits import parse_integer
from kapy.kube.errors import KapyError
from kapy.kube.field_errors import FieldError, required
from kapy.kube.nested import Changes, Path, value_at, with_values
from kapy.kube.qualified_names import label_value

Defaulter: TypeAlias = Callable[[Document, Document | None], Changes]

NODE_DELETION_TIMEOUT_SECONDS: Final = 10
NODE_STARTUP_TIMEOUT_SECONDS: Final = 600
HTTPS_PORT: Final = 443
DOCKER_PORT: Final = 6443

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_LABELS: Final[Path] = ("metadata", "labels")
_REPLICAS: Final[Path] = ("spec", "replicas")
_TEMPLATE: Final[Path] = ("spec", "template")
_STRATEGY: Final[Path] = ("spec", "rollout", "strategy")


class CannotDefault(KapyError):
    """A default depends on a value that cannot be parsed.

    errors: the invalid fields, if upstream's answer names them.
    """

    def __init__(self, message: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.errors = errors


def default(document: Document, old: Document | None = None, *, dry_run: bool = False) -> Document:
    """Return the document with upstream's defaults for its kind; the document itself for other
    kinds.

    old: the stored object, on an update. Raises CannotDefault.
    """
    group = str(document.get("apiVersion", "")).partition("/")[0]
    defaulter = _DEFAULTERS.get((group, document.get("kind", "")))
    if defaulter is not None:
        document = with_values(document, defaulter(document, old))
    elif dry_run and document.get("kind") == "KubeadmConfigTemplate":
        annotations = value_at(document, ("metadata", "annotations")) or {}
        if Annotation.TOPOLOGY_DRY_RUN in annotations:
            document = previous_defaults(document, (*_TEMPLATE, "spec"))
    return document


def previous_defaults(document: Document, spec: Path) -> Document:
    """Return the document with the defaults that former releases wrote into a KubeadmConfigSpec at
    `spec`, so that a comparison with a stored object finds no change in them.
    """
    changes = _unless_set(document, (*spec, "format"), "cloud-config")
    for item in ("initConfiguration", "joinConfiguration"):
        policy = (*spec, item, "nodeRegistration", "imagePullPolicy")
        changes |= _unless_set(document, policy, "IfNotPresent")
    kubeconfig = (*spec, "joinConfiguration", "discovery", "file", "kubeConfig")
    if value_at(document, (*kubeconfig, "user", "exec")):
        version = (*kubeconfig, "user", "exec", "apiVersion")
        changes |= _unless_set(document, version, "client.authentication.k8s.io/v1")
    return with_values(document, changes)


def _cluster(cluster: Document, _: Document | None) -> Changes:
    topology = value_at(cluster, ("spec", "topology"))
    if not topology or not isinstance(topology, dict):
        return {}
    if not value_at(topology, ("classRef", "name")):
        error = required("spec.topology.classRef.name", "cannot be empty")
        raise CannotDefault(str(error), [error])
    version = topology.get("version") or ""
    if not isinstance(version, str) or version.startswith("v"):
        return {}
    return {("spec", "topology", "version"): f"v{version}"}


def _machine(machine: Document, _: Document | None) -> Changes:
    changes: Changes = {(*_LABELS, Label.CLUSTER_NAME): _cluster_name(machine)}
    changes |= _version(machine, ("spec", "version"))
    timeout = ("spec", "deletion", "nodeDeletionTimeoutSeconds")
    return changes | _unless_set(machine, timeout, NODE_DELETION_TIMEOUT_SECONDS)


def _machine_set(machine_set: Document, old: Document | None) -> Changes:
    changes: Changes = {
        (*_LABELS, Label.CLUSTER_NAME): _cluster_name(machine_set),
        _REPLICAS: _replicas(machine_set, old),
    }
    labels = (*_TEMPLATE, "metadata", "labels")
    if _selects_everything(machine_set):
        changes |= _label_change(Label.SET_NAME, label_value(_name(machine_set)))
    elif not value_at(machine_set, labels):
        # Go creates the map of labels, so an empty object remains, which the schema refuses.
        changes |= _unless_set(machine_set, labels[:-1], {})
    return changes | _version(machine_set, (*_TEMPLATE, "spec", "version"))


def _machine_deployment(deployment: Document, old: Document | None) -> Changes:
    cluster = _cluster_name(deployment)
    changes: Changes = {
        (*_LABELS, Label.CLUSTER_NAME): cluster,
        _REPLICAS: _replicas(deployment, old),
    }
    strategy = value_at(deployment, (*_STRATEGY, "type")) or "RollingUpdate"
    changes[(*_STRATEGY, "type")] = strategy
    if strategy == "RollingUpdate":
        changes |= _unless_set(deployment, (*_STRATEGY, "rollingUpdate", "maxSurge"), 1)
        changes |= _unless_set(deployment, (*_STRATEGY, "rollingUpdate", "maxUnavailable"), 0)
    if _selects_everything(deployment):
        changes |= _label_change(Label.DEPLOYMENT_NAME, _name(deployment))
    changes |= _label_change(Label.CLUSTER_NAME, cluster)
    return changes | _version(deployment, (*_TEMPLATE, "spec", "version"))


def _machine_pool(pool: Document, old: Document | None) -> Changes:
    changes: Changes = {
        (*_LABELS, Label.CLUSTER_NAME): _cluster_name(pool),
        _REPLICAS: _replicas(pool, old),
    }
    timeout = (*_TEMPLATE, "spec", "deletion", "nodeDeletionTimeoutSeconds")
    changes |= _unless_set(pool, timeout, NODE_DELETION_TIMEOUT_SECONDS)
    return changes | _version(pool, (*_TEMPLATE, "spec", "version"))


def _machine_health_check(check: Document, _: Document | None) -> Changes:
    changes: Changes = {(*_LABELS, Label.CLUSTER_NAME): _cluster_name(check)}
    timeout = ("spec", "checks", "nodeStartupTimeoutSeconds")
    return changes | _unless_set(check, timeout, NODE_STARTUP_TIMEOUT_SECONDS)


def _cluster_resource_set(resource_set: Document, _: Document | None) -> Changes:
    strategy = ("spec", "strategy")
    return {} if value_at(resource_set, strategy) else {strategy: "ApplyOnce"}


def _extension_config(config: Document, _: Document | None) -> Changes:
    changes = _unless_set(config, ("spec", "namespaceSelector"), {})
    service = ("spec", "clientConfig", "service")
    if value_at(config, service):
        changes |= _unless_set(config, (*service, "port"), HTTPS_PORT)
    return changes


def _control_plane(kcp: Document, _: Document | None) -> Changes:
    version = value_at(kcp, ("spec", "version")) or ""
    changes = _unless_set(kcp, _REPLICAS, 1)
    if isinstance(version, str) and not version.startswith("v"):
        changes["spec", "version"] = f"v{version}"
    changes[(*_STRATEGY, "type")] = "RollingUpdate"
    return changes | _unless_set(kcp, (*_STRATEGY, "rollingUpdate", "maxSurge"), 1)


def _dev_cluster(cluster: Document, _: Document | None) -> Changes:
    return _dev_cluster_spec(cluster, ("spec",))


def _dev_cluster_template(template: Document, _: Document | None) -> Changes:
    return _dev_cluster_spec(template, (*_TEMPLATE, "spec"))


def _dev_cluster_spec(document: Document, spec: Path) -> Changes:
    changes = _docker_unless_said(document, spec, {"loadBalancer": {}})
    docker = (*spec, "backend", "docker")
    if value_at(document, docker) is None and docker not in changes:
        return changes
    return changes | _docker_cluster_spec(document, spec, docker)


def _docker_cluster(cluster: Document, _: Document | None) -> Changes:
    return _docker_cluster_spec(cluster, ("spec",), ("spec",))


def _docker_cluster_template(template: Document, _: Document | None) -> Changes:
    spec = (*_TEMPLATE, "spec")
    return _docker_cluster_spec(template, spec, spec)


def _docker_cluster_spec(document: Document, spec: Path, docker: Path) -> Changes:
    """Set the defaults of containers. docker: the part that configures them."""
    changes: Changes = {}
    port = (*spec, "controlPlaneEndpoint", "port")
    if not value_at(document, port):
        changes[port] = DOCKER_PORT
    domains = value_at(document, (*docker, "failureDomains"))
    if isinstance(domains, list) and all(isinstance(domain, dict | None) for domain in domains):
        domains_written = [{"controlPlane": False, **(domain or {})} for domain in domains]
        if domains_written != domains:
            changes[(*docker, "failureDomains")] = domains_written
    # Upstream writes the whole object as soon as any part of it changes.
    return changes and changes | _unless_set(document, (*docker, "loadBalancer"), {})


def _dev_machine(machine: Document, _: Document | None) -> Changes:
    return _docker_unless_said(machine, ("spec",), {})


def _dev_machine_template(template: Document, _: Document | None) -> Changes:
    return _docker_unless_said(template, (*_TEMPLATE, "spec"), {})


def _docker_unless_said(document: Document, spec: Path, docker: Document) -> Changes:
    backend = (*spec, "backend")
    result = any(
        value_at(document, (*backend, item)) is not None for item in ("docker", "inMemory")
    )
    return {} if result else {(*backend, "docker"): docker}


def _unless_set(document: Document, path: Path, value: Any) -> Changes:
    return {} if value_at(document, path) is not None else {path: value}


def _version(document: Document, path: Path) -> Changes:
    version = value_at(document, path)
    if not version or not isinstance(version, str) or version.startswith("v"):
        return {}
    return {path: f"v{version}"}


def _name(document: Document) -> str:
    return str(value_at(document, ("metadata", "name")) or "")


def _cluster_name(document: Document) -> str:
    return str(value_at(document, ("spec", "clusterName")) or "")


def _selects_everything(document: Document) -> bool:
    selector = ("spec", "selector")
    return not any(
        value_at(document, (*selector, item)) for item in ("matchLabels", "matchExpressions")
    )


def _label_change(label: str, value: str) -> Changes:
    """Return a label that the selector requires and the template sets."""
    return {
        ("spec", "selector", "matchLabels", label): value,
        (*_TEMPLATE, "metadata", "labels", label): value,
    }


def _replicas(document: Document, old: Document | None) -> Any:
    """Return the number of replicas; with the annotations of the autoscaler, the old number within
    its bounds.
    """
    number = value_at(document, _REPLICAS)
    if number is not None:
        return number
    annotations = value_at(document, ("metadata", "annotations")) or {}
    if not {Annotation.AUTOSCALER_MIN_SIZE, Annotation.AUTOSCALER_MAX_SIZE} <= set(annotations):
        return 1
    kind = document["kind"]
    least = _size_bound(kind, annotations, Annotation.AUTOSCALER_MIN_SIZE)
    most = _size_bound(kind, annotations, Annotation.AUTOSCALER_MAX_SIZE)
    before = value_at(old, _REPLICAS)
    if before is None or before < least:
        return least
    return min(before, most)


def _size_bound(kind: str, annotations: Mapping[str, str], name: str) -> int:
    text = annotations[name]
    problem = "invalid syntax"
    if _INTEGER.fullmatch(text):
        number = parse_integer(text)
        if -(2**31) <= number < 2**31:
            return number
        problem = "value out of range"
    raise CannotDefault(
        f"failed to caculate {kind} replicas value: could not parse the value of the "
        f'"{name}" annotation: strconv.ParseInt: parsing "{text}": {problem}'
    )


_DEFAULTERS: Final[Mapping[tuple[str, str], Defaulter]] = {
    (CLUSTER_GROUP, "Cluster"): _cluster,
    (CLUSTER_GROUP, "Machine"): _machine,
    (CLUSTER_GROUP, "MachineSet"): _machine_set,
    (CLUSTER_GROUP, "MachineDeployment"): _machine_deployment,
    (CLUSTER_GROUP, "MachinePool"): _machine_pool,
    (CLUSTER_GROUP, "MachineHealthCheck"): _machine_health_check,
    (ADDONS_GROUP, "ClusterResourceSet"): _cluster_resource_set,
    (RUNTIME_GROUP, "ExtensionConfig"): _extension_config,
    (CONTROL_PLANE_GROUP, "KubeadmControlPlane"): _control_plane,
    (INFRASTRUCTURE_GROUP, "DevCluster"): _dev_cluster,
    (INFRASTRUCTURE_GROUP, "DevClusterTemplate"): _dev_cluster_template,
    (INFRASTRUCTURE_GROUP, "DevMachine"): _dev_machine,
    (INFRASTRUCTURE_GROUP, "DevMachineTemplate"): _dev_machine_template,
    (INFRASTRUCTURE_GROUP, "DockerCluster"): _docker_cluster,
    (INFRASTRUCTURE_GROUP, "DockerClusterTemplate"): _docker_cluster_template,
}
