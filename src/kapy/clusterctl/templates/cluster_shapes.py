"""The types of the fields of a Cluster's specification, to detect mistakes in templates.

The Structs of `kapy.api` define the same types, but importing them takes longer than a whole
`generate` command; a test compares both.

    name      a string              name[…]   a list of what stands there
    name#     a number              name{…}   a map of the fields that stand there
    name?     a boolean             name{*…}  a map of any names to what stands there

Fields that are not listed may have any type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from kapy.kube import Document

SPECIFICATIONS: Final = {
    "v1beta1": """\
{paused? clusterNetwork{apiServerPort# services{cidrBlocks[]} pods{cidrBlocks[]} serviceDomain}
controlPlaneEndpoint{host port#} controlPlaneRef{kind namespace name uid apiVersion
resourceVersion fieldPath} infrastructureRef{kind namespace name uid apiVersion resourceVersion
fieldPath} topology{class classNamespace version rolloutAfter controlPlane{metadata{labels{*}
annotations{*}} replicas# rollout{after} machineHealthCheck{unhealthyConditions[{type status
timeout}] unhealthyMachineConditions[{type status timeout}] unhealthyRange nodeStartupTimeout
remediationTemplate{kind namespace name uid apiVersion resourceVersion fieldPath} enable?}
nodeDrainTimeout nodeVolumeDetachTimeout nodeDeletionTimeout taints[{key value effect
propagation}] readinessGates[{conditionType polarity}] variables{overrides[{name
definitionFrom}]}} workers{machineDeployments[{metadata{labels{*} annotations{*}} class name
failureDomain replicas# machineHealthCheck{unhealthyConditions[{type status timeout}]
unhealthyMachineConditions[{type status timeout}] unhealthyRange nodeStartupTimeout
remediationTemplate{kind namespace name uid apiVersion resourceVersion fieldPath} enable?}
nodeDrainTimeout nodeVolumeDetachTimeout nodeDeletionTimeout taints[{key value effect
propagation}] minReadySeconds# readinessGates[{conditionType polarity}] rollout{after}
strategy{type rollingUpdate{deletePolicy} remediation{}} variables{overrides[{name
definitionFrom}]}}] machinePools[{metadata{labels{*} annotations{*}} class name failureDomains[]
nodeDrainTimeout nodeVolumeDetachTimeout nodeDeletionTimeout taints[{key value effect
propagation}] minReadySeconds# replicas# variables{overrides[{name definitionFrom}]}}]}
variables[{name definitionFrom}]} availabilityGates[{conditionType polarity}]}
""",
    "v1beta2": """\
{paused? clusterNetwork{apiServerPort# services{cidrBlocks[]} pods{cidrBlocks[]} serviceDomain}
controlPlaneEndpoint{host port#} controlPlaneRef{kind name apiGroup} infrastructureRef{kind name
apiGroup} topology{classRef{name namespace} version controlPlane{metadata{labels{*}
annotations{*}} replicas# rollout{after} healthCheck{enabled? checks{nodeStartupTimeoutSeconds#
unhealthyNodeConditions[{type status timeoutSeconds#}] unhealthyMachineConditions[{type status
timeoutSeconds#}]} remediation{triggerIf{unhealthyInRange} templateRef{kind name apiVersion}}}
deletion{nodeDrainTimeoutSeconds# nodeVolumeDetachTimeoutSeconds# nodeDeletionTimeoutSeconds#}
taints[{key value effect propagation}] readinessGates[{conditionType polarity}]
variables{overrides[{name}]}} workers{machineDeployments[{metadata{labels{*} annotations{*}}
class name failureDomain replicas# healthCheck{enabled? checks{nodeStartupTimeoutSeconds#
unhealthyNodeConditions[{type status timeoutSeconds#}] unhealthyMachineConditions[{type status
timeoutSeconds#}]} remediation{triggerIf{unhealthyInRange} templateRef{kind name apiVersion}}}
deletion{order nodeDrainTimeoutSeconds# nodeVolumeDetachTimeoutSeconds#
nodeDeletionTimeoutSeconds#} taints[{key value effect propagation}] minReadySeconds#
readinessGates[{conditionType polarity}] rollout{after strategy{type rollingUpdate{}}}
variables{overrides[{name}]}}] machinePools[{metadata{labels{*} annotations{*}} class name
failureDomains[] deletion{nodeDrainTimeoutSeconds# nodeVolumeDetachTimeoutSeconds#
nodeDeletionTimeoutSeconds#} taints[{key value effect propagation}] minReadySeconds# replicas#
variables{overrides[{name}]}}]} variables[{name}]} availabilityGates[{conditionType polarity}]}
""",
}
"""The shape of the specification by API version."""

_METADATA: Final = "{name namespace labels{*} annotations{*}}"
_TOKEN: Final = re.compile(r"[\w*]+|[][{}#?]")
_Shape: TypeAlias = Any
"""`str`, `int`, `bool`; a list of one shape; a dict of shapes."""
_NAMES: Final = {
    str: "a string",
    int: "a number",
    bool: "a boolean",
    list: "a list",
    dict: "a map",
}


def shape_errors(cluster: Document, version: str) -> Iterator[str]:
    """The fields of a Cluster of an API version that have a wrong type."""
    shapes = {"metadata": _METADATA, "spec": SPECIFICATIONS[version]}
    for name, text in shapes.items():
        yield from _shape_errors(cluster.get(name), shape_of(text), name)


def shape_of(text: str) -> _Shape:
    """Parse the text of a shape."""
    return _read(iter([*_TOKEN.findall(text), ""]))[0]


def _read(tokens: Iterator[str]) -> tuple[_Shape, str]:
    """Return a shape, and the next token after it."""
    token = next(tokens)
    if token == "[":
        inner, _ = _read(tokens)
        return [inner], next(tokens)
    if token == "{":
        fields: dict[str, _Shape] = {}
        name = next(tokens)
        while name != "}":
            fields[name], name = _read(tokens)
        return fields, next(tokens)
    if token in _SIMPLE:
        return _SIMPLE[token], next(tokens)
    return str, token


_SIMPLE: Final = {"#": int, "?": bool}


def _shape_errors(value: Any, shape: _Shape, path: str) -> Iterator[str]:
    kind = shape if isinstance(shape, type) else type(shape)
    if value is None:
        return
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        yield f"{path} must be {_NAMES[kind]}, and is {_NAMES.get(type(value), value)}"
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _shape_errors(item, shape[0], f"{path}[{place}]")
    elif isinstance(value, dict):
        for name, element in value.items():
            inner = shape.get(name, shape.get("*"))
            if inner is not None:
                yield from _shape_errors(element, inner, f"{path}.{name}")
