"""Machine: one Node of a workload cluster, wanted and observed."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.core_v1 import NodeSystemInfo
from kapy.api.embedded import (
    ContractVersionedObjectReference,
    MachineAddress,
    MachineReadinessGate,
    MachineTaint,
    TemplateMeta,
)
from kapy.api.patterns import DNS_SUBDOMAIN
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class Bootstrap(Model):
    config_ref: ContractVersionedObjectReference | None = None
    data_secret_name: Annotated[str | None, rules(min_length=0, max_length=253)] = None


class MachineDeletionSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_drain_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    node_volume_detach_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = (
        None
    )
    node_deletion_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None


class MachineSpec(Model):
    cluster_name: Annotated[str, rules(min_length=1, max_length=63)]
    bootstrap: Bootstrap
    infrastructure_ref: ContractVersionedObjectReference
    version: Annotated[str, rules(min_length=1, max_length=256)] = ""
    provider_id: Annotated[str, rules(min_length=1, max_length=512)] = field(
        default="", name="providerID"
    )
    failure_domain: Annotated[str, rules(min_length=1, max_length=256)] = ""
    min_ready_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    readiness_gates: Annotated[
        list[MachineReadinessGate],
        rules(
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)
    deletion: MachineDeletionSpec = field(default_factory=MachineDeletionSpec)
    taints: Annotated[
        list[MachineTaint],
        rules(
            min_items=1,
            max_items=64,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["key", "effect"],
        ),
    ] = field(default_factory=list)


class MachineDeletionStatus(Model):
    node_drain_start_time: Annotated[str | None, rules(format="date-time")] = None
    wait_for_node_volume_detach_start_time: Annotated[str | None, rules(format="date-time")] = None
    wait_for_pre_drain_hook_start_time: Annotated[str | None, rules(format="date-time")] = None
    wait_for_pre_terminate_hook_start_time: Annotated[str | None, rules(format="date-time")] = None


class MachineV1Beta1DeprecatedStatus(Model):
    conditions: list[V1Beta1Condition] = field(default_factory=list)
    failure_reason: str | None = None
    failure_message: Annotated[str | None, rules(min_length=1, max_length=10240)] = None


class MachineDeprecatedStatus(Model):
    v1beta1: MachineV1Beta1DeprecatedStatus | None = None


class MachineInitializationStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    infrastructure_provisioned: bool | None = None
    bootstrap_data_secret_created: bool | None = None


class MachineNodeReference(Model):
    name: Annotated[str, rules(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)]


class MachineStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        list[Condition],
        rules(max_items=32, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["type"]),
    ] = field(default_factory=list)
    initialization: MachineInitializationStatus = field(default_factory=MachineInitializationStatus)
    node_ref: MachineNodeReference | None = None
    node_info: NodeSystemInfo | None = None
    last_updated: Annotated[str | None, rules(format="date-time")] = None
    addresses: Annotated[
        list[MachineAddress], rules(max_items=256, x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    failure_domain: Annotated[str, rules(min_length=1, max_length=256)] = ""
    phase: Annotated[
        str,
        rules(
            enum=[
                "Pending",
                "Provisioning",
                "Provisioned",
                "Running",
                "Updating",
                "Deleting",
                "Deleted",
                "Failed",
                "Unknown",
            ]
        ),
    ] = ""
    certificates_expiry_date: Annotated[str | None, rules(format="date-time")] = None
    observed_generation: Annotated[int, rules(format="int64", minimum=1)] = 0
    deletion: MachineDeletionStatus | None = None
    deprecated: MachineDeprecatedStatus | None = None


class MachineNamingSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    template: Annotated[str, rules(min_length=1, max_length=256)] = ""


class MachineTemplateSpec(Model):
    spec: MachineSpec
    metadata: TemplateMeta = field(default_factory=TemplateMeta)


class Machine(Object, kw_only=True):
    """Machine"""

    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine")

    spec: MachineSpec
    status: MachineStatus = field(default_factory=MachineStatus)
