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
    """What the machine should be."""

    provider_id: ProviderID = field(default=None, name="providerID")
    custom_image: CustomImage = ""
    pre_load_images: PreLoadImages = field(default_factory=list)
    extra_mounts: ExtraMounts = field(default_factory=list)
    bootstrap_timeout: BootstrapTimeout = None


class DockerMachineStatus(OldModel):
    """What was seen of the machine."""

    ready: Ready = False
    load_balancer_configured: Annotated[
        bool, rules("Whether the load balancer knows the machine.", zero="written")
    ] = False
    addresses: Addresses = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class DockerMachineTemplateResource(OldModel):
    """What DockerMachines made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[DockerMachineSpec, rules("What they should be.", required=True)] = field(
        default_factory=DockerMachineSpec
    )


class DockerMachineTemplateSpec(OldModel):
    """What a DockerMachineTemplate holds."""

    template: Annotated[
        DockerMachineTemplateResource, rules("What DockerMachines look like.", required=True)
    ] = field(default_factory=DockerMachineTemplateResource)


class DockerMachine(OldObject, kw_only=True):
    """A machine made of a container. Deprecated: use a DevMachine."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "dockermachines", "DockerMachine"
    )

    spec: Annotated[DockerMachineSpec, rules("The machine as it is wanted.")] = field(
        default_factory=DockerMachineSpec
    )
    status: Annotated[DockerMachineStatus, rules("The machine as it was seen last.")] = field(
        default_factory=DockerMachineStatus
    )


class DockerMachineTemplate(OldObject, kw_only=True):
    """What DockerMachines are made of. Deprecated: use a DevMachineTemplate."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "dockermachinetemplates",
        "DockerMachineTemplate",
    )

    spec: Annotated[DockerMachineTemplateSpec, rules("The template as it is wanted.")] = field(
        default_factory=DockerMachineTemplateSpec
    )
