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
    container_path: str = ""
    host_path: str = ""
    read_only: bool = False


class DockerMachineBackendSpec(Model):
    custom_image: str = ""
    pre_load_images: list[str] = field(default_factory=list)
    extra_mounts: list[Mount] = field(default_factory=list)
    bootstrap_timeout: str | None = None


class CommonProvisioningSettings(Model):
    startup_duration: str
    startup_jitter: str = ""


class InMemoryAPIServerSpec(Model):
    provisioning: CommonProvisioningSettings | None = None


class InMemoryEtcdSpec(Model):
    provisioning: CommonProvisioningSettings | None = None


class InMemoryNodeSpec(Model):
    provisioning: CommonProvisioningSettings | None = None


class InMemoryVMSpec(Model):
    provisioning: CommonProvisioningSettings | None = None


class InMemoryMachineBackendSpec(Model):
    vm: InMemoryVMSpec | None = None
    node: InMemoryNodeSpec | None = None
    api_server: InMemoryAPIServerSpec | None = None
    etcd: InMemoryEtcdSpec | None = None


class DevMachineBackendSpec(Model):
    docker: DockerMachineBackendSpec | None = None
    in_memory: InMemoryMachineBackendSpec | None = None


class DevMachineSpec(Model):
    provider_id: Annotated[str, rules(min_length=1, max_length=512)] = field(
        default="", name="providerID"
    )
    backend: Annotated[DevMachineBackendSpec, rules(required=True)] = field(
        default_factory=DevMachineBackendSpec
    )


class DevMachineV1Beta1DeprecatedStatus(Model):
    conditions: list[V1Beta1Condition] = field(default_factory=list)


class DevMachineDeprecatedStatus(Model):
    v1beta1: DevMachineV1Beta1DeprecatedStatus | None = None


class DevMachineInitializationStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    provisioned: bool | None = None


class DevMachineStatus(Model):
    conditions: Annotated[
        list[Condition],
        rules(max_items=32, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["type"]),
    ] = field(default_factory=list)
    initialization: DevMachineInitializationStatus = field(
        default_factory=DevMachineInitializationStatus
    )
    addresses: list[MachineAddress] = field(default_factory=list)
    failure_domain: Annotated[str, rules(min_length=1, max_length=256)] = ""
    deprecated: DevMachineDeprecatedStatus | None = None


class DevMachineTemplateResource(Model):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: Annotated[DevMachineSpec, rules(required=True)] = field(default_factory=DevMachineSpec)


class DevMachineTemplateSpec(Model):
    template: Annotated[DevMachineTemplateResource, rules(required=True)] = field(
        default_factory=DevMachineTemplateResource
    )


class DevMachineTemplateStatus(Model):
    capacity: dict[str, Annotated[int | str, rules(pattern=QUANTITY)]] = field(default_factory=dict)


class DevMachine(Object, kw_only=True):
    """DevMachine"""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachines", "DevMachine"
    )

    spec: DevMachineSpec = field(default_factory=DevMachineSpec)
    status: DevMachineStatus = field(default_factory=DevMachineStatus)


class DevMachineTemplate(Object, kw_only=True):
    """DevMachineTemplate"""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachinetemplates", "DevMachineTemplate"
    )

    spec: DevMachineTemplateSpec = field(default_factory=DevMachineTemplateSpec)
    status: DevMachineTemplateStatus = field(default_factory=DevMachineTemplateStatus)
