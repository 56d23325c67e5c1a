"""Machine: one Node of a workload cluster, wanted and observed."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import NodeSystemInfo
from kapy.api.embedded import (
    ContractVersionedObjectReference,
    MachineAddress,
    ReadinessGates,
    Taints,
    TemplateMeta,
)
from kapy.api.patterns import DNS_SUBDOMAIN
from kapy.api.status import (
    Conditions,
    FailureMessage,
    FailureReason,
    ObservedGeneration,
    V1Beta1Conditions,
)
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class Bootstrap(Model):
    """What turns a machine into a Node: a configuration to be made into data, or the data."""

    config_ref: Annotated[
        ContractVersionedObjectReference | None,
        rules("The provider's object that makes the boot data.", zero="omitted"),
    ] = None
    data_secret_name: Annotated[
        str | None, rules("The Secret that holds the boot data.", min_length=0, max_length=253)
    ] = None


NodeDrainTimeout = Annotated[
    int | None,
    rules(
        "How long draining a Node may take; 0 or nothing is without a limit.",
        format="int32",
        minimum=0,
    ),
]
NodeVolumeDetachTimeout = Annotated[
    int | None,
    rules(
        "How long to wait for volumes to be detached; 0 or nothing is without a limit.",
        format="int32",
        minimum=0,
    ),
]
NodeDeletionTimeout = Annotated[
    int | None,
    rules(
        "How long to try to delete a Node whose machine is gone; 0 is without a limit.",
        format="int32",
        minimum=0,
    ),
]


class MachineDeletionSpec(Model):
    """How long the steps of a machine's deletion may take."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_drain_timeout_seconds: NodeDrainTimeout = None
    node_volume_detach_timeout_seconds: NodeVolumeDetachTimeout = None
    node_deletion_timeout_seconds: NodeDeletionTimeout = None


class MachineSpec(Model):
    """What a machine should be."""

    cluster_name: Annotated[
        str, rules("The Cluster that the machine belongs to.", min_length=1, max_length=63)
    ]
    bootstrap: Annotated[Bootstrap, rules("What turns the machine into a Node.")]
    infrastructure_ref: Annotated[
        ContractVersionedObjectReference, rules("The provider's object that makes the machine.")
    ]
    version: Annotated[
        str, rules("The Kubernetes version of the machine.", min_length=1, max_length=256)
    ] = ""
    provider_id: Annotated[
        str,
        rules(
            "What the infrastructure calls the machine; its Node has the same.",
            min_length=1,
            max_length=512,
        ),
    ] = field(default="", name="providerID")
    failure_domain: Annotated[
        str, rules("The failure domain to put the machine in.", min_length=1, max_length=256)
    ] = ""
    min_ready_seconds: Annotated[
        int | None,
        rules(
            "How long the Machine must be Ready to count as Available.", format="int32", minimum=0
        ),
    ] = None
    readiness_gates: ReadinessGates = field(default_factory=list)
    deletion: Annotated[
        MachineDeletionSpec, rules("How long the steps of the machine's deletion may take.")
    ] = field(default_factory=MachineDeletionSpec)
    taints: Taints = field(default_factory=list)


class MachineDeletionStatus(Model):
    """When the steps of a machine's deletion began."""

    node_drain_start_time: Annotated[
        str | None, rules("When draining the Node began.", format="date-time")
    ] = None
    wait_for_node_volume_detach_start_time: Annotated[
        str | None, rules("When waiting for volumes to be detached began.", format="date-time")
    ] = None
    wait_for_pre_drain_hook_start_time: Annotated[
        str | None, rules("When waiting for the hooks before draining began.", format="date-time")
    ] = None
    wait_for_pre_terminate_hook_start_time: Annotated[
        str | None,
        rules(
            "When waiting for the hooks before the machine is shut down began.", format="date-time"
        ),
    ] = None


class MachineV1Beta1DeprecatedStatus(Model):
    """What v1beta1 reported of a Machine."""

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None


class MachineDeprecatedStatus(Model):
    """What older versions of the API reported of a Machine."""

    v1beta1: Annotated[MachineV1Beta1DeprecatedStatus | None, rules("What v1beta1 reported.")] = (
        None
    )


class MachineInitializationStatus(Model):
    """Milestones of a machine's first provisioning."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    infrastructure_provisioned: Annotated[
        bool | None, rules("Whether the machine's infrastructure has been there once.")
    ] = None
    bootstrap_data_secret_created: Annotated[
        bool | None, rules("Whether the machine's boot data has been there once.")
    ] = None


class MachineNodeReference(Model):
    """Names the Node of a machine."""

    name: Annotated[
        str, rules("The Node's name.", min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)
    ]


class MachineStatus(Model):
    """What was seen of a machine."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    initialization: Annotated[
        MachineInitializationStatus,
        rules("Milestones of the first provisioning; they are not taken back."),
    ] = field(default_factory=MachineInitializationStatus)
    node_ref: Annotated[
        MachineNodeReference | None, rules("The Node that the machine became.", zero="omitted")
    ] = None
    node_info: Annotated[NodeSystemInfo | None, rules("What the Node says about its system.")] = (
        None
    )
    last_updated: Annotated[
        str | None, rules("When the phase changed last.", format="date-time")
    ] = None
    addresses: Annotated[
        list[MachineAddress],
        rules("Where the machine is reached.", max_items=256, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    failure_domain: Annotated[
        str, rules("The failure domain that the machine is in.", min_length=1, max_length=256)
    ] = ""
    phase: Annotated[
        str,
        rules(
            "In one word, where the machine is in its life.",
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
            ],
        ),
    ] = ""
    certificates_expiry_date: Annotated[
        str | None,
        rules("When the certificates of a control plane machine run out.", format="date-time"),
    ] = None
    observed_generation: ObservedGeneration = 0
    deletion: Annotated[
        MachineDeletionStatus | None, rules("When the steps of the deletion began.")
    ] = None
    deprecated: Annotated[
        MachineDeprecatedStatus | None, rules("Values that only readers of v1beta1 still look at.")
    ] = None


class MachineNamingSpec(Model):
    """How Machines are named."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    template: Annotated[
        str,
        rules(
            "A Go template of names, with .cluster.name, .machineSet.name and .random.",
            min_length=1,
            max_length=256,
        ),
    ] = ""


class MachineTemplateSpec(Model, kw_only=True):
    """What new Machines look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for the Machines.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[MachineSpec, rules("What the Machines should be.")]


class Machine(Object, kw_only=True):
    """One machine that is to become a Node of a workload cluster."""

    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine")

    spec: Annotated[MachineSpec, rules("The machine as it is wanted.")]
    status: Annotated[MachineStatus, rules("The machine as it was seen last.")] = field(
        default_factory=MachineStatus
    )
