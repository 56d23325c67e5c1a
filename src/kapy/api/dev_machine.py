"""DevMachine(Template): a machine for development, in memory."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import TemplateMeta
from kapy.api.infrastructure import (
    Addresses,
    BootstrapTimeout,
    Capacity,
    Container,
    Initialization,
    MachineFailureDomain,
    MachineProviderID,
    Milestones,
)
from kapy.api.status import Conditions, Deprecated
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class DockerMachineBackendSpec(Container):
    """A machine made of a container."""

    bootstrap_timeout: BootstrapTimeout = None


class CommonProvisioningSettings(Model):
    """How long something takes to start."""

    startup_duration: Annotated[
        str, rules("How long it takes.", required=True, form="duration", zero="written")
    ] = "0s"
    startup_jitter: Annotated[
        str, rules("Up to which part of that it takes longer, as in 0.2.")
    ] = ""


Provisioning = Annotated[
    CommonProvisioningSettings, rules("How long it takes to start.", zero="written")
]


class InMemoryVMSpec(Model):
    """How a virtual machine starts."""

    provisioning: Provisioning = field(default_factory=CommonProvisioningSettings)


class InMemoryNodeSpec(Model):
    """How a Node starts."""

    provisioning: Provisioning = field(default_factory=CommonProvisioningSettings)


class InMemoryAPIServerSpec(Model):
    """How an API server starts."""

    provisioning: Provisioning = field(default_factory=CommonProvisioningSettings)


class InMemoryEtcdSpec(Model):
    """How an etcd member starts."""

    provisioning: Provisioning = field(default_factory=CommonProvisioningSettings)


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

    provider_id: MachineProviderID = field(default="", name="providerID")
    backend: Annotated[
        DevMachineBackendSpec,
        rules("What the machine is made with.", required=True, zero="written"),
    ] = field(default_factory=DevMachineBackendSpec)


class DevMachineStatus(Model):
    """What was seen of the machine."""

    conditions: Conditions = field(default_factory=list)
    initialization: Milestones = field(default_factory=Initialization)
    addresses: Addresses = field(default_factory=list)
    failure_domain: MachineFailureDomain = ""
    deprecated: Deprecated = None


class DevMachineTemplateResource(Model):
    """What DevMachines made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[
        DevMachineSpec, rules("What they should be.", required=True, zero="written")
    ] = field(default_factory=DevMachineSpec)


class DevMachineTemplateSpec(Model):
    """What a DevMachineTemplate holds."""

    template: Annotated[
        DevMachineTemplateResource,
        rules("What DevMachines look like.", required=True, zero="written"),
    ] = field(default_factory=DevMachineTemplateResource)


class MachineTemplateStatus(Model):
    """What is known about machines made of the template."""

    capacity: Capacity = field(default_factory=dict)


class DevMachine(Object, kw_only=True):
    """Infrastructure of one machine for development and tests."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachines", "DevMachine"
    )

    spec: Annotated[DevMachineSpec, rules("The machine as it is wanted.", zero="written")] = field(
        default_factory=DevMachineSpec
    )
    status: Annotated[
        DevMachineStatus, rules("The machine as it was seen last.", zero="written")
    ] = field(default_factory=DevMachineStatus)


class DevMachineTemplate(Object, kw_only=True):
    """What DevMachines are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachinetemplates", "DevMachineTemplate"
    )

    spec: Annotated[
        DevMachineTemplateSpec, rules("The template as it is wanted.", zero="written")
    ] = field(default_factory=DevMachineTemplateSpec)
    status: Annotated[
        MachineTemplateStatus, rules("What is known about such machines.", zero="written")
    ] = field(default_factory=MachineTemplateStatus)
