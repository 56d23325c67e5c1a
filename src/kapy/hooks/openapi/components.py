"""Names of components: as Go names the types, so that generated clients keep their names.

A Struct of kapy may stand for several equal types of Go; there the component's name depends on the
field (`_AT`).
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from kapy.hooks.hook import GROUP, AnyHook

_META: Final = "k8s.io.apimachinery.pkg.apis.meta.v1."
_CORE: Final = "k8s.io.api.core.v1."
_CLUSTER: Final = "sigs.k8s.io.cluster-api.api.core.v1beta2."
_HOOKS: Final = "sigs.k8s.io.cluster-api.api.runtime.hooks."

TIME: Final = f"{_META}Time"
JSON: Final = "k8s.io.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON"
INT_OR_STRING: Final = "k8s.io.apimachinery.pkg.util.intstr.IntOrString"
RAW_EXTENSION: Final = "k8s.io.apimachinery.pkg.runtime.RawExtension"
OBJECT_META: Final = f"{_META}ObjectMeta"

_OF_KUBERNETES: Final = {
    "LabelSelector": _META,
    "LabelSelectorRequirement": _META,
    "OwnerReference": _META,
    "NodeSystemInfo": _CORE,
    "NodeSwapStatus": _CORE,
}
_RENAMED: Final = {
    "TemplateMeta": f"{_CLUSTER}ObjectMeta",
    "Condition": f"{_META}Condition",
    "V1Beta1Condition": f"{_CLUSTER}Condition",
}
_AT: Final = {
    "ControlPlaneTopology.deletion": "ControlPlaneTopologyMachineDeletionSpec",
    "ControlPlaneTopology.variables": "ControlPlaneVariables",
    "ControlPlaneTopologyHealthCheck.checks": "ControlPlaneTopologyHealthCheckChecks",
    "ControlPlaneTopologyHealthCheck.remediation": "ControlPlaneTopologyHealthCheckRemediation",
    "ControlPlaneTopologyHealthCheckRemediation.triggerIf": (
        "ControlPlaneTopologyHealthCheckRemediationTriggerIf"
    ),
    "MachineDeploymentTopology.deletion": "MachineDeploymentTopologyMachineDeletionSpec",
    "MachineDeploymentTopology.healthCheck": "MachineDeploymentTopologyHealthCheck",
    "MachineDeploymentTopology.rollout": "MachineDeploymentTopologyRolloutSpec",
    "MachineDeploymentTopology.variables": "MachineDeploymentVariables",
    "MachineDeploymentTopologyHealthCheck.checks": "MachineDeploymentTopologyHealthCheckChecks",
    "MachineDeploymentTopologyHealthCheck.remediation": (
        "MachineDeploymentTopologyHealthCheckRemediation"
    ),
    "MachineDeploymentTopologyHealthCheckRemediation.triggerIf": (
        "MachineDeploymentTopologyHealthCheckRemediationTriggerIf"
    ),
    "MachineDeploymentTopologyRolloutSpec.strategy": "MachineDeploymentTopologyRolloutStrategy",
    "MachineDeploymentTopologyRolloutStrategy.rollingUpdate": (
        "MachineDeploymentTopologyRolloutStrategyRollingUpdate"
    ),
    "MachinePoolTopology.deletion": "MachinePoolTopologyMachineDeletionSpec",
    "MachinePoolTopology.variables": "MachinePoolVariables",
}


def reference(component: str) -> str:
    """Return a reference to a component."""
    return f"#/components/schemas/{component}"


def message_component(hook: AnyHook, name: str) -> str:
    """Return the component of a request or response, or of a part that only they have."""
    if hook.group == GROUP:
        return f"{_HOOKS}{hook.version}.{name}"
    return f"{hook.group}.{hook.version}.{name}"


def part_component(parent: str, field: str, kind: type[Struct]) -> str:
    """Return the component of a Struct in a field of another component."""
    package, _, short = parent.rpartition(".")
    name = kind.__name__
    if kind.__module__ == "kapy.kube.meta" and name == "ObjectMeta":
        return OBJECT_META
    if there := _AT.get(f"{short}.{field}"):
        return f"{_CLUSTER}{there}"
    if name in _RENAMED:
        return _RENAMED[name]
    if kind.__module__.startswith("kapy.api."):
        return f"{_OF_KUBERNETES.get(name, _CLUSTER)}{name}"
    return f"{package}.{name}"


def is_of_object(component: str) -> bool:
    """Return whether a component is part of objects in messages, and not of the messages
    themselves.
    """
    return component.startswith(_CLUSTER) or is_of_kubernetes(component)


def is_of_kubernetes(component: str) -> bool:
    """Return whether a component is a type of Kubernetes itself."""
    return component.startswith("k8s.io.")
