"""The fields of a Pod that an agent supports. It refuses any other field by its name.

Fields that mean nothing on a single Node (where to schedule, which Pods to prefer) are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kapy.kube import Document

_POD: Final = frozenset((
    "containers", "initContainers", "volumes", "restartPolicy", "terminationGracePeriodSeconds",
    "serviceAccountName", "serviceAccount", "automountServiceAccountToken", "nodeName",
    "securityContext", "imagePullSecrets", "hostNetwork", "hostPID", "hostAliases",
    # These concern scheduling or DNS, and are ignored:
    "affinity", "dnsPolicy", "enableServiceLinks", "hostname", "nodeSelector", "os",
    "preemptionPolicy", "priority", "priorityClassName", "schedulerName", "subdomain",
    "tolerations", "topologySpreadConstraints",
))  # fmt: skip
_CONTAINER: Final = frozenset((
    "name", "image", "imagePullPolicy", "command", "args", "workingDir", "env", "envFrom", "ports",
    "volumeMounts", "resources", "securityContext", "livenessProbe", "readinessProbe",
    "startupProbe", "terminationMessagePath", "terminationMessagePolicy", "lifecycle",
    "stdin", "stdinOnce", "tty",
))  # fmt: skip
_MOUNT: Final = frozenset(("name", "mountPath", "readOnly", "subPath"))
_PROBE: Final = frozenset((
    "httpGet", "tcpSocket", "exec", "grpc", "initialDelaySeconds", "periodSeconds",
    "timeoutSeconds", "successThreshold", "failureThreshold",
))  # fmt: skip
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = frozenset(("postStart", "preStop"))
_HANDLERS: Final = frozenset(("exec", "httpGet", "sleep"))
VOLUMES: Final = frozenset(
    ("secret", "configMap", "projected", "emptyDir", "downwardAPI", "hostPath")
)
_PROJECTED: Final = frozenset(("secret", "configMap", "downwardAPI", "serviceAccountToken"))


def unsupported_fields(pod: Document) -> list[str]:
    """Return the paths of the fields of a Pod that the agent does not support."""
    return list(_unsupported_paths(pod["spec"]))


def _unsupported_paths(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from _others("spec", spec, _POD)
    for field in ("initContainers", "containers"):
        for item in spec.get(field) or ():
            yield from _of_container(f"spec.{field}[{item.get('name')}]", item)
    for item in spec.get("volumes") or ():
        yield from _of_volume(f"spec.volumes[{item.get('name')}]", item)


def _of_container(path: str, container: Mapping[str, Any]) -> Iterator[str]:
    yield from _others(path, container, _CONTAINER)
    for mount in container.get("volumeMounts") or ():
        yield from _others(f"{path}.volumeMounts[{mount.get('mountPath')}]", mount, _MOUNT)
    hooks = container.get("lifecycle") or {}
    yield from _others(f"{path}.lifecycle", hooks, _HOOKS)
    for name in sorted(_HOOKS & hooks.keys()):
        yield from _others(f"{path}.lifecycle.{name}", hooks[name] or {}, _HANDLERS)
    for name in _PROBES:
        if container.get(name):
            yield from _others(f"{path}.{name}", container[name], _PROBE)


def _of_volume(path: str, volume: Mapping[str, Any]) -> Iterator[str]:
    yield from _others(path, volume, VOLUMES | {"name"})
    for item in (volume.get("projected") or {}).get("sources") or ():
        yield from _others(f"{path}.projected.sources", item, _PROJECTED)


def _others(path: str, fields: Mapping[str, Any], supported: frozenset[str]) -> Iterator[str]:
    yield from (f"{path}.{key}" for key, value in fields.items() if value and key not in supported)
