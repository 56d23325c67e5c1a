"""Machine: one Node of a workload cluster, wanted and observed."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import (
    ContractVersionedObjectReference,
    ReadinessGates,
    Taints,
    TemplateMeta,
)
from kapy.api.machine_status import MachineStatus
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class Bootstrap(Model):
    """Bootstrap is the source of the bootstrap data that turn a machine into a Node. At least one
    of configRef and dataSecretName must be set, except in Machines of a MachinePool.
    """

    config_ref: Annotated[
        ContractVersionedObjectReference | None,
        rules(
            "configRef is a reference to the object of the bootstrap provider that generates "
            "the bootstrap data, for example a KubeadmConfig. In the template of a "
            "MachineSet, MachineDeployment or MachinePool it is a reference to a template of "
            "that object. In a MachineDeployment a change rolls out new Machines.",
            zero="omitted",
        ),
    ] = None
    data_secret_name: Annotated[
        str | None,
        rules(
            "dataSecretName is the name of the Secret with the bootstrap data. The Machine "
            "controller sets it when the object in configRef is ready. A user sets it "
            "instead of configRef to supply the data. The Machine stays in phase Pending "
            "while it is not set. In a MachineDeployment a change rolls out new Machines.",
            min_length=0,
            max_length=253,
        ),
    ] = None


NodeDrainTimeout = Annotated[
    int | None,
    rules(
        "nodeDrainTimeoutSeconds is the maximum time in seconds for draining the Node "
        "before the deletion of a Machine continues. With 0 there is no limit. Defaults "
        "to 0. A change is applied to existing Machines in place.",
        format="int32",
        minimum=0,
    ),
]
NodeVolumeDetachTimeout = Annotated[
    int | None,
    rules(
        "nodeVolumeDetachTimeoutSeconds is the maximum time in seconds for volumes to be "
        "detached from the Node before the deletion of a Machine continues. With 0 there "
        "is no limit. Defaults to 0. A change is applied to existing Machines in place.",
        format="int32",
        minimum=0,
    ),
]
NodeDeletionTimeout = Annotated[
    int | None,
    rules(
        "nodeDeletionTimeoutSeconds is the maximum time in seconds for attempts to "
        "delete the Node object after the infrastructure of a Machine is gone. With 0 "
        "the controller retries without a limit. Defaults to 10. A change is applied to "
        "existing Machines in place.",
        format="int32",
        minimum=0,
    ),
]


class MachineDeletionSpec(Model):
    """MachineDeletionSpec configures the deletion of a Machine."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_drain_timeout_seconds: NodeDrainTimeout = None
    node_volume_detach_timeout_seconds: NodeVolumeDetachTimeout = None
    node_deletion_timeout_seconds: NodeDeletionTimeout = None


class MachineSpec(Model):
    """MachineSpec is the desired state of a Machine."""

    cluster_name: Annotated[
        str,
        rules(
            "clusterName is the name of the Cluster to which the Machine belongs. The "
            "Cluster must be in the same namespace. In a template it must equal the "
            "clusterName of the owner. This field is immutable.",
            min_length=1,
            max_length=63,
        ),
    ]
    bootstrap: Annotated[
        Bootstrap,
        rules(
            "bootstrap is the source of the bootstrap data that turn the machine into a "
            "Node. In a MachineDeployment a change rolls out new Machines."
        ),
    ]
    infrastructure_ref: Annotated[
        ContractVersionedObjectReference,
        rules(
            "infrastructureRef is a reference to the object of the infrastructure provider "
            "that represents the machine. In the template of a MachineSet, MachineDeployment "
            "or MachinePool it is a reference to a template of that object. In a "
            "MachineDeployment a change rolls out new Machines."
        ),
    ]
    version: Annotated[
        str,
        rules(
            "version is the desired Kubernetes version, for example v1.34.1. A missing "
            "leading v is added on admission. The bootstrap provider uses the version to "
            "install the Node. In a MachineDeployment a change rolls out new Machines.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    provider_id: Annotated[
        str,
        rules(
            "providerID is the identifier that the infrastructure provider gives to the "
            "machine. It must equal spec.providerID of the Node. The Machine controller "
            "copies it from the object in infrastructureRef. Autoscalers use it to relate "
            "Machines and Nodes.",
            min_length=1,
            max_length=512,
        ),
    ] = field(default="", name="providerID")
    failure_domain: Annotated[
        str,
        rules(
            "failureDomain is the name of the failure domain in which the machine is "
            "created. It must be one of status.failureDomains of the Cluster. In a "
            "MachineDeployment a change rolls out new Machines.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    min_ready_seconds: Annotated[
        int | None,
        rules(
            "minReadySeconds is the time in seconds for which a Machine must be Ready before "
            "it counts as Available. Defaults to 0, with which a Ready Machine is Available "
            "at once. A change is applied to existing Machines in place.",
            format="int32",
            minimum=0,
        ),
    ] = None
    readiness_gates: ReadinessGates = field(default_factory=list)
    deletion: Annotated[
        MachineDeletionSpec,
        rules(
            "deletion configures the deletion of the Machine. A change is applied to "
            "existing Machines in place."
        ),
    ] = field(default_factory=MachineDeletionSpec)
    taints: Taints = field(default_factory=list)


class MachineNamingSpec(Model):
    """MachineNamingSpec configures the names of Machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    template: Annotated[
        str,
        rules(
            "template is the Go template of the names of new Machines. It knows "
            ".cluster.name, .machineSet.name and .random, and must contain .random. A name "
            "that is longer than 63 characters is cut and gets a random suffix. Defaults to "
            "{{ .machineSet.name }}-{{ .random }}. Existing Machines keep their names.",
            min_length=1,
            max_length=256,
        ),
    ] = ""


class MachineTemplateSpec(Model, kw_only=True):
    """MachineTemplateSpec describes the Machines that are created from a template."""

    metadata: Annotated[
        TemplateMeta,
        rules(
            "metadata are the labels and annotations of the Machines. They are also set on "
            "the bootstrap and infrastructure objects. A change is applied to existing "
            "Machines in place."
        ),
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        MachineSpec,
        rules(
            "spec is the desired state of the Machines. It is copied into each new Machine, "
            "with names of cloned bootstrap and infrastructure objects."
        ),
    ]


class Machine(Object, kw_only=True):
    """Machine represents one machine of a workload cluster and the Node that runs on it. It binds
    bootstrap data and infrastructure together.
    """

    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "machines", "Machine")

    spec: Annotated[
        MachineSpec,
        rules(
            "spec is the desired state of the Machine. Controllers of other kinds own most "
            "Machines and write their spec."
        ),
    ]
    status: Annotated[
        MachineStatus, rules("status is the observed state of the Machine. Controllers write it.")
    ] = field(default_factory=MachineStatus)
