"""MachineHealthCheck as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.api.machine_health_check import MachineName
from kapy.api.machine_set import ClusterName
from kapy.api.v1beta1.embedded import OldConditions, OldGeneration, V1Beta2
from kapy.api.v1beta1.health_check import MachineHealthCheckClass
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class MachineHealthCheckSpec(MachineHealthCheckClass, kw_only=True):
    """What a MachineHealthCheck looks for and does."""

    cluster_name: ClusterName
    selector: Annotated[LabelSelector, rules("Which Machines are watched; at least one label.")]


class MachineHealthCheckStatus(OldModel):
    """What a MachineHealthCheck has found."""

    expected_machines: Annotated[
        int, rules("How many Machines are watched.", format="int32", minimum=0, zero="written")
    ] = 0
    current_healthy: Annotated[
        int, rules("How many of them are healthy.", format="int32", minimum=0, zero="written")
    ] = 0
    remediations_allowed: Annotated[
        int,
        rules(
            "How many more Machines may be remediated before the limit is reached.",
            format="int32",
            minimum=0,
            zero="written",
        ),
    ] = 0
    observed_generation: OldGeneration = 0
    targets: Annotated[
        list[MachineName], rules("The names of the Machines that are watched.", max_items=10000)
    ] = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


def _empty() -> MachineHealthCheckSpec:
    return MachineHealthCheckSpec(cluster_name="", selector=LabelSelector())


class MachineHealthCheck(OldObject, kw_only=True):
    """Finds unhealthy Machines and has them replaced."""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta1", "machinehealthchecks", "MachineHealthCheck"
    )

    spec: Annotated[MachineHealthCheckSpec, rules("What to look for and what to do.")] = field(
        default_factory=_empty
    )
    status: Annotated[MachineHealthCheckStatus, rules("What was found last.")] = field(
        default_factory=MachineHealthCheckStatus
    )
