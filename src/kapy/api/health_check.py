"""How unhealthy Machines are found and what happens to them, as Cluster and ClusterClass say it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import (
    MachineHealthCheckRemediationTemplateReference,
    UnhealthyMachineCondition,
    UnhealthyNodeCondition,
)
from kapy.api.patterns import REPLICA_RANGE
from kapy.kube import Document
from kapy.kube.model import Model, rules


class HealthChecks(Model):
    """What makes a Machine unhealthy."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_startup_timeout_seconds: Annotated[
        int | None,
        rules(
            "How long a Machine may take until it has a Node; 0 is without a limit.",
            format="int32",
            minimum=0,
        ),
    ] = None
    unhealthy_node_conditions: Annotated[
        list[UnhealthyNodeCondition],
        rules(
            "Conditions of the Node that make a Machine unhealthy, any of them.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    unhealthy_machine_conditions: Annotated[
        list[UnhealthyMachineCondition],
        rules(
            "Conditions of the Machine that make it unhealthy, any of them.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class RemediationTrigger(Model):
    """When remediation is allowed."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    unhealthy_less_than_or_equal_to: Annotated[
        int | str | None,
        rules("As long as no more Machines than this (number or percentage) are unhealthy."),
    ] = None
    unhealthy_in_range: Annotated[
        str,
        rules(
            "As long as the number of unhealthy Machines is in this range, as in [3-5].",
            min_length=1,
            max_length=32,
            pattern=REPLICA_RANGE,
        ),
    ] = ""


_Trigger = Annotated[RemediationTrigger, rules("When remediation is allowed.")]
_TemplateRef = Annotated[
    MachineHealthCheckRemediationTemplateReference | None,
    rules("A template of the objects that ask somebody else to remediate.", zero="omitted"),
]


class Remediation(Model):
    """What happens to unhealthy Machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    trigger_if: _Trigger = field(default_factory=RemediationTrigger)
    template_ref: _TemplateRef = None


class WorkerRemediation(Model):
    """What happens to unhealthy worker Machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_in_flight: Annotated[
        int | str | None,
        rules("How many Machines (number or percentage) may be replaced at the same time."),
    ] = None
    trigger_if: _Trigger = field(default_factory=RemediationTrigger)
    template_ref: _TemplateRef = None


_Enabled = Annotated[
    bool | None,
    rules("Whether there is a MachineHealthCheck; the ClusterClass decides unless said."),
]
_Checks = Annotated[HealthChecks, rules("What makes a Machine unhealthy.")]
_Remediation = Annotated[Remediation, rules("What happens to an unhealthy Machine.")]
_WorkerRemediation = Annotated[WorkerRemediation, rules("What happens to an unhealthy Machine.")]


class ControlPlaneHealthCheck(Model):
    """How unhealthy control plane Machines are treated, as a ClusterClass says it."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    checks: _Checks = field(default_factory=HealthChecks)
    remediation: _Remediation = field(default_factory=Remediation)


class WorkerHealthCheck(Model):
    """How unhealthy worker Machines are treated, as a ClusterClass says it."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    checks: _Checks = field(default_factory=HealthChecks)
    remediation: _WorkerRemediation = field(default_factory=WorkerRemediation)


class ControlPlaneTopologyHealthCheck(Model):
    """How unhealthy control plane Machines of one cluster are treated."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    enabled: _Enabled = None
    checks: _Checks = field(default_factory=HealthChecks)
    remediation: _Remediation = field(default_factory=Remediation)


class WorkerTopologyHealthCheck(Model):
    """How unhealthy Machines of one MachineDeployment are treated."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    enabled: _Enabled = None
    checks: _Checks = field(default_factory=HealthChecks)
    remediation: _WorkerRemediation = field(default_factory=WorkerRemediation)
