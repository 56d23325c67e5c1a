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
    cluster_name: ClusterName
    selector: LabelSelector


class MachineHealthCheckStatus(OldModel):
    expected_machines: Annotated[int, rules(format="int32", minimum=0, zero="written")] = 0
    current_healthy: Annotated[int, rules(format="int32", minimum=0, zero="written")] = 0
    remediations_allowed: Annotated[
        int,
        rules(
            format="int32",
            minimum=0,
            zero="written",
        ),
    ] = 0
    observed_generation: OldGeneration = 0
    targets: Annotated[list[MachineName], rules(max_items=10000)] = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


def _empty() -> MachineHealthCheckSpec:
    return MachineHealthCheckSpec(cluster_name="", selector=LabelSelector())


class MachineHealthCheck(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta1", "machinehealthchecks", "MachineHealthCheck"
    )

    spec: MachineHealthCheckSpec = field(default_factory=_empty)
    status: MachineHealthCheckStatus = field(default_factory=MachineHealthCheckStatus)
