"""MachineHealthCheck: which Machines are unhealthy, and what happens to them."""

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
    """What a MachineHealthCheck looks for and does."""

    cluster_name: ClusterName
    selector: Annotated[LabelSelector, rules("Which Machines are watched; at least one label.")]
    checks: Annotated[HealthChecks, rules("What makes a Machine unhealthy.")] = field(
        default_factory=HealthChecks
    )
    remediation: Annotated[Remediation, rules("What happens to an unhealthy Machine.")] = field(
        default_factory=Remediation
    )


class MachineHealthCheckStatus(Model):
    """What a MachineHealthCheck has found."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    expected_machines: Annotated[
        int | None, rules("How many Machines are watched.", format="int32", minimum=0)
    ] = None
    current_healthy: Annotated[
        int | None, rules("How many of them are healthy.", format="int32", minimum=0)
    ] = None
    remediations_allowed: Annotated[
        int | None,
        rules(
            "How many more Machines may be remediated before the limit is reached.",
            format="int32",
            minimum=0,
        ),
    ] = None
    observed_generation: ObservedGeneration = 0
    targets: Annotated[
        list[MachineName],
        rules(
            "The names of the Machines that are watched.",
            max_items=10000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    deprecated: Deprecated = None


class MachineHealthCheck(Object, kw_only=True):
    """Finds unhealthy Machines and has them replaced."""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinehealthchecks", "MachineHealthCheck"
    )

    spec: Annotated[MachineHealthCheckSpec, rules("What to look for and what to do.")]
    status: Annotated[MachineHealthCheckStatus, rules("What was found last.")] = field(
        default_factory=MachineHealthCheckStatus
    )
