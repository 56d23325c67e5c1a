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
    """DockerMachineBackendSpec configures a machine that is a container."""

    bootstrap_timeout: BootstrapTimeout = None


class CommonProvisioningSettings(Model):
    """CommonProvisioningSettings configures how long the simulated start of a component takes."""

    startup_duration: Annotated[
        str,
        rules(
            "startupDuration is the time from the start of the component until it is ready, "
            "as a duration, for example 10s.",
            required=True,
            form="duration",
            zero="written",
        ),
    ] = "0s"
    startup_jitter: Annotated[
        str,
        rules(
            "startupJitter is the largest random fraction of startupDuration by which the "
            "start takes longer, for example 0.2 for up to 20 percent."
        ),
    ] = ""


Provisioning = Annotated[
    CommonProvisioningSettings,
    rules(
        "provisioning configures how long the simulated start of the component takes. If "
        "it is not set, the component starts at once.",
        zero="written",
    ),
]


class InMemoryVMSpec(Model):
    """InMemoryVMSpec configures the simulated virtual machine."""

    provisioning: Provisioning = field(default_factory=CommonProvisioningSettings)


class InMemoryNodeSpec(Model):
    """InMemoryNodeSpec configures the simulated Node."""

    provisioning: Provisioning = field(default_factory=CommonProvisioningSettings)


class InMemoryAPIServerSpec(Model):
    """InMemoryAPIServerSpec configures the simulated API server of a control plane machine."""

    provisioning: Provisioning = field(default_factory=CommonProvisioningSettings)


class InMemoryEtcdSpec(Model):
    """InMemoryEtcdSpec configures the simulated etcd member of a control plane machine."""

    provisioning: Provisioning = field(default_factory=CommonProvisioningSettings)


class InMemoryMachineBackendSpec(Model):
    """InMemoryMachineBackendSpec configures a machine that is simulated in memory. A component
    that is not set starts at once.
    """

    vm: Annotated[
        InMemoryVMSpec | None,
        rules("vm configures the simulated virtual machine. The other components start after it."),
    ] = None
    node: Annotated[
        InMemoryNodeSpec | None,
        rules(
            "node configures the simulated Node, which registers after the virtual machine "
            "has started."
        ),
    ] = None
    api_server: Annotated[
        InMemoryAPIServerSpec | None,
        rules(
            "apiServer configures the simulated API server. It is used for control plane "
            "machines only."
        ),
    ] = None
    etcd: Annotated[
        InMemoryEtcdSpec | None,
        rules(
            "etcd configures the simulated etcd member. It is used for control plane machines only."
        ),
    ] = None


class DevMachineBackendSpec(Model):
    """DevMachineBackendSpec selects the backend of a machine. Exactly one field should be set."""

    docker: Annotated[
        DockerMachineBackendSpec | None,
        rules(
            "docker configures a machine that is a container. It defaults to an empty "
            "configuration if no backend is set."
        ),
    ] = None
    in_memory: Annotated[
        InMemoryMachineBackendSpec | None,
        rules("inMemory configures a machine that is simulated in memory."),
    ] = None


class DevMachineSpec(Model):
    """DevMachineSpec is the desired state of a DevMachine."""

    provider_id: MachineProviderID = field(default="", name="providerID")
    backend: Annotated[
        DevMachineBackendSpec,
        rules(
            "backend selects the backend of the machine. Defaults to docker.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DevMachineBackendSpec)


class DevMachineStatus(Model):
    """DevMachineStatus is the observed state of a DevMachine."""

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the DevMachine's current state. Types are "
            "Ready and Paused. The docker backend adds ContainerProvisioned, CGroupsReady, "
            "PreLoadedImagesReady and BootstrapCompleted. The inMemory backend adds "
            "VMProvisioned, NodeProvisioned, APIServerProvisioned and EtcdProvisioned."
        ),
    ] = field(default_factory=list)
    initialization: Milestones = field(default_factory=Initialization)
    addresses: Addresses = field(default_factory=list)
    failure_domain: MachineFailureDomain = ""
    deprecated: Deprecated = None


class DevMachineTemplateResource(Model):
    """DevMachineTemplateResource describes the DevMachines that are created from a template."""

    metadata: Annotated[
        TemplateMeta, rules("metadata are the labels and annotations of the DevMachines.")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        DevMachineSpec,
        rules(
            "spec is the desired state of the DevMachines. This field is immutable. To roll "
            "out new machines, create another template and refer to it.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DevMachineSpec)


class DevMachineTemplateSpec(Model):
    """DevMachineTemplateSpec is the desired state of a DevMachineTemplate."""

    template: Annotated[
        DevMachineTemplateResource,
        rules(
            "template describes the DevMachines that are created. Its spec is immutable.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DevMachineTemplateResource)


class MachineTemplateStatus(Model):
    """MachineTemplateStatus is the observed state of a template of machines."""

    capacity: Capacity = field(default_factory=dict)


class DevMachine(Object, kw_only=True):
    """DevMachine is the infrastructure of one machine for development and tests. It is a
    container or is simulated in memory.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachines", "DevMachine"
    )

    spec: Annotated[
        DevMachineSpec, rules("spec is the desired state of the DevMachine.", zero="written")
    ] = field(default_factory=DevMachineSpec)
    status: Annotated[
        DevMachineStatus,
        rules(
            "status is the observed state of the DevMachine. The infrastructure provider "
            "writes it.",
            zero="written",
        ),
    ] = field(default_factory=DevMachineStatus)


class DevMachineTemplate(Object, kw_only=True):
    """DevMachineTemplate is a template from which DevMachines are created."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachinetemplates", "DevMachineTemplate"
    )

    spec: Annotated[
        DevMachineTemplateSpec,
        rules("spec is the desired state of the DevMachineTemplate.", zero="written"),
    ] = field(default_factory=DevMachineTemplateSpec)
    status: Annotated[
        MachineTemplateStatus,
        rules(
            "status is the observed state of the DevMachineTemplate. The infrastructure "
            "provider writes it.",
            zero="written",
        ),
    ] = field(default_factory=MachineTemplateStatus)
