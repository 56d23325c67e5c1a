"""DockerMachine(Template): a machine made of a container.

The API only: no controller of kapy serves these kinds.
"""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.dev_machine import MachineTemplateStatus
from kapy.api.embedded import TemplateMeta
from kapy.api.infrastructure import (
    Addresses,
    BootstrapTimeout,
    CustomImage,
    ExtraMounts,
    Initialization,
    MachineFailureDomain,
    MachineProviderID,
    Milestones,
    PreLoadImages,
)
from kapy.api.status import Conditions, Deprecated
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class DockerMachineSpec(Model):
    """What the machine should be."""

    provider_id: MachineProviderID = field(default="", name="providerID")
    custom_image: CustomImage = ""
    pre_load_images: PreLoadImages = field(default_factory=list)
    extra_mounts: ExtraMounts = field(default_factory=list)
    bootstrap_timeout: BootstrapTimeout = None


class DockerMachineStatus(Model):
    """What was seen of the machine."""

    conditions: Conditions = field(default_factory=list)
    initialization: Milestones = field(default_factory=Initialization)
    load_balancer_configured: Annotated[
        bool, rules("Whether the load balancer knows the machine.", zero="written")
    ] = False
    addresses: Addresses = field(default_factory=list)
    failure_domain: MachineFailureDomain = ""
    deprecated: Deprecated = None


class DockerMachineTemplateResource(Model):
    """What DockerMachines made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[
        DockerMachineSpec, rules("What they should be.", required=True, zero="written")
    ] = field(default_factory=DockerMachineSpec)


class DockerMachineTemplateSpec(Model):
    """What a DockerMachineTemplate holds."""

    template: Annotated[
        DockerMachineTemplateResource,
        rules("What DockerMachines look like.", required=True, zero="written"),
    ] = field(default_factory=DockerMachineTemplateResource)


class DockerMachine(Object, kw_only=True):
    """A machine made of a container. Deprecated: use a DevMachine."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "dockermachines", "DockerMachine"
    )

    spec: Annotated[DockerMachineSpec, rules("The machine as it is wanted.", zero="written")] = (
        field(default_factory=DockerMachineSpec)
    )
    status: Annotated[
        DockerMachineStatus, rules("The machine as it was seen last.", zero="written")
    ] = field(default_factory=DockerMachineStatus)


class DockerMachineTemplate(Object, kw_only=True):
    """What DockerMachines are made of. Deprecated: use a DevMachineTemplate."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "dockermachinetemplates",
        "DockerMachineTemplate",
    )

    spec: Annotated[
        DockerMachineTemplateSpec, rules("The template as it is wanted.", zero="written")
    ] = field(default_factory=DockerMachineTemplateSpec)
    status: Annotated[
        MachineTemplateStatus, rules("What is known about such machines.", zero="written")
    ] = field(default_factory=MachineTemplateStatus)
