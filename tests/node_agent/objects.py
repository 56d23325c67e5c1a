"""A small example of the objects in a provider's release."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime

from kapy.kube import Document, pki

SPACE = "foo-system"
SERVICE = "foo-webhook"


def _object(api_version: str, kind: str, name: str, **more: object) -> Document:
    metadata: Document = {"name": name, "namespace": SPACE}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def release(*, broken: bool = False) -> Iterator[tuple[str, Document]]:
    """Objects, each with the path of its collection."""
    now = datetime.now(UTC)  # noqa: TID251  # a certificate that programs check by the real clock
    authority = pki.new_ca("foo", now=now, algorithm="ECDSA-P256")
    key = pki.new_key("ECDSA-P256")
    own = pki.issue(
        authority, SERVICE, now=now, names=[f"{SERVICE}.{SPACE}.svc"], usages=("server",), key=key
    )
    core, rbac = f"/api/v1/namespaces/{SPACE}", "/apis/rbac.authorization.k8s.io/v1"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    yield "/api/v1/namespaces", space
    yield f"{core}/serviceaccounts", _object("v1", "ServiceAccount", "manager")
    pair = {"tls.crt": own.certificate, "tls.key": own.key}
    data = {name: base64.b64encode(content).decode() for name, content in pair.items()}
    yield f"{core}/secrets", _object("v1", "Secret", "cert", data=data)
    yield f"{core}/configmaps", _object("v1", "ConfigMap", "settings", data={"setting": "first"})
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    group = "rbac.authorization.k8s.io"
    role = _object(f"{group}/v1", "Role", "manager", rules=[rule])
    yield f"{rbac}/namespaces/{SPACE}/roles", role
    subject = {"kind": "ServiceAccount", "name": "manager", "namespace": SPACE}
    reference = {"apiGroup": group, "kind": "Role", "name": "manager"}
    binding = _object(
        f"{group}/v1", "RoleBinding", "manager", roleRef=reference, subjects=[subject]
    )
    yield f"{rbac}/namespaces/{SPACE}/rolebindings", binding
    ports = [{"port": 443, "targetPort": "webhook"}]
    service = {"selector": {"app": "foo"}, "ports": ports}
    yield f"{core}/services", _object("v1", "Service", SERVICE, spec=service)
    yield f"/apis/apps/v1/namespaces/{SPACE}/deployments", deployment(broken=broken)
    yield (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        _webhook(authority.certificate),
    )


def deployment(*, broken: bool = False) -> Document:
    """The Deployment of the manager."""
    env = [{"name": "SETTINGS", "value": "/etc/settings"}]
    env += [{"name": "BROKEN", "value": "yes"}] if broken else []
    labels = {"app": "foo"}
    probe = {"path": "/readyz", "port": 9440}
    container = {
        "name": "manager",
        "image": "registry.example/foo:v1",
        "command": ["/manager"],
        "args": ["--leader-elect", "--health-addr=:9440"],
        "env": env,
        "ports": [{"name": "webhook", "containerPort": 9443}],
        "volumeMounts": [
            {"name": "cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs"},
            {"name": "settings", "mountPath": "/etc/settings"},
        ],
        "readinessProbe": {"httpGet": probe, "periodSeconds": 1},
    }
    spec = {
        "serviceAccountName": "manager",
        "terminationGracePeriodSeconds": 10,
        "volumes": [
            {"name": "cert", "secret": {"secretName": "cert"}},
            {"name": "settings", "configMap": {"name": "settings"}},
        ],
        "containers": [container],
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    selector = {"matchLabels": labels}
    document = _object(
        "apps/v1", "Deployment", "foo", spec={"selector": selector, "template": template}
    )
    document["metadata"]["labels"] = {"cluster.x-k8s.io/provider": "infrastructure-foo"}
    return document


def _webhook(authority: bytes) -> Document:
    client = {
        "service": {"namespace": SPACE, "name": SERVICE, "path": "/validate"},
        "caBundle": base64.b64encode(authority).decode(),
    }
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    webhook = {
        "name": "guard.example.dev",
        "clientConfig": client,
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    document = _object(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "guard",
        webhooks=[webhook],
    )  # fmt: skip
    del document["metadata"]["namespace"]
    return document
