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
    provider_id: ProviderID = field(default=None, name="providerID")
    backend: Annotated[DevMachineBackendSpec, rules(required=True)] = field(
        default_factory=DevMachineBackendSpec
    )


class DevMachineStatus(OldModel):
    ready: Ready = False
    addresses: Addresses = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class DevMachineTemplateResource(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: Annotated[DevMachineSpec, rules(required=True)] = field(default_factory=DevMachineSpec)


class DevMachineTemplateSpec(OldModel):
    template: Annotated[DevMachineTemplateResource, rules(required=True)] = field(
        default_factory=DevMachineTemplateResource
    )


class DevMachine(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "devmachines", "DevMachine"
    )

    spec: DevMachineSpec = field(default_factory=DevMachineSpec)
    status: DevMachineStatus = field(default_factory=DevMachineStatus)


class DevMachineTemplate(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "devmachinetemplates", "DevMachineTemplate"
    )

    spec: DevMachineTemplateSpec = field(default_factory=DevMachineTemplateSpec)
