"""MachineDeployment: Machines that are replaced step by step when their template changes."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.embedded import LabelSelector, StatusVersion
from kapy.api.machine import MachineNamingSpec, MachineTemplateSpec
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class MachineDeploymentDeletionSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    order: Annotated[str, rules(enum=["Random", "Newest", "Oldest"])] = ""


class MachineDeploymentRemediationSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_in_flight: int | str | None = None


class MachineDeploymentRolloutStrategyRollingUpdate(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_unavailable: int | str | None = None
    max_surge: int | str | None = None


class MachineDeploymentRolloutStrategy(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    type: Annotated[str, rules(enum=["RollingUpdate", "OnDelete"])]
    rolling_update: MachineDeploymentRolloutStrategyRollingUpdate = field(
        default_factory=MachineDeploymentRolloutStrategyRollingUpdate
    )


class MachineDeploymentRolloutSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[str | None, rules(format="date-time")] = None
    strategy: MachineDeploymentRolloutStrategy | None = None


class MachineDeploymentSpec(Model):
    cluster_name: Annotated[str, rules(min_length=1, max_length=63)]
    selector: LabelSelector
    template: MachineTemplateSpec
    replicas: Annotated[int | None, rules(format="int32")] = None
    rollout: MachineDeploymentRolloutSpec = field(default_factory=MachineDeploymentRolloutSpec)
    machine_naming: MachineNamingSpec = field(default_factory=MachineNamingSpec)
    remediation: MachineDeploymentRemediationSpec = field(
        default_factory=MachineDeploymentRemediationSpec
    )
    deletion: MachineDeploymentDeletionSpec = field(default_factory=MachineDeploymentDeletionSpec)
    paused: bool | None = None


class MachineDeploymentV1Beta1DeprecatedStatus(Model):
    conditions: list[V1Beta1Condition] = field(default_factory=list)
    updated_replicas: Annotated[int, rules(format="int32")] = 0
    ready_replicas: Annotated[int, rules(format="int32")] = 0
    available_replicas: Annotated[int, rules(format="int32")] = 0
    unavailable_replicas: Annotated[int, rules(format="int32")] = 0


class MachineDeploymentDeprecatedStatus(Model):
    v1beta1: MachineDeploymentV1Beta1DeprecatedStatus | None = None


class MachineDeploymentStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        list[Condition],
        rules(max_items=32, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["type"]),
    ] = field(default_factory=list)
    observed_generation: Annotated[int, rules(format="int64", minimum=1)] = 0
    selector: Annotated[str, rules(min_length=1, max_length=4096)] = ""
    replicas: Annotated[int | None, rules(format="int32")] = None
    ready_replicas: Annotated[int | None, rules(format="int32")] = None
    available_replicas: Annotated[int | None, rules(format="int32")] = None
    up_to_date_replicas: Annotated[int | None, rules(format="int32")] = None
    versions: Annotated[
        list[StatusVersion],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["version"],
        ),
    ] = field(default_factory=list)
    phase: Annotated[
        str, rules(enum=["ScalingUp", "ScalingDown", "Running", "Failed", "Unknown"])
    ] = ""
    deprecated: MachineDeploymentDeprecatedStatus | None = None


class MachineDeployment(Object, kw_only=True):
    """MachineDeployment"""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinedeployments", "MachineDeployment"
    )

    spec: MachineDeploymentSpec
    status: MachineDeploymentStatus = field(default_factory=MachineDeploymentStatus)
