"""Warnings about valid but problematic fields of pods, Services and Nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.kube import Document, quantity
from kapy.kube.go_literals import go_quoted
from kapy.kube.qualified_names import label_value_errors

_OLD_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_POD: Final = "a null labelSelector results in matching no pod"

_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_IGNORED: Final = {
    "loadBalancerIP": "spec.loadBalancerIP",
    "externalIPs": "spec.externalIPs",
    "sessionAffinity": "spec.SessionAffinity",
}


def pod_warnings(spec: Document, path: str) -> Iterator[str]:
    """Yield the warnings about a pod spec."""
    yield from _node_term_warnings(spec, path)
    yield from _duplicates(spec, path, "hostAliases", "ip")
    yield from _duplicates(spec, path, "imagePullSecrets", "name")
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'
    containers = list(_containers(spec, path))
    for container, where in containers:
        yield from _fractions(container, where)
        yield from _variables(container, where)
    yield from _ports(containers)
    yield from _port_names(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        yield (
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and "
            "will be treated as 1"
        )
    yield from _neighbour_warnings(spec, path)


def _node_term_warnings(spec: Document, path: str) -> Iterator[str]:
    """Yield the warnings about the node selector, the node affinity and the topology of a pod's
    spec.
    """
    for key in spec.get("nodeSelector") or ():
        if key in _OLD_LABELS:
            yield f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        where = f"{path}.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms[{index}]"
        yield from _term(term, where, values=False)
    for index, item in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.affinity.nodeAffinity.{_PREFERRED}[{index}].preference"
        yield from _term(item.get("preference") or {}, where, values=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = (
            f"{path}.topologySpreadConstraints[{index}]",
            constraint.get("topologyKey") or "",
        )
        if key in _OLD_LABELS:
            yield f"{where}.topologyKey: {key} is {_OLD_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_POD}"


def _term(term: Document, path: str, *, values: bool) -> Iterator[str]:
    """Yield the warnings of one term. values: also check the values, as for preferences."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        where, key = f"{path}.matchExpressions[{index}]", expression.get("key") or ""
        if key in _OLD_LABELS:
            yield f"{where}.key: {key} is {_OLD_LABELS[key]}"
        for place, value in enumerate((expression.get("values") or ()) if values else ()):
            for error in label_value_errors(value):
                yield f"{where}.values[{place}]: {value} is invalid, {error}"


def _neighbour_warnings(spec: Document, path: str) -> Iterator[str]:
    """Yield the warnings about the affinity of a pod's spec to other pods."""
    for field in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(field) or {}
        where = f"{path}.affinity.{field}"
        for index, term in enumerate(affinity.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{where}.{_REQUIRED}[{index}].labelSelector: {_NO_POD}"
        for index, item in enumerate(affinity.get(_PREFERRED) or ()):
            if (item.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{where}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_POD}"


def _duplicates(spec: Document, path: str, field: str, key: str) -> Iterator[str]:
    """Yield the warnings about items of a list that have the same key."""
    values: set[str] = set()
    for index, item in enumerate(spec.get(field) or ()):
        value = item.get(key) or ""
        if value in values:
            yield f"{path}.{field}[{index}].{key}: duplicate {key} {go_quoted(value)}"
        values.add(value)


def _containers(spec: Document, path: str) -> Iterator[tuple[Document, str]]:
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{index}]"


def _fractions(container: Document, path: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for name in ("memory", "ephemeral-storage"):
        for field in ("limits", "requests"):
            amount = (resources.get(field) or {}).get(name)
            if amount is not None and (value := quantity.parse(amount)) != int(value):
                yield (
                    f"{path}.resources.{field}[{name}]: fractional byte value "
                    f"{go_quoted(amount)} is invalid, must be an integer"
                )


def _variables(container: Document, path: str) -> Iterator[str]:
    names: set[str] = set()
    for index, item in enumerate(container.get("env") or ()):
        name, value = item.get("name") or "", item.get("value") or ""
        again = f"$({name})"
        if name in names and (
            item.get("valueFrom") is not None or value == again or again not in value
        ):
            yield (
                f"{path}.env[{index}]: hides previous definition of {go_quoted(name)}, "
                "which may be dropped when using apply"
            )
        names.add(name)


def _ports(containers: list[tuple[Document, str]]) -> Iterator[str]:
    port_places: dict[tuple[int, str], list[tuple[str, str, int]]] = {}
    for container, path in containers:
        for index, port in enumerate(container.get("ports") or ()):
            where = f"{path}.ports[{index}]"
            address, host = port.get("hostIP") or "", port.get("hostPort") or 0
            key = port.get("containerPort") or 0, port.get("protocol") or ""
            for other, other_address, other_host in port_places.get(key, ()):
                how = _conflict((address, host), (other_address, other_host))
                if how:
                    yield f"{where}: {how} port definition with {other}"
            port_places.setdefault(key, []).append((where, address, host))


def _conflict(entry: tuple[str, int], other: tuple[str, int]) -> str:
    """Return how two ports with the same number conflict, "" if they do not."""
    if entry == other:
        return "duplicate"
    if not entry[1] or not other[1]:
        return "overlapping"
    return "dangerously ambiguous" if entry[1] == other[1] and not (entry[0] and other[0]) else ""


def _port_names(containers: list[tuple[Document, str]]) -> Iterator[str]:
    places: dict[str, str] = {}
    for container, path in containers:
        if (
            path.rpartition(".")[2].startswith("init")
            and container.get("restartPolicy") != "Always"
        ):
            continue
        for index, port in enumerate(container.get("ports") or ()):
            name, where = port.get("name") or "", f"{path}.ports[{index}]"
            if name and name in places:
                yield (
                    f"{where}: duplicate port name {go_quoted(name)} with {places[name]}, services "
                    f"and probes that select ports by name will use {places[name]}"
                )
            elif name:
                places[name] = where


def service_warnings(service: Document) -> Iterator[str]:
    """Yield the warnings about a Service."""
    spec = service.get("spec") or {}
    headless = spec.get("clusterIP") == "None" and spec.get("type") == "ClusterIP"
    named = spec.get("type") == "ExternalName"
    if _HINTS in (service["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    if headless:
        for field, result in _IGNORED.items():
            if (spec.get(field) or "None") != "None":
                yield f"{result} is ignored for headless services"
    if spec.get("externalIPs"):
        if not headless and not named:
            yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
        elif named:
            yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("externalName") and not named:
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def node_warnings(node: Document) -> Iterator[str]:
    """Yield the warnings about a Node."""
    if (node.get("spec") or {}).get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
