"""DockerMachinePool(Template) as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.docker_machine_pool import Bootstrapped, DockerMachinePoolSpec
from kapy.api.infrastructure import (
    InfrastructureMachineKind,
    InstanceName,
    InstanceReady,
    InstanceVersion,
    ObservedGeneration,
    PoolReady,
    PoolReplicas,
)
from kapy.api.v1beta1.embedded import OldConditions, TemplateMeta
from kapy.api.v1beta1.infrastructure import Addresses, ProviderID
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class DockerPoolInstance(OldModel):
    addresses: Addresses = field(default_factory=list)
    instance_name: InstanceName = ""
    provider_id: ProviderID = field(default=None, name="providerID")
    version: InstanceVersion = None
    ready: InstanceReady = False
    bootstrapped: Bootstrapped = False


class DockerMachinePoolStatus(OldModel):
    ready: PoolReady = False
    replicas: PoolReplicas = 0
    observed_generation: ObservedGeneration = 0
    instances: list[DockerPoolInstance] = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    infrastructure_machine_kind: InfrastructureMachineKind = ""


class DockerMachinePoolTemplateResource(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: Annotated[DockerMachinePoolSpec, rules(required=True)] = field(
        default_factory=DockerMachinePoolSpec
    )


class DockerMachinePoolTemplateSpec(OldModel):
    template: Annotated[
        DockerMachinePoolTemplateResource,
        rules(required=True),
    ] = field(default_factory=DockerMachinePoolTemplateResource)


class DockerMachinePool(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "dockermachinepools", "DockerMachinePool"
    )

    spec: DockerMachinePoolSpec = field(default_factory=DockerMachinePoolSpec)
    status: DockerMachinePoolStatus = field(default_factory=DockerMachinePoolStatus)


class DockerMachinePoolTemplate(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "dockermachinepooltemplates",
        "DockerMachinePoolTemplate",
    )

    spec: DockerMachinePoolTemplateSpec = field(default_factory=DockerMachinePoolTemplateSpec)
