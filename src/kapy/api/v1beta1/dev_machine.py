"""DevMachine(Template) as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.dev_machine import DevMachineBackendSpec
from kapy.api.v1beta1.embedded import OldConditions, TemplateMeta, V1Beta2
from kapy.api.v1beta1.infrastructure import Addresses, ProviderID, Ready
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class DevMachineSpec(OldModel):
    """What the machine should be."""

    provider_id: ProviderID = field(default=None, name="providerID")
    backend: Annotated[
        DevMachineBackendSpec, rules("What the machine is made with.", required=True)
    ] = field(default_factory=DevMachineBackendSpec)


class DevMachineStatus(OldModel):
    """What was seen of the machine."""

    ready: Ready = False
    addresses: Addresses = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class DevMachineTemplateResource(OldModel):
    """What DevMachines made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[DevMachineSpec, rules("What they should be.", required=True)] = field(
        default_factory=DevMachineSpec
    )


class DevMachineTemplateSpec(OldModel):
    """What a DevMachineTemplate holds."""

    template: Annotated[
        DevMachineTemplateResource, rules("What DevMachines look like.", required=True)
    ] = field(default_factory=DevMachineTemplateResource)


class DevMachine(OldObject, kw_only=True):
    """Infrastructure of one machine for development and tests."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "devmachines", "DevMachine"
    )

    spec: Annotated[DevMachineSpec, rules("The machine as it is wanted.")] = field(
        default_factory=DevMachineSpec
    )
    status: Annotated[DevMachineStatus, rules("The machine as it was seen last.")] = field(
        default_factory=DevMachineStatus
    )


class DevMachineTemplate(OldObject, kw_only=True):
    """What DevMachines are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "devmachinetemplates", "DevMachineTemplate"
    )

    spec: Annotated[DevMachineTemplateSpec, rules("The template as it is wanted.")] = field(
        default_factory=DevMachineTemplateSpec
    )
