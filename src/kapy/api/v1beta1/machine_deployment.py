"""MachineDeployment as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.api.machine_deployment import Phase
from kapy.api.machine_set import ClusterName, MachineSelector, WantedReplicas
from kapy.api.status import Selector, Versions
from kapy.api.v1beta1.embedded import (
    MachineNamingStrategy,
    OldConditions,
    OldGeneration,
    V1Beta2Replicas,
    counter,
)
from kapy.api.v1beta1.machine import MachineTemplateSpec
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.api.v1beta1.rollout import MachineDeploymentStrategy
from kapy.kube.model import rules
from kapy.kube.names import Resource


class MachineDeploymentSpec(OldModel, kw_only=True):
    cluster_name: ClusterName
    replicas: WantedReplicas = None
    rollout_after: Annotated[
        str | None,
        rules(
            same_as="MachineDeploymentRolloutSpec.after",
            format="date-time",
        ),
    ] = None
    selector: MachineSelector
    template: MachineTemplateSpec
    strategy: Annotated[
        MachineDeploymentStrategy | None, rules(same_as="MachineDeploymentRolloutSpec.strategy")
    ] = None
    machine_naming_strategy: Annotated[
        MachineNamingStrategy | None, rules(same_as="MachineDeploymentSpec.machineNaming")
    ] = None
    min_ready_seconds: Annotated[
        int | None,
        rules(same_as="MachineSpec.minReadySeconds", format="int32"),
    ] = None
    revision_history_limit: Annotated[
        int | None,
        rules(
            "revisionHistoryLimit was the number of old MachineSets that are kept. It is "
            "deprecated and ignored.",
            format="int32",
        ),
    ] = None
    paused: bool = False
    progress_deadline_seconds: Annotated[
        int | None,
        rules(
            "progressDeadlineSeconds was the maximum time in seconds for a rollout. It is "
            "deprecated and ignored.",
            format="int32",
        ),
    ] = None


class MachineDeploymentStatus(OldModel):
    observed_generation: OldGeneration = 0
    selector: Selector = ""
    replicas: Annotated[int, counter()] = 0
    updated_replicas: Annotated[
        int, counter(same_as="MachineDeploymentV1Beta1DeprecatedStatus.updatedReplicas")
    ] = 0
    ready_replicas: Annotated[
        int, counter(same_as="MachineDeploymentV1Beta1DeprecatedStatus.readyReplicas")
    ] = 0
    available_replicas: Annotated[
        int, counter(same_as="MachineDeploymentV1Beta1DeprecatedStatus.availableReplicas")
    ] = 0
    unavailable_replicas: Annotated[
        int, counter(same_as="MachineDeploymentV1Beta1DeprecatedStatus.unavailableReplicas")
    ] = 0
    phase: Phase = ""
    conditions: OldConditions = field(default_factory=list)
    versions: Versions = field(default_factory=list)
    v1beta2: V1Beta2Replicas = None


def _empty() -> MachineDeploymentSpec:
    return MachineDeploymentSpec(
        cluster_name="", selector=LabelSelector(), template=MachineTemplateSpec()
    )


class MachineDeployment(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta1", "machinedeployments", "MachineDeployment"
    )

    spec: MachineDeploymentSpec = field(default_factory=_empty)
    status: MachineDeploymentStatus = field(default_factory=MachineDeploymentStatus)
