"""DockerMachine(Template): a machine that is a container.

`kapy.providers.docker` reconciles these kinds.
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
    """DockerMachineSpec is the desired state of a DockerMachine."""

    provider_id: MachineProviderID = field(default="", name="providerID")
    custom_image: CustomImage = ""
    pre_load_images: PreLoadImages = field(default_factory=list)
    extra_mounts: ExtraMounts = field(default_factory=list)
    bootstrap_timeout: BootstrapTimeout = None


class DockerMachineStatus(Model):
    """DockerMachineStatus is the observed state of a DockerMachine."""

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the DockerMachine's current state. Types are "
            "Ready, ContainerProvisioned, CGroupsReady, PreLoadedImagesReady, "
            "BootstrapCompleted and Paused."
        ),
    ] = field(default_factory=list)
    initialization: Milestones = field(default_factory=Initialization)
    load_balancer_configured: Annotated[
        bool,
        rules(
            "loadBalancerConfigured tells whether the load balancer of the cluster forwards "
            "requests to this control plane machine.",
            zero="written",
        ),
    ] = False
    addresses: Addresses = field(default_factory=list)
    failure_domain: MachineFailureDomain = ""
    deprecated: Deprecated = None


class DockerMachineTemplateResource(Model):
    """DockerMachineTemplateResource describes the DockerMachines that are created from a
    template.
    """

    metadata: Annotated[
        TemplateMeta, rules("metadata are the labels and annotations of the DockerMachines.")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        DockerMachineSpec,
        rules(
            "spec is the desired state of the DockerMachines. This field is immutable. To "
            "roll out new machines, create another template and refer to it.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DockerMachineSpec)


class DockerMachineTemplateSpec(Model):
    """DockerMachineTemplateSpec is the desired state of a DockerMachineTemplate."""

    template: Annotated[
        DockerMachineTemplateResource,
        rules(
            "template describes the DockerMachines that are created. Its spec is immutable.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DockerMachineTemplateResource)


class DockerMachine(Object, kw_only=True):
    """DockerMachine is a machine that is a container. It is deprecated. Use DevMachine instead."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "dockermachines", "DockerMachine"
    )

    spec: Annotated[
        DockerMachineSpec, rules("spec is the desired state of the DockerMachine.", zero="written")
    ] = field(default_factory=DockerMachineSpec)
    status: Annotated[
        DockerMachineStatus,
        rules(
            "status is the observed state of the DockerMachine. The infrastructure provider "
            "writes it.",
            zero="written",
        ),
    ] = field(default_factory=DockerMachineStatus)


class DockerMachineTemplate(Object, kw_only=True):
    """DockerMachineTemplate is a template from which DockerMachines are created. It is
    deprecated. Use DevMachineTemplate instead.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "dockermachinetemplates",
        "DockerMachineTemplate",
    )

    spec: Annotated[
        DockerMachineTemplateSpec,
        rules("spec is the desired state of the DockerMachineTemplate.", zero="written"),
    ] = field(default_factory=DockerMachineTemplateSpec)
    status: Annotated[
        MachineTemplateStatus,
        rules(
            "status is the observed state of the DockerMachineTemplate. The infrastructure "
            "provider writes it.",
            zero="written",
        ),
    ] = field(default_factory=MachineTemplateStatus)
