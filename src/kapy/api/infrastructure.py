"""What the kinds of infrastructure have in common."""

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
        "Failure domains to report; they mean nothing to containers.",
        min_items=1,
        max_items=100,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["name"],
    ),
]


class DockerLoadBalancer(Model):
    """The load balancer in front of a control plane of containers."""

    image_repository: Annotated[str, rules("The registry to pull its image from.")] = ""
    image_tag: Annotated[str, rules("The tag of its image.")] = ""
    custom_ha_proxy_config_template_ref: Annotated[
        LocalObjectReference | None, rules("A ConfigMap with a template of its configuration.")
    ] = field(default=None, name="customHAProxyConfigTemplateRef")


LoadBalancer = Annotated[
    DockerLoadBalancer, rules("The load balancer in front of the control plane.", zero="written")
]


class Mount(Model):
    """A file or folder of the host that is mounted into a machine."""

    container_path: Annotated[str, rules("Its path in the machine.")] = ""
    host_path: Annotated[str, rules("Its path on the host.")] = ""
    read_only: Annotated[bool, rules("Whether the machine may only read it.")] = False


CustomImage = Annotated[str, rules("The image to run, in the place of the usual one.")]
PreLoadImages = Annotated[list[str], rules("Images to put into the machine before it starts.")]
ExtraMounts = Annotated[list[Mount], rules("Files and folders of the host to mount.")]
BootstrapTimeout = Annotated[
    str | None, rules("How long the machine may take to set itself up.", form="duration")
]


class Container(Model):
    """What a machine of a pool of containers is made of."""

    custom_image: CustomImage = ""
    pre_load_images: PreLoadImages = field(default_factory=list)
    extra_mounts: ExtraMounts = field(default_factory=list)


MachineProviderID = Annotated[
    str,
    rules(
        "What the provider calls the machine; its Node has the same.", min_length=1, max_length=512
    ),
]
PoolProviderID = Annotated[str, rules("What the provider calls the pool.")]
ProviderIDs = Annotated[list[str], rules("What the provider calls the machines of the pool.")]


class Initialization(Model):
    """Milestones of the first provisioning."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    provisioned: Annotated[
        bool | None, rules("Whether the infrastructure has been there once.")
    ] = None


Milestones = Annotated[
    Initialization, rules("Milestones of the first provisioning; they are not taken back.")
]
Addresses = Annotated[list[MachineAddress], rules("Where the machine is reached.")]
MachineFailureDomain = Annotated[
    str, rules("The failure domain that the machine is in.", min_length=1, max_length=256)
]
Capacity = Annotated[
    dict[str, Annotated[int | str, rules(pattern=QUANTITY)]],
    rules("The resources of such a machine, for autoscalers that start at zero.", form="quantity"),
]


InstanceName = Annotated[str, rules("What the pool calls the machine.")]
InstanceVersion = Annotated[str | None, rules("The Kubernetes version of the machine.")]
InstanceReady = Annotated[bool, rules("Whether the machine is ready.", zero="written")]


class PoolInstance(Model):
    """One machine of a pool, as it was seen."""

    addresses: Addresses = field(default_factory=list)
    instance_name: InstanceName = ""
    provider_id: Annotated[
        str | None, rules("What the provider calls the machine; its Node has the same.")
    ] = field(default=None, name="providerID")
    version: InstanceVersion = None
    ready: InstanceReady = False


PoolReady = Annotated[bool, rules("Whether the pool is ready.", zero="written")]
PoolReplicas = Annotated[int, rules("How many machines there are.", format="int32", zero="written")]
ObservedGeneration = Annotated[
    int, rules("The generation of the object that the status was computed from.", format="int64")
]
InfrastructureMachineKind = Annotated[
    str, rules("The kind of the objects that stand for the pool's machines.")
]
