"""DockerMachine(Template) as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.infrastructure import BootstrapTimeout, CustomImage, ExtraMounts, PreLoadImages
from kapy.api.v1beta1.embedded import OldConditions, TemplateMeta, V1Beta2
from kapy.api.v1beta1.infrastructure import Addresses, ProviderID, Ready
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class DockerMachineSpec(OldModel):
    provider_id: ProviderID = field(default=None, name="providerID")
    custom_image: CustomImage = ""
    pre_load_images: PreLoadImages = field(default_factory=list)
    extra_mounts: ExtraMounts = field(default_factory=list)
    bootstrap_timeout: BootstrapTimeout = None


class DockerMachineStatus(OldModel):
    ready: Ready = False
    load_balancer_configured: Annotated[bool, rules(zero="written")] = False
    addresses: Addresses = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class DockerMachineTemplateResource(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: Annotated[DockerMachineSpec, rules(required=True)] = field(
        default_factory=DockerMachineSpec
    )


class DockerMachineTemplateSpec(OldModel):
    template: Annotated[DockerMachineTemplateResource, rules(required=True)] = field(
        default_factory=DockerMachineTemplateResource
    )


class DockerMachine(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "dockermachines", "DockerMachine"
    )

    spec: DockerMachineSpec = field(default_factory=DockerMachineSpec)
    status: DockerMachineStatus = field(default_factory=DockerMachineStatus)


class DockerMachineTemplate(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "dockermachinetemplates",
        "DockerMachineTemplate",
    )

    spec: DockerMachineTemplateSpec = field(default_factory=DockerMachineTemplateSpec)
