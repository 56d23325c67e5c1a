"""The user's options for a new cluster, as variables of its template.

Upstream: `templateOptionsToVariables` in `cmd/clusterctl/client/config.go`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kapy.clusterctl.config.variables import Variables
from kapy.clusterctl.errors import TemplateError
from kapy.clusterctl.repository.releases import semantic
from kapy.kube.qualified_names import dns_label_errors, dns_subdomain_errors

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class TemplateOptions:
    """A cluster's name and namespace, its version, and its machine counts.

    None and "" leave a value to the environment, the configuration file and the template.
    """

    name: str
    namespace: str = ""
    kubernetes_version: str = ""
    control_plane_machines: int | None = None
    worker_machines: int | None = None


def set_variables(options: TemplateOptions, variables: Variables) -> None:
    """Set the common variables of templates. Raises TemplateError."""
    if errors := dns_label_errors(options.namespace):
        raise TemplateError(f"invalid target-namespace: {'; '.join(errors)}")
    if errors := dns_subdomain_errors(options.name):
        raise TemplateError(f"invalid cluster name: {'; '.join(errors)}")
    variables.set("NAMESPACE", options.namespace)
    variables.set("CLUSTER_NAME", options.name)
    if options.kubernetes_version:
        if semantic(options.kubernetes_version) is None:
            raise TemplateError(
                "invalid KubernetesVersion. Please use a semantic version number like v1.34.0, "
                f'and not "{options.kubernetes_version}"'
            )
        variables.set("KUBERNETES_VERSION", options.kubernetes_version)
    machines = _count(options.control_plane_machines, "CONTROL_PLANE_MACHINE_COUNT", 1, variables)
    if machines < 1:
        raise TemplateError(
            "invalid ControlPlaneMachineCount. Please use a number greater than or equal to 1"
        )
    variables.set("CONTROL_PLANE_MACHINE_COUNT", str(machines))
    machines = _count(options.worker_machines, "WORKER_MACHINE_COUNT", 0, variables)
    if machines < 0:
        raise TemplateError(
            "invalid WorkerMachineCount. Please use a number greater than or equal to 0"
        )
    variables.set("WORKER_MACHINE_COUNT", str(machines))


def _count(count: int | None, name: str, default: int, variables: Variables) -> int:
    if count is not None:
        return count
    variable = variables.get(name)
    if variable is None:
        return default
    if not _INTEGER.fullmatch(variable):
        raise TemplateError(f'invalid value for {name} set: "{variable}" is no whole number')
    return int(variable)
