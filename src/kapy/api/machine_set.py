"""MachineSet: so many Machines of one template."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.embedded import LabelSelector, StatusVersion
from kapy.api.machine import MachineNamingSpec, MachineTemplateSpec
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class MachineSetDeletionSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    order: Annotated[str, rules(enum=["Random", "Newest", "Oldest"])] = ""


class MachineSetSpec(Model):
    cluster_name: Annotated[str, rules(min_length=1, max_length=63)]
    selector: LabelSelector
    template: MachineTemplateSpec
    replicas: Annotated[int | None, rules(format="int32")] = None
    machine_naming: MachineNamingSpec = field(default_factory=MachineNamingSpec)
    deletion: MachineSetDeletionSpec = field(default_factory=MachineSetDeletionSpec)


class MachineSetV1Beta1DeprecatedStatus(Model):
    conditions: list[V1Beta1Condition] = field(default_factory=list)
    failure_reason: str | None = None
    failure_message: Annotated[str | None, rules(min_length=1, max_length=10240)] = None
    fully_labeled_replicas: Annotated[int, rules(format="int32")] = 0
    ready_replicas: Annotated[int, rules(format="int32")] = 0
    available_replicas: Annotated[int, rules(format="int32")] = 0


class MachineSetDeprecatedStatus(Model):
    v1beta1: MachineSetV1Beta1DeprecatedStatus | None = None


class MachineSetStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        list[Condition],
        rules(max_items=32, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["type"]),
    ] = field(default_factory=list)
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
    observed_generation: Annotated[int, rules(format="int64", minimum=1)] = 0
    deprecated: MachineSetDeprecatedStatus | None = None


class MachineSet(Object, kw_only=True):
    """MachineSet"""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinesets", "MachineSet"
    )

    spec: MachineSetSpec
    status: MachineSetStatus = field(default_factory=MachineSetStatus)
