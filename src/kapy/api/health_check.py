"""Structs of Cluster and ClusterClass for health checks and remediation of Machines."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.patterns import REPLICA_RANGE
from kapy.api.unhealthy_conditions import (
    MachineHealthCheckRemediationTemplateReference,
    UnhealthyMachineCondition,
    UnhealthyNodeCondition,
)
from kapy.kube import Document
from kapy.kube.model import Model, rules


class HealthChecks(Model):
    """HealthChecks are the criteria by which Machines are judged unhealthy. Machines whose Node was
    deleted and Machines with the annotation cluster.x-k8s.io/remediate-machine are always
    unhealthy.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_startup_timeout_seconds: Annotated[
        int | None,
        rules(
            "nodeStartupTimeoutSeconds is the time in seconds within which a Machine must "
            "have a Node. After that it is unhealthy. The time is measured from the latest "
            "of the Machine's creation, its infrastructure being ready, the Cluster's "
            "infrastructure being ready and the control plane being initialized. With 0 "
            "there is no limit. Defaults to 600, which is 10 minutes.",
            format="int32",
            minimum=0,
        ),
    ] = None
    unhealthy_node_conditions: Annotated[
        list[UnhealthyNodeCondition],
        rules(
            "unhealthyNodeConditions are conditions of the Node that make a Machine "
            "unhealthy. One of them is sufficient. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    unhealthy_machine_conditions: Annotated[
        list[UnhealthyMachineCondition],
        rules(
            "unhealthyMachineConditions are conditions of the Machine that make it "
            "unhealthy. One of them is sufficient. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class RemediationTrigger(Model):
    """RemediationTrigger limits remediation to situations in which few Machines are unhealthy.
    Without a limit every unhealthy Machine is remediated.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    unhealthy_less_than_or_equal_to: Annotated[
        int | str | None,
        rules(
            "unhealthyLessThanOrEqualTo is the number of unhealthy Machines up to which "
            "remediation is allowed. It is an absolute number or a percentage of the "
            "selected Machines, which is rounded down. It is ignored if unhealthyInRange is "
            "set. Defaults to 100%."
        ),
    ] = None
    unhealthy_in_range: Annotated[
        str,
        rules(
            "unhealthyInRange is the range of the number of unhealthy Machines in which "
            "remediation is allowed, for example [3-5]. Both bounds are included. It takes "
            "precedence over unhealthyLessThanOrEqualTo.",
            min_length=1,
            max_length=32,
            pattern=REPLICA_RANGE,
        ),
    ] = ""


_Trigger = Annotated[
    RemediationTrigger,
    rules(
        "triggerIf limits when remediation is allowed. If it is not set, every unhealthy "
        "Machine is remediated."
    ),
]
_TemplateRef = Annotated[
    MachineHealthCheckRemediationTemplateReference | None,
    rules(
        "templateRef is a reference to a template of remediation requests. If it is set, "
        "a request is created from it for each unhealthy Machine, and an external "
        "controller remediates the Machine. If it is not set, the owner of the Machine "
        "replaces it.",
        zero="omitted",
    ),
]


class Remediation(Model):
    """Remediation configures when and how unhealthy Machines are remediated."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    trigger_if: _Trigger = field(default_factory=RemediationTrigger)
    template_ref: _TemplateRef = None


class WorkerRemediation(Model):
    """WorkerRemediation configures when and how unhealthy worker Machines are remediated."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_in_flight: Annotated[
        int | str | None,
        rules(same_as="MachineDeploymentRemediationSpec.maxInFlight"),
    ] = None
    trigger_if: _Trigger = field(default_factory=RemediationTrigger)
    template_ref: _TemplateRef = None


_Enabled = Annotated[
    bool | None,
    rules(
        "enabled controls whether a MachineHealthCheck exists for the Machines. With "
        "true one is always created. With false none is created. If it is not set, one "
        "is created if the Cluster or its ClusterClass defines checks or remediation."
    ),
]
_Checks = Annotated[
    HealthChecks,
    rules(
        "checks are the criteria by which Machines are judged unhealthy. If checks or "
        "remediation are set in a Cluster, both together replace those of the "
        "ClusterClass."
    ),
]
_Remediation = Annotated[
    Remediation,
    rules(
        "remediation configures when and how unhealthy Machines are remediated. If it is "
        "not set, the owner of an unhealthy Machine replaces it."
    ),
]
_WorkerRemediation = Annotated[
    WorkerRemediation,
    rules(
        "remediation configures when and how unhealthy Machines are remediated. If it is "
        "not set, the owner of an unhealthy Machine replaces it."
    ),
]


class ControlPlaneHealthCheck(Model):
    """ControlPlaneHealthCheck configures the MachineHealthCheck of control plane Machines in a
    ClusterClass.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    checks: _Checks = field(default_factory=HealthChecks)
    remediation: _Remediation = field(default_factory=Remediation)


class WorkerHealthCheck(Model):
    """WorkerHealthCheck configures the MachineHealthCheck of worker Machines in a ClusterClass."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    checks: _Checks = field(default_factory=HealthChecks)
    remediation: _WorkerRemediation = field(default_factory=WorkerRemediation)


class ControlPlaneTopologyHealthCheck(Model):
    """ControlPlaneTopologyHealthCheck configures the MachineHealthCheck of the control plane
    Machines of one Cluster.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    enabled: _Enabled = None
    checks: _Checks = field(default_factory=HealthChecks)
    remediation: _Remediation = field(default_factory=Remediation)


class WorkerTopologyHealthCheck(Model):
    """WorkerTopologyHealthCheck configures the MachineHealthCheck of the Machines of one
    MachineDeployment in a Cluster's topology.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    enabled: _Enabled = None
    checks: _Checks = field(default_factory=HealthChecks)
    remediation: _WorkerRemediation = field(default_factory=WorkerRemediation)
