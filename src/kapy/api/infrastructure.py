"""Structs and fields that several infrastructure kinds have."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import LocalObjectReference
from kapy.api.embedded import FailureDomain, MachineAddress
from kapy.api.patterns import QUANTITY
from kapy.kube import Document
from kapy.kube.model import Model, rules

FailureDomains = Annotated[
    list[FailureDomain],
    rules(
        "failureDomains are the failure domains that the provider reports. They must be "
        "sorted by name. controlPlane of each defaults to false. They do not change "
        "where containers run. At most 100 are allowed.",
        min_items=1,
        max_items=100,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["name"],
    ),
]


class DockerLoadBalancer(Model):
    """DockerLoadBalancer configures the load balancer container of a cluster."""

    image_repository: Annotated[
        str,
        rules(
            "imageRepository is the container registry of the load balancer image. If it is "
            "not set, it defaults to kindest."
        ),
    ] = ""
    image_tag: Annotated[
        str,
        rules(
            "imageTag is the tag of the load balancer image. If it is not set, the provider "
            "selects it."
        ),
    ] = ""
    custom_ha_proxy_config_template_ref: Annotated[
        LocalObjectReference | None,
        rules(
            "customHAProxyConfigTemplateRef is a reference to a ConfigMap whose key value "
            "holds a Go template of the HAProxy configuration. If it is not set, a built-in "
            "template is used."
        ),
    ] = field(default=None, name="customHAProxyConfigTemplateRef")


LoadBalancer = Annotated[
    DockerLoadBalancer,
    rules(
        "loadBalancer configures the load balancer container in front of the control plane.",
        zero="written",
    ),
]


class Mount(Model):
    """Mount is a file or directory of the host that is mounted into a machine."""

    container_path: Annotated[
        str,
        rules(
            "containerPath is the absolute path at which the file or directory appears in "
            "the machine."
        ),
    ] = ""
    host_path: Annotated[
        str,
        rules(
            "hostPath is the absolute path of the file or directory on the host of the "
            "container engine."
        ),
    ] = ""
    read_only: Annotated[
        bool,
        rules(
            "readOnly mounts the file or directory without write access for the machine. "
            "Defaults to false."
        ),
    ] = False


CustomImage = Annotated[
    str,
    rules(
        "customImage is the container image of the machine, for example a self-built "
        "node image. If it is not set, kindest/node with the Kubernetes version of the "
        "Machine is used. In a DevMachine and a DockerMachine this field is immutable."
    ),
]
PreLoadImages = Annotated[
    list[str],
    rules(
        "preLoadImages are the names of images that are copied from the container engine "
        "of the host into the machine before it starts."
    ),
]
ExtraMounts = Annotated[
    list[Mount],
    rules(
        "extraMounts are files and directories of the host of the container engine that "
        "are mounted into the machine."
    ),
]
BootstrapTimeout = Annotated[
    str | None,
    rules(
        "bootstrapTimeout is the time within which the bootstrap commands of the machine "
        "must succeed, as a duration, for example 3m. Defaults to 5m.",
        form="duration",
    ),
]


class Container(Model):
    """Container configures the containers of a pool."""

    custom_image: CustomImage = ""
    pre_load_images: PreLoadImages = field(default_factory=list)
    extra_mounts: ExtraMounts = field(default_factory=list)


MachineProviderID = Annotated[
    str,
    rules(
        "providerID is the identifier of the machine at the infrastructure provider. It "
        "equals spec.providerID of the Node. The provider sets it.",
        min_length=1,
        max_length=512,
    ),
]
PoolProviderID = Annotated[
    str,
    rules(
        "providerID is the identifier of the pool as a whole at the infrastructure "
        "provider. The provider sets it."
    ),
]
ProviderIDs = Annotated[
    list[str],
    rules(
        "providerIDList are the identifiers of the machines of the pool. The provider "
        "sets them. The MachinePool controller copies them."
    ),
]


class Initialization(Model):
    """Initialization records the milestones of the first provisioning. A milestone stays true
    once it is reached.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    provisioned: Annotated[
        bool | None,
        rules(
            "provisioned is true after the infrastructure has been provisioned for the first "
            "time. It stays true afterwards."
        ),
    ] = None


Milestones = Annotated[
    Initialization,
    rules(
        "initialization records the milestones of the first provisioning. The "
        "controllers of Cluster API read it."
    ),
]
Addresses = Annotated[
    list[MachineAddress],
    rules("addresses are the addresses of the machine. The Machine controller copies them."),
]
MachineFailureDomain = Annotated[
    str,
    rules(
        "failureDomain is the name of the failure domain in which the machine runs.",
        min_length=1,
        max_length=256,
    ),
]
Capacity = Annotated[
    dict[str, Annotated[int | str, rules(pattern=QUANTITY)]],
    rules(
        "capacity are the resources of a machine, for example cpu and memory, as "
        "quantities. Autoscalers read them to scale up from zero replicas.",
        form="quantity",
    ),
]


InstanceName = Annotated[
    str,
    rules(
        "instanceName is the name of the machine in the pool, which is also the name of "
        "its infrastructure object."
    ),
]
InstanceVersion = Annotated[
    str | None,
    rules("version is the Kubernetes version that the machine runs, for example v1.34.1."),
]
InstanceReady = Annotated[
    bool,
    rules(
        "ready tells whether the machine is provisioned and its Node can be expected.",
        zero="written",
    ),
]


class PoolInstance(Model):
    """PoolInstance is the observed state of one machine of a pool."""

    addresses: Addresses = field(default_factory=list)
    instance_name: InstanceName = ""
    provider_id: Annotated[
        str | None,
        rules(
            "providerID is the identifier of the machine at the infrastructure provider. It "
            "equals spec.providerID of the Node."
        ),
    ] = field(default=None, name="providerID")
    version: InstanceVersion = None
    ready: InstanceReady = False


PoolReady = Annotated[
    bool,
    rules(
        "ready tells whether the machines of the pool are provisioned. It is deprecated. "
        "Use initialization instead.",
        zero="written",
    ),
]
PoolReplicas = Annotated[
    int,
    rules(
        "replicas is the number of machines of the pool that exist. The MachinePool "
        "controller copies it.",
        format="int32",
        zero="written",
    ),
]
ObservedGeneration = Annotated[
    int,
    rules(
        "observedGeneration is the value of metadata.generation from which the status "
        "was computed. The status is out of date while it is smaller than "
        "metadata.generation.",
        format="int64",
    ),
]
InfrastructureMachineKind = Annotated[
    str,
    rules(
        "infrastructureMachineKind is the kind of the infrastructure objects that "
        "represent the machines of the pool. If it is set, the MachinePool controller "
        "creates a Machine for each of them."
    ),
]
