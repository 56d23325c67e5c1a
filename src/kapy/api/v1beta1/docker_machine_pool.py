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
    """One machine of a pool of containers, as it was seen."""

    addresses: Addresses = field(default_factory=list)
    instance_name: InstanceName = ""
    provider_id: ProviderID = field(default=None, name="providerID")
    version: InstanceVersion = None
    ready: InstanceReady = False
    bootstrapped: Bootstrapped = False


class DockerMachinePoolStatus(OldModel):
    """What was seen of the pool."""

    ready: PoolReady = False
    replicas: PoolReplicas = 0
    observed_generation: ObservedGeneration = 0
    instances: Annotated[list[DockerPoolInstance], rules("The machines of the pool.")] = field(
        default_factory=list
    )
    conditions: OldConditions = field(default_factory=list)
    infrastructure_machine_kind: InfrastructureMachineKind = ""


class DockerMachinePoolTemplateResource(OldModel):
    """What DockerMachinePools made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[DockerMachinePoolSpec, rules("What they should be.", required=True)] = field(
        default_factory=DockerMachinePoolSpec
    )


class DockerMachinePoolTemplateSpec(OldModel):
    """What a DockerMachinePoolTemplate holds."""

    template: Annotated[
        DockerMachinePoolTemplateResource,
        rules("What DockerMachinePools look like.", required=True),
    ] = field(default_factory=DockerMachinePoolTemplateResource)


class DockerMachinePool(OldObject, kw_only=True):
    """A pool of machines made of containers. Deprecated: use a DevMachinePool."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "dockermachinepools", "DockerMachinePool"
    )

    spec: Annotated[DockerMachinePoolSpec, rules("The pool as it is wanted.")] = field(
        default_factory=DockerMachinePoolSpec
    )
    status: Annotated[DockerMachinePoolStatus, rules("The pool as it was seen last.")] = field(
        default_factory=DockerMachinePoolStatus
    )


class DockerMachinePoolTemplate(OldObject, kw_only=True):
    """What DockerMachinePools are made of. Deprecated: use a DevMachinePoolTemplate."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "dockermachinepooltemplates",
        "DockerMachinePoolTemplate",
    )

    spec: Annotated[DockerMachinePoolTemplateSpec, rules("The template as it is wanted.")] = field(
        default_factory=DockerMachinePoolTemplateSpec
    )
