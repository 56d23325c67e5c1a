"""MachineSet as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.api.machine_set import (
    ClusterName,
    DeletionOrder,
    MachineSelector,
    WantedReplicas,
)
from kapy.api.status import Selector, Versions
from kapy.api.v1beta1.embedded import (
    FailureMessage,
    FailureReason,
    MachineNamingStrategy,
    OldConditions,
    OldGeneration,
    V1Beta2Replicas,
    counter,
)
from kapy.api.v1beta1.machine import MachineTemplateSpec
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class MachineSetSpec(OldModel, kw_only=True):
    cluster_name: ClusterName
    replicas: WantedReplicas = None
    min_ready_seconds: Annotated[
        int,
        rules(same_as="MachineSpec.minReadySeconds", format="int32"),
    ] = 0
    delete_policy: Annotated[DeletionOrder, rules(same_as="MachineSetDeletionSpec.order")] = ""
    selector: MachineSelector
    template: MachineTemplateSpec = field(default_factory=MachineTemplateSpec)
    machine_naming_strategy: Annotated[
        MachineNamingStrategy | None, rules(same_as="MachineSetSpec.machineNaming")
    ] = None


class MachineSetStatus(OldModel):
    selector: Selector = ""
    replicas: Annotated[int, counter()] = 0
    fully_labeled_replicas: Annotated[
        int, counter(same_as="MachineSetV1Beta1DeprecatedStatus.fullyLabeledReplicas")
    ] = 0
    ready_replicas: Annotated[
        int, counter(same_as="MachineSetV1Beta1DeprecatedStatus.readyReplicas")
    ] = 0
    available_replicas: Annotated[
        int, counter(same_as="MachineSetV1Beta1DeprecatedStatus.availableReplicas")
    ] = 0
    observed_generation: OldGeneration = 0
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None
    conditions: OldConditions = field(default_factory=list)
    versions: Versions = field(default_factory=list)
    v1beta2: V1Beta2Replicas = None


def _empty() -> MachineSetSpec:
    return MachineSetSpec(cluster_name="", selector=LabelSelector())


class MachineSet(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta1", "machinesets", "MachineSet"
    )

    spec: MachineSetSpec = field(default_factory=_empty)
    status: MachineSetStatus = field(default_factory=MachineSetStatus)
