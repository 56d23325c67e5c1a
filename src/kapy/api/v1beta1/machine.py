"""Machine as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import NodeSystemInfo
from kapy.api.embedded import Taints as Taints
from kapy.api.machine_status import MachineDeletionStatus
from kapy.api.v1beta1.embedded import (
    FailureMessage,
    FailureReason,
    MachineAddress,
    MachineReadinessGate,
    ObjectReference,
    OldConditions,
    OldGeneration,
    TemplateMeta,
    V1Beta2,
)
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class Bootstrap(OldModel):
    config_ref: ObjectReference | None = None
    data_secret_name: Annotated[str | None, rules(min_length=0, max_length=253)] = None


ReadinessGates = Annotated[
    list[MachineReadinessGate],
    rules(
        max_items=32,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["conditionType"],
    ),
]
NodeDrainTimeout = Annotated[
    str | None,
    rules(
        "nodeDrainTimeout is the maximum time for draining the Node before the deletion "
        "of a Machine continues, as a duration, for example 10m. With 0s there is no "
        "limit. Defaults to 0s. A change is applied to existing Machines in place.",
        form="duration",
    ),
]
NodeVolumeDetachTimeout = Annotated[
    str | None,
    rules(
        "nodeVolumeDetachTimeout is the maximum time for volumes to be detached from the "
        "Node before the deletion of a Machine continues, as a duration, for example "
        "10m. With 0s there is no limit. Defaults to 0s. A change is applied to existing "
        "Machines in place.",
        form="duration",
    ),
]
NodeDeletionTimeout = Annotated[
    str | None,
    rules(
        "nodeDeletionTimeout is the maximum time for attempts to delete the Node object "
        "after the infrastructure of a Machine is gone, as a duration, for example 10s. "
        "With 0s the controller retries without a limit. Defaults to 10s. A change is "
        "applied to existing Machines in place.",
        form="duration",
    ),
]


class MachineSpec(OldModel):
    cluster_name: Annotated[str, rules(min_length=1, max_length=63)]
    bootstrap: Bootstrap
    infrastructure_ref: ObjectReference
    version: Annotated[str | None, rules(min_length=1, max_length=256)] = None
    provider_id: Annotated[
        str | None,
        rules(
            min_length=1,
            max_length=512,
        ),
    ] = field(default=None, name="providerID")
    failure_domain: Annotated[str | None, rules(min_length=1, max_length=256)] = None
    readiness_gates: ReadinessGates = field(default_factory=list)
    node_drain_timeout: NodeDrainTimeout = None
    node_volume_detach_timeout: NodeVolumeDetachTimeout = None
    node_deletion_timeout: NodeDeletionTimeout = None
    taints: Taints = field(default_factory=list)


def _empty() -> MachineSpec:
    return MachineSpec(cluster_name="", bootstrap=Bootstrap(), infrastructure_ref=ObjectReference())


class MachineTemplateSpec(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: MachineSpec = field(default_factory=_empty)


class MachineStatus(OldModel):
    node_ref: ObjectReference | None = None
    node_info: NodeSystemInfo | None = None
    last_updated: Annotated[str | None, rules(format="date-time")] = None
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None
    addresses: list[MachineAddress] = field(default_factory=list)
    phase: Annotated[
        str,
        rules(
            enum=[
                "Pending",
                "Provisioning",
                "Provisioned",
                "Running",
                "Deleting",
                "Deleted",
                "Failed",
                "Unknown",
            ],
        ),
    ] = ""
    certificates_expiry_date: Annotated[
        str | None,
        rules(format="date-time"),
    ] = None
    bootstrap_ready: Annotated[
        bool,
        rules(same_as="MachineInitializationStatus.bootstrapDataSecretCreated", zero="written"),
    ] = False
    infrastructure_ready: Annotated[
        bool, rules(same_as="MachineInitializationStatus.infrastructureProvisioned", zero="written")
    ] = False
    observed_generation: OldGeneration = 0
    conditions: OldConditions = field(default_factory=list)
    deletion: MachineDeletionStatus | None = None
    v1beta2: V1Beta2 = None


class Machine(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta1", "machines", "Machine")

    spec: MachineSpec = field(default_factory=_empty)
    status: MachineStatus = field(default_factory=MachineStatus)
