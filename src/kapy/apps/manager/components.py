"""The components of kapy's own managers, for `kapy components` and `kapy init`.

Objects have upstream's names, so each can replace the other. Only cert-manager's objects are
missing: managers issue their own certificates, and use cert-manager's if its Secret exists.

The Docker provider's manager Pod can get the container engine of its node. Access to an engine's
socket means root on that machine. The Pod runs as root, because root owns the socket; it has no
capabilities all the same.

Contract: "Components YAML" of the clusterctl provider contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy import __version__
from kapy.api.crds import crds, for_kubernetes
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.apps.components.objects import object_of, of_provider, with_labels
from kapy.apps.components.pods import (
    CONTAINER,
    HEALTH,
    POD,
    SELECTOR_LABELS,
    TOLERATIONS,
    port,
    probes,
)
from kapy.apps.components.programs import (
    HEALTH_PORT,
    METRICS,
    METRICS_PORT,
    cluster_rules,
    disruption_budget,
    leader_election_role,
)
from kapy.apps.components.rules import RBAC, binding, role
from kapy.apps.components.serving import PORT, SERVER, webhook_service
from kapy.apps.manager.configurations import configurations
from kapy.apps.manager.programs import PROGRAMS, Program
from kapy.apps.manager.rights import AGGREGATED, rights_of
from kapy.clusterctl.components.images import MANAGER
from kapy.kube import Document
from kapy.providers.inmemory.sockets import PORTS

MOUNT_PATH: Final = "/var/run/docker.sock"
"""The path of the socket in the Pod."""
_ROOT: Final = {"runAsNonRoot": False, "runAsUser": 0, "runAsGroup": 0}
_PRIVILEGED: Final = {
    f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("audit", "enforce", "warn")
}
"""The Pod Security labels of upstream's Namespace: stricter levels refuse a socket of the node."""
_VOLUME: Final = "engine"


def with_engine(document: Document, socket: str) -> Document:
    """Return the object of the manager's components with the changes for the engine's socket."""
    if document["kind"] == "Namespace":
        return with_labels(document, _PRIVILEGED)
    if document["kind"] != "Deployment":
        return document
    pod = document["spec"]["template"]["spec"]
    source = {"path": socket, "type": "Socket"}
    changed = {
        **pod,
        "containers": [_with_socket_mount(container) for container in pod["containers"]],
        "securityContext": {**pod["securityContext"], **_ROOT},
        "volumes": [*pod["volumes"], {"name": _VOLUME, "hostPath": source}],
    }
    template = {**document["spec"]["template"], "spec": changed}
    return {**document, "spec": {**document["spec"], "template": template}}


def _with_socket_mount(container: Document) -> Document:
    mounts = [*container["volumeMounts"], {"mountPath": MOUNT_PATH, "name": _VOLUME}]
    return {
        **container,
        "env": [*container["env"], {"name": "DOCKER_HOST", "value": f"unix://{MOUNT_PATH}"}],
        "securityContext": {**container["securityContext"], **_ROOT},
        "volumeMounts": mounts,
    }


IMAGE: Final = f"localhost/kapy:{__version__}"
"""The image of all managers, as `Containerfile` makes it on one's own machine."""
_GATES: Final = {
    "MachinePool": "EXP_MACHINE_POOL:=true",
    "ClusterTopology": "CLUSTER_TOPOLOGY:=false",
    "KubeadmBootstrapFormatIgnition": "EXP_KUBEADM_BOOTSTRAP_FORMAT_IGNITION:=false",
    "RuntimeSDK": "EXP_RUNTIME_SDK:=false",
    "MachineSetPreflightChecks": "EXP_MACHINE_SET_PREFLIGHT_CHECKS:=true",
    "MachineWaitForVolumeDetachConsiderVolumeAttachments": (
        "EXP_MACHINE_WAITFORVOLUMEDETACH_CONSIDER_VOLUMEATTACHMENTS:=true"
    ),
    "PriorityQueue": "EXP_PRIORITY_QUEUE:=true",
    "ReconcilerRateLimiting": "EXP_RECONCILER_RATE_LIMITING:=true",
    "InPlaceUpdates": "EXP_IN_PLACE_UPDATES:=false",
    "MachineTaintPropagation": "EXP_MACHINE_TAINT_PROPAGATION:=false",
}
"""Feature gates, and the variables of clusterctl that open and close them."""
_COMMON_GATES: Final = ("MachinePool", "PriorityQueue", "ReconcilerRateLimiting")
_TOPOLOGY_GATES: Final = (*_COMMON_GATES, "ClusterTopology")
_GATES_BY_MANAGER: Final = {
    "core": frozenset(_GATES) - {"KubeadmBootstrapFormatIgnition"},
    "bootstrap-kubeadm": frozenset((*_COMMON_GATES, "KubeadmBootstrapFormatIgnition")),
    "control-plane-kubeadm": frozenset(
        (
            *_TOPOLOGY_GATES,
            "KubeadmBootstrapFormatIgnition",
            "RuntimeSDK",
            "InPlaceUpdates",
            "MachineTaintPropagation",
        )
    ),
    "infrastructure-dev": frozenset(_TOPOLOGY_GATES),
}
"""The gates that managers are told of. Upstream's control plane manager is not told of RuntimeSDK;
ours calls extensions of updates in place itself, and has to be."""
_EXTRA_ARGUMENTS: Final = {
    "bootstrap-kubeadm": ["--bootstrap-token-ttl=${KUBEADM_BOOTSTRAP_TOKEN_TTL:=15m}"],
}
_FIELDS: Final = {
    "POD_NAMESPACE": "metadata.namespace",
    "POD_NAME": "metadata.name",
    "POD_UID": "metadata.uid",
    "POD_IP": "status.podIP",
}


def components_of(name: str, image: str = IMAGE, engine_socket: str = "") -> list[Document]:
    """Return the objects of a manager (a name of `PROGRAMS`), in the order in which they are
    applied.

    engine_socket: the socket of the container engine on the Pod's node, "" for none.
    """
    program = PROGRAMS[name]
    definitions = [_installed_crd(crd) for crd in crds() if _is_of(crd, program)]
    groups = frozenset(definition["spec"]["group"] for definition in definitions)
    request = configurations(program.prefix, program.namespace, groups)
    objects = [
        with_labels(object_of("v1", "Namespace", program.namespace), SELECTOR_LABELS),
        *definitions,
        object_of("v1", "ServiceAccount", program.account, program.namespace),
        *_roles(name, [*definitions, *request]),
        webhook_service(program.prefix, program.namespace, _selector(program)),
        _metrics_service(program),
        _deployment(name, image),
        disruption_budget(program.prefix, program.namespace, _selector(program)),
        _network_policy(program),
        *request,
    ]
    if engine_socket:
        objects = [with_engine(obj, engine_socket) for obj in objects]
    return [of_provider(obj, program.provider) for obj in objects]


def _is_of(crd: Document, program: Program) -> bool:
    return bool(crd["metadata"]["labels"][Label.PROVIDER] == program.provider)


def _installed_crd(crd: Document) -> Document:
    """Return the CRD with contract labels for the versions that exist; those of a released CRD list
    more.
    """
    result, metadata = for_kubernetes(crd), crd["metadata"]
    served = {f"{CLUSTER_GROUP}/{version['name']}" for version in crd["spec"]["versions"]}
    labels = {
        key: value
        for key, value in metadata["labels"].items()
        if key == Label.PROVIDER or key in served
    }
    return {**result, "metadata": {**metadata, "labels": labels}}


def _selector(program: Program) -> dict[str, str]:
    return {Label.PROVIDER: program.provider, **SELECTOR_LABELS}


def _roles(name: str, trusting: Sequence[Document]) -> list[Document]:
    """Return the roles with upstream's names: the role of the Lease covers the whole manager's
    namespace.
    """
    program = PROGRAMS[name]
    prefix, namespace, account = program.prefix, program.namespace, program.account
    value = role(f"{prefix}-manager-role", cluster_rules(rights_of(name), trusting))
    granted, aggregated = value, list[Document]()
    if label := AGGREGATED.get(name):
        value = with_labels(value, {label: "true"})
        selectors = [{"matchLabels": {label: "true"}}]
        granted = object_of(
            f"{RBAC}/v1",
            "ClusterRole",
            f"{prefix}-aggregated-manager-role",
            aggregationRule={"clusterRoleSelectors": selectors},
            rules=[],
        )
        aggregated = [granted]
    return [
        *leader_election_role(prefix, namespace, account, program.secret),
        *aggregated,
        value,
        binding(granted, f"{prefix}-manager-rolebinding", account, namespace),
    ]


def _metrics_service(program: Program) -> Document:
    spec = {
        "ports": [{"name": METRICS, "port": METRICS_PORT, "targetPort": METRICS}],
        "selector": _selector(program),
    }
    return object_of("v1", "Service", f"{program.prefix}-metrics", program.namespace, spec=spec)


def _network_policy(program: Program) -> Document:
    """Return a NetworkPolicy that admits traffic to the served ports only. Egress is unrestricted,
    because workload clusters can be anywhere; in-memory clusters are at ports of this Pod.
    """
    ports: list[Document] = [
        {"port": item, "protocol": "TCP"} for item in (SERVER, HEALTH, METRICS)
    ]
    if program.manager == "docker":
        ports.append({"port": PORTS.start, "endPort": PORTS.stop - 1, "protocol": "TCP"})
    spec: Document = {
        "podSelector": {"matchLabels": _selector(program)},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": ports}],
    }
    return object_of(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        f"{program.prefix}-controller-manager",
        program.namespace,
        spec=spec,
    )


def _deployment(name: str, image: str) -> Document:
    program = PROGRAMS[name]
    labels = _selector(program)
    pod = {
        "containers": [_container(name, image)],
        "securityContext": POD,
        "serviceAccountName": program.account,
        "terminationGracePeriodSeconds": 10,
        "tolerations": TOLERATIONS,
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    deployment = object_of(
        "apps/v1",
        "Deployment",
        f"{program.prefix}-controller-manager",
        program.namespace,
        spec=spec,
    )
    return with_labels(deployment, labels)


def _container(name: str, image: str) -> Document:
    fields = {key: {"fieldRef": {"fieldPath": path}} for key, path in _FIELDS.items()}
    return {
        "name": MANAGER,
        "image": image,
        "command": ["kapy", "manager", name],
        "args": arguments(name),
        "env": [{"name": key, "valueFrom": value} for key, value in fields.items()],
        "ports": [port(SERVER, PORT), port(HEALTH, HEALTH_PORT), port(METRICS, METRICS_PORT)],
        **probes(),
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
        "securityContext": CONTAINER,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"mountPath": "/tmp", "name": "tmp"}],
    }


def arguments(name: str) -> list[str]:
    """Return the arguments of a manager, with clusterctl variables."""
    gates = [
        f"{gate}=${{{result}}}"
        for gate, result in _GATES.items()
        if gate in _GATES_BY_MANAGER[name]
    ]
    return [
        "--leader-elect",
        "--diagnostics-address=${CAPI_DIAGNOSTICS_ADDRESS:=:8443}",
        "--insecure-diagnostics=${CAPI_INSECURE_DIAGNOSTICS:=false}",
        f"--feature-gates={','.join(gates)}",
        *_EXTRA_ARGUMENTS.get(name, ()),
    ]
