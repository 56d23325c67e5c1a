"""The fields that Pods of released providers have: of 60 component files of clusterctl's list."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kapy.kube import Document
from kapy.node_agent.containers.configuration import unsupported_security
from kapy.node_agent.supported import unsupported_fields

_PROBE: Final = {
    "httpGet": {"path": "/healthz", "port": "healthz", "scheme": "HTTPS"},
    "initialDelaySeconds": 10,
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 3,
    "successThreshold": 1,
}
_FIELD: Final = {"fieldRef": {"fieldPath": "metadata.uid"}}
_SECRET: Final = {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}
CONTAINER: Final[dict[str, Any]] = {
    "name": "manager",
    "image": "registry.example/manager:v1",
    "imagePullPolicy": "IfNotPresent",
    "command": ["/manager"],
    "args": ["--leader-elect"],
    "env": [
        {"name": "A", "value": "a"},
        {"name": "B", "valueFrom": _FIELD},
        {"name": "C", "valueFrom": _SECRET},
    ],
    "envFrom": [{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}],
    "ports": [{"name": "healthz", "containerPort": 9440, "protocol": "TCP"}],
    "livenessProbe": _PROBE,
    "readinessProbe": _PROBE,
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "10m"}},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
        "privileged": True,
        "readOnlyRootFilesystem": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "runAsNonRoot": True,
    },
    "terminationMessagePolicy": "FallbackToLogsOnError",
    "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}],
}
_TOKEN: Final = {"audience": "sts.example", "expirationSeconds": 3600, "path": "token"}
SPEC: Final[dict[str, Any]] = {
    "containers": [CONTAINER],
    "initContainers": [{"name": "before", "image": "registry.example/manager:v1"}],
    "hostNetwork": True,
    "imagePullSecrets": [{"name": "s"}],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "tolerations": [{"key": "k", "effect": "NoSchedule"}],
    "securityContext": {
        "fsGroup": 1000,
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "serviceAccountName": "manager",
    "terminationGracePeriodSeconds": 10,
    "volumes": [
        {"name": "a", "configMap": {"name": "c"}},
        {"name": "b", "emptyDir": {"sizeLimit": "500Mi"}},
        {"name": "c", "hostPath": {"path": "/var/run/docker.sock", "type": "Socket"}},
        {
            "name": "d",
            "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": _TOKEN}]},
        },
        {
            "name": "e",
            "secret": {
                "defaultMode": 420,
                "items": [{"key": "tls.crt", "path": "cert"}],
                "optional": True,
                "secretName": "s",
            },
        },
    ],
}


def _pod(**more: Any) -> Document:
    return {"metadata": {"name": "p"}, "spec": {**SPEC, **more}}


def test_each_field_of_a_released_pod_is_supported() -> None:
    assert unsupported_fields(_pod()) == []
    assert unsupported_security(_pod()) == []


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"runtimeClassName": "kata"}, "spec.runtimeClassName"),
        (
            {
                "containers": [
                    CONTAINER | {"volumeDevices": [{"name": "d", "devicePath": "/dev/d"}]}
                ]
            },
            "spec.containers[manager].volumeDevices",
        ),
        ({"volumes": [{"name": "n", "nfs": {"server": "s"}}]}, "spec.volumes[n].nfs"),
    ],
)
def test_other_fields_are_refused_by_name(more: dict[str, Any], named: str) -> None:
    assert unsupported_fields(_pod(**more)) == [named]
