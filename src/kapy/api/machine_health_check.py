"""MachineHealthCheck: the rules for unhealthy Machines, and their remediation."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.api.health_check import HealthChecks, Remediation
from kapy.api.machine_set import ClusterName
from kapy.api.status import Conditions, Deprecated, ObservedGeneration
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

MachineName = Annotated[str, rules(min_length=1, max_length=253)]


class MachineHealthCheckSpec(Model):
    """MachineHealthCheckSpec is the desired state of a MachineHealthCheck."""

    cluster_name: ClusterName
    selector: Annotated[
        LabelSelector,
        rules(
            "selector selects the Machines whose health is checked. It must not be empty. "
            "Only Machines of the Cluster in clusterName are selected."
        ),
    ]
    checks: Annotated[
        HealthChecks,
        rules(
            "checks are the criteria by which Machines are judged unhealthy. The node "
            "startup timeout defaults to 600 seconds."
        ),
    ] = field(default_factory=HealthChecks)
    remediation: Annotated[
        Remediation,
        rules(
            "remediation configures when and how unhealthy Machines are remediated. If it is "
            "not set, the owner of an unhealthy Machine replaces it."
        ),
    ] = field(default_factory=Remediation)


class MachineHealthCheckStatus(Model):
    """MachineHealthCheckStatus is the observed state of a MachineHealthCheck."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the MachineHealthCheck's current state. "
            "Types are RemediationAllowed and Paused. The reason of RemediationAllowed is "
            "RemediationAllowed or TooManyUnhealthy."
        ),
    ] = field(default_factory=list)
    expected_machines: Annotated[
        int | None,
        rules(
            "expectedMachines is the number of Machines that the selector selects.",
            format="int32",
            minimum=0,
        ),
    ] = None
    current_healthy: Annotated[
        int | None,
        rules(
            "currentHealthy is the number of selected Machines that are healthy.",
            format="int32",
            minimum=0,
        ),
    ] = None
    remediations_allowed: Annotated[
        int | None,
        rules(
            "remediationsAllowed is the number of further Machines that may be remediated "
            "before spec.remediation.triggerIf stops remediation.",
            format="int32",
            minimum=0,
        ),
    ] = None
    observed_generation: ObservedGeneration = 0
    targets: Annotated[
        list[MachineName],
        rules(
            "targets are the names of the selected Machines. At most 10000 are stored.",
            max_items=10000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    deprecated: Deprecated = None


class MachineHealthCheck(Object, kw_only=True):
    """MachineHealthCheck finds unhealthy Machines of a Cluster and requests their remediation."""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinehealthchecks", "MachineHealthCheck"
    )

    spec: Annotated[
        MachineHealthCheckSpec, rules("spec is the desired state of the MachineHealthCheck.")
    ]
    status: Annotated[
        MachineHealthCheckStatus,
        rules(
            "status is the observed state of the MachineHealthCheck. The MachineHealthCheck "
            "controller writes it."
        ),
    ] = field(default_factory=MachineHealthCheckStatus)
