"""The MachineHealthCheck of a control plane or MachineDeployment."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.defaults import NODE_STARTUP_TIMEOUT_SECONDS
from kapy.api.embedded import LabelSelector
from kapy.api.health_check import (
    ControlPlaneHealthCheck,
    ControlPlaneTopologyHealthCheck,
    HealthChecks,
    Remediation,
    RemediationTrigger,
    WorkerHealthCheck,
    WorkerTopologyHealthCheck,
)
from kapy.api.machine_health_check import MachineHealthCheck, MachineHealthCheckSpec
from kapy.api.names import Label
from kapy.kube.meta import ObjectMeta, owner_reference
from kapy.kube.model import copy_model

Topology = ControlPlaneTopologyHealthCheck | WorkerTopologyHealthCheck
Class = ControlPlaneHealthCheck | WorkerHealthCheck


def machine_health_check(
    name: str, cluster: Cluster, labels: dict[str, str], topology: Topology, of_class: Class
) -> MachineHealthCheck | None:
    """Return the MachineHealthCheck of the topology, else of its class; None if neither enables
    one.

    name: the name of the object that owns the Machines. labels: the labels that select these
    Machines.
    """
    said = topology if _is_defined(topology) else of_class
    if topology.enabled is False or not _is_defined(said):
        return None
    metadata = cluster.metadata
    return MachineHealthCheck(
        metadata=ObjectMeta(
            name=name,
            namespace=metadata.namespace,
            labels={Label.TOPOLOGY_OWNED: "", Label.CLUSTER_NAME: metadata.name},
            owner_references=[owner_reference(cluster)],
        ),
        spec=MachineHealthCheckSpec(
            cluster_name=metadata.name,
            selector=LabelSelector(match_labels={Label.TOPOLOGY_OWNED: "", **labels}),
            checks=_checks(said.checks),
            remediation=Remediation(
                trigger_if=copy_model(said.remediation.trigger_if),
                template_ref=said.remediation.template_ref,
            ),
        ),
    )


def _is_defined(source: Topology | Class) -> bool:
    remediation = source.remediation
    return (
        source.checks != HealthChecks()
        or remediation.trigger_if != RemediationTrigger()
        or remediation.template_ref is not None
        or getattr(remediation, "max_in_flight", None) is not None
    )


def _checks(defined: HealthChecks) -> HealthChecks:
    """Return the health checks with admission's defaults filled in, so that a dry run shows no
    change.
    """
    checks = copy_model(defined)
    if checks.node_startup_timeout_seconds is None:
        checks.node_startup_timeout_seconds = NODE_STARTUP_TIMEOUT_SECONDS
    return checks
