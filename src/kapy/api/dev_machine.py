"""DevMachine(Template): a machine for development, in memory."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.embedded import MachineAddress, TemplateMeta
from kapy.api.patterns import QUANTITY
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class Mount(Model):
    """A file or folder of the host that is mounted into a machine."""

    container_path: Annotated[str, rules("Its path in the machine.")] = ""
    host_path: Annotated[str, rules("Its path on the host.")] = ""
    read_only: Annotated[bool, rules("Whether the machine may only read it.")] = False


class DockerMachineBackendSpec(Model):
    """A machine made of a container."""

    custom_image: Annotated[str, rules("The image to run, in the place of the usual one.")] = ""
    pre_load_images: Annotated[
        list[str], rules("Images to put into the machine before it starts.")
    ] = field(default_factory=list)
    extra_mounts: Annotated[list[Mount], rules("Files and folders of the host to mount.")] = field(
        default_factory=list
    )
    bootstrap_timeout: Annotated[
        str | None, rules("How long the machine may take to set itself up.")
    ] = None


class CommonProvisioningSettings(Model):
    """How long something takes to start."""

    startup_duration: Annotated[str, rules("How long it takes.")]
    startup_jitter: Annotated[
        str, rules("Up to which part of that it takes longer, as in 0.2.")
    ] = ""


class InMemoryAPIServerSpec(Model):
    """How an API server starts."""

    provisioning: Annotated[
        CommonProvisioningSettings | None, rules("How long it takes to start.")
    ] = None


class InMemoryEtcdSpec(Model):
    """How an etcd member starts."""

    provisioning: Annotated[
        CommonProvisioningSettings | None, rules("How long it takes to start.")
    ] = None


class InMemoryNodeSpec(Model):
    """How a Node starts."""

    provisioning: Annotated[
        CommonProvisioningSettings | None, rules("How long it takes to start.")
    ] = None


class InMemoryVMSpec(Model):
    """How a virtual machine starts."""

    provisioning: Annotated[
        CommonProvisioningSettings | None, rules("How long it takes to start.")
    ] = None


class InMemoryMachineBackendSpec(Model):
    """A machine made of nothing but memory, and how long its parts take to start."""

    vm: Annotated[InMemoryVMSpec | None, rules("The virtual machine.")] = None
    node: Annotated[InMemoryNodeSpec | None, rules("The Node.")] = None
    api_server: Annotated[
        InMemoryAPIServerSpec | None, rules("The API server, on a control plane machine.")
    ] = None
    etcd: Annotated[
        InMemoryEtcdSpec | None, rules("The etcd member, on a control plane machine.")
    ] = None


class DevMachineBackendSpec(Model):
    """What the machine is made with; one of these."""

    docker: Annotated[DockerMachineBackendSpec | None, rules("A container.")] = None
    in_memory: Annotated[InMemoryMachineBackendSpec | None, rules("Nothing but memory.")] = None


class DevMachineSpec(Model):
    """What the machine should be."""

    provider_id: Annotated[
        str,
        rules(
            "What the provider calls the machine; its Node has the same.",
            min_length=1,
            max_length=512,
        ),
    ] = field(default="", name="providerID")
    backend: Annotated[
        DevMachineBackendSpec, rules("What the machine is made with.", required=True)
    ] = field(default_factory=DevMachineBackendSpec)


class DevMachineV1Beta1DeprecatedStatus(Model):
    """What v1beta1 reported of a DevMachine."""

    conditions: Annotated[
        list[V1Beta1Condition],
        rules("What can be said about the object's state, one condition for each aspect."),
    ] = field(default_factory=list)


class DevMachineDeprecatedStatus(Model):
    """What older versions of the API reported of a DevMachine."""

    v1beta1: Annotated[
        DevMachineV1Beta1DeprecatedStatus | None, rules("What v1beta1 reported.")
    ] = None


class DevMachineInitializationStatus(Model):
    """Milestones of the machine."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    provisioned: Annotated[bool | None, rules("Whether the machine has been there once.")] = None


class DevMachineStatus(Model):
    """What was seen of the machine."""

    conditions: Annotated[
        list[Condition],
        rules(
            "What can be said about the object's state, one condition for each aspect.",
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["type"],
        ),
    ] = field(default_factory=list)
    initialization: Annotated[
        DevMachineInitializationStatus,
        rules("Milestones of the first provisioning; they are not taken back."),
    ] = field(default_factory=DevMachineInitializationStatus)
    addresses: Annotated[list[MachineAddress], rules("Where the machine is reached.")] = field(
        default_factory=list
    )
    failure_domain: Annotated[
        str, rules("The failure domain that the machine is in.", min_length=1, max_length=256)
    ] = ""
    deprecated: Annotated[
        DevMachineDeprecatedStatus | None,
        rules("Values that only readers of v1beta1 still look at."),
    ] = None


class DevMachineTemplateResource(Model):
    """What DevMachines made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[DevMachineSpec, rules("What they should be.", required=True)] = field(
        default_factory=DevMachineSpec
    )


class DevMachineTemplateSpec(Model):
    """What a DevMachineTemplate holds."""

    template: Annotated[
        DevMachineTemplateResource, rules("What DevMachines look like.", required=True)
    ] = field(default_factory=DevMachineTemplateResource)


class DevMachineTemplateStatus(Model):
    """What is known about machines made of the template."""

    capacity: Annotated[
        dict[str, Annotated[int | str, rules(pattern=QUANTITY)]],
        rules("The resources of such a machine, for autoscalers that start at zero."),
    ] = field(default_factory=dict)


class DevMachine(Object, kw_only=True):
    """Infrastructure of one machine for development and tests."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachines", "DevMachine"
    )

    spec: Annotated[DevMachineSpec, rules("The machine as it is wanted.")] = field(
        default_factory=DevMachineSpec
    )
    status: Annotated[DevMachineStatus, rules("The machine as it was seen last.")] = field(
        default_factory=DevMachineStatus
    )


class DevMachineTemplate(Object, kw_only=True):
    """What DevMachines are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachinetemplates", "DevMachineTemplate"
    )

    spec: Annotated[DevMachineTemplateSpec, rules("The template as it is wanted.")] = field(
        default_factory=DevMachineTemplateSpec
    )
    status: DevMachineTemplateStatus = field(default_factory=DevMachineTemplateStatus)
