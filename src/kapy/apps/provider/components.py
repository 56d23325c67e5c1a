"""Everything that installing a provider means: the objects of its components file.

Contract: "Components YAML" of the clusterctl provider contract.
"""

from __future__ import annotations

from typing import Final

from kapy.api.names import Label
from kapy.apps.provider.definitions import crds_of
from kapy.apps.provider.objects import object_of
from kapy.apps.provider.rights import core_rules, manager_rules
from kapy.apps.provider.webhooks import (
    CERTIFICATES,
    PORT,
    SERVER,
    SERVING,
    client_of,
    secret_of,
    trusting,
    webhooks_of,
)
from kapy.clusterctl.components.checks import AGGREGATED
from kapy.clusterctl.components.images import MANAGER
from kapy.kube import Document
from kapy.sdk.provider import Provider, Setting

HEALTH_PORT: Final = 9440
_RBAC: Final = "rbac.authorization.k8s.io"
_NOBODY: Final = 65532
_CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
_USER: Final = {"runAsNonRoot": True, "runAsUser": _NOBODY, "runAsGroup": _NOBODY}
_POD: Final[Document] = {**_USER, "seccompProfile": {"type": "RuntimeDefault"}}
_CONTAINER: Final[Document] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "privileged": False,
    "readOnlyRootFilesystem": True,
    **_USER,
}


def components_of(provider: Provider, version: str, image: str = "") -> list[Document]:
    """The objects, in the order in which they are applied. image: where it is not the
    provider's own, with its version as the tag. Raises BadProvider."""
    prefix = prefix_of(provider)
    namespace, account = namespace_of(provider), f"{prefix}-manager"
    objects = [
        object_of("v1", "Namespace", namespace),
        *_crds(provider, prefix, namespace),
        object_of("v1", "ServiceAccount", account, namespace),
        *_roles(provider, account, namespace),
        _deployment(provider, image or f"{provider.image}:{version}", account, namespace),
    ]
    if provider.admission.kinds:
        objects += webhooks_of(provider.admission, prefix, namespace, _selector(provider))
    return [_labelled(one, provider.label) for one in objects]


def _crds(provider: Provider, prefix: str, namespace: str) -> list[Document]:
    found = crds_of(provider, client_of(prefix, namespace))
    return [
        trusting(one, prefix, namespace) if "conversion" in one["spec"] else one for one in found
    ]


def prefix_of(provider: Provider) -> str:
    """How the names of its objects begin; infrastructure goes without its type."""
    name, of_type = provider.name, provider.type
    return name if of_type == "infrastructure" else f"{name}-{of_type}"


def namespace_of(provider: Provider) -> str:
    """Where it is installed unless somebody wants it elsewhere."""
    return f"{prefix_of(provider)}-system"


def _roles(provider: Provider, account: str, namespace: str) -> list[Document]:
    role = f"{account}-role"
    bound = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    objects = [
        object_of(f"{_RBAC}/v1", "ClusterRole", role, rules=manager_rules(provider)),
        object_of(
            f"{_RBAC}/v1",
            "ClusterRoleBinding",
            f"{account}-rolebinding",
            roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
            subjects=[bound],
        ),
    ]
    if rules := core_rules(provider):
        name = f"{prefix_of(provider)}-for-core"
        granted = object_of(f"{_RBAC}/v1", "ClusterRole", name, rules=rules)
        granted["metadata"]["labels"] = {AGGREGATED: "true"}
        objects.append(granted)
    return objects


def _selector(provider: Provider) -> dict[str, str]:
    return {Label.PROVIDER: provider.label, "control-plane": "controller-manager"}


def _deployment(provider: Provider, image: str, account: str, namespace: str) -> Document:
    labels = _selector(provider)
    pod: Document = {
        "containers": [_container(provider, image)],
        "securityContext": _POD,
        "serviceAccountName": account,
        "terminationGracePeriodSeconds": 10,
        "tolerations": [{"effect": "NoSchedule", "key": _CONTROL_PLANE}],
    }
    if provider.admission.kinds:
        secret = {"secretName": secret_of(prefix_of(provider))}
        pod["volumes"] = [{"name": CERTIFICATES, "secret": secret}]
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "strategy": {"type": "Recreate"},  # never two at work at the same time
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    name = f"{prefix_of(provider)}-controller-manager"
    deployment = object_of("apps/v1", "Deployment", name, namespace, spec=spec)
    deployment["metadata"]["labels"] = labels
    return deployment


def _container(provider: Provider, image: str) -> Document:
    container: Document = {
        "name": MANAGER,
        "image": image,
        "args": [f"--health-addr=:{HEALTH_PORT}"],
        "ports": [_port("healthz", HEALTH_PORT)],
        "livenessProbe": _probe("/healthz"),
        "readinessProbe": _probe("/readyz"),
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        "securityContext": _CONTAINER,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    if provider.settings:
        container["env"] = [{"name": one.name, "value": _value(one)} for one in provider.settings]
    if provider.admission.kinds:
        container["args"].append(f"--webhook-port={PORT}")
        container["ports"].append(_port(SERVER, PORT))
        mount = {"mountPath": SERVING, "name": CERTIFICATES, "readOnly": True}
        container["volumeMounts"] = [mount]
    return container


def _value(one: Setting) -> str:
    """A variable that whoever installs the provider sets."""
    return f"${{{one.name}}}" if one.default is None else f"${{{one.name}:={one.default}}}"


def _port(name: str, number: int) -> Document:
    return {"containerPort": number, "name": name, "protocol": "TCP"}


def _probe(path: str) -> Document:
    return {"httpGet": {"path": path, "port": "healthz"}}


def _labelled(one: Document, label: str) -> Document:
    metadata = one["metadata"]
    labels = {**metadata.get("labels", {}), Label.PROVIDER: label}
    return {**one, "metadata": {**metadata, "labels": labels}}
