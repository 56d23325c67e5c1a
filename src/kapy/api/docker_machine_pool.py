"""DockerMachinePool(Template): machines made of containers that one object stands for.

The API only: no controller of kapy serves these kinds.
"""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import TemplateMeta
from kapy.api.infrastructure import (
    Container,
    InfrastructureMachineKind,
    ObservedGeneration,
    PoolInstance,
    PoolProviderID,
    PoolReady,
    PoolReplicas,
    ProviderIDs,
)
from kapy.api.status import Conditions, Deprecated
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class DockerMachinePoolSpec(Model):
    """What the pool should be."""

    template: Annotated[Container, rules("What its machines are made of.", zero="written")] = field(
        default_factory=Container
    )
    provider_id: PoolProviderID = field(default="", name="providerID")
    provider_id_list: ProviderIDs = field(default_factory=list, name="providerIDList")


Bootstrapped = Annotated[bool, rules("Whether the machine has set itself up. Deprecated.")]


class DockerPoolInstance(PoolInstance):
    """One machine of a pool of containers, as it was seen."""

    bootstrapped: Bootstrapped = False


class DockerMachinePoolStatus(Model):
    """What was seen of the pool."""

    conditions: Conditions = field(default_factory=list)
    ready: PoolReady = False
    replicas: PoolReplicas = 0
    observed_generation: ObservedGeneration = 0
    instances: Annotated[list[DockerPoolInstance], rules("The machines of the pool.")] = field(
        default_factory=list
    )
    infrastructure_machine_kind: InfrastructureMachineKind = ""
    deprecated: Deprecated = None


class DockerMachinePoolTemplateResource(Model):
    """What DockerMachinePools made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[
        DockerMachinePoolSpec, rules("What they should be.", required=True, zero="written")
    ] = field(default_factory=DockerMachinePoolSpec)


class DockerMachinePoolTemplateSpec(Model):
    """What a DockerMachinePoolTemplate holds."""

    template: Annotated[
        DockerMachinePoolTemplateResource,
        rules("What DockerMachinePools look like.", required=True, zero="written"),
    ] = field(default_factory=DockerMachinePoolTemplateResource)


class DockerMachinePool(Object, kw_only=True):
    """A pool of machines made of containers. Deprecated: use a DevMachinePool."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "dockermachinepools", "DockerMachinePool"
    )

    spec: Annotated[DockerMachinePoolSpec, rules("The pool as it is wanted.", zero="written")] = (
        field(default_factory=DockerMachinePoolSpec)
    )
    status: Annotated[
        DockerMachinePoolStatus, rules("The pool as it was seen last.", zero="written")
    ] = field(default_factory=DockerMachinePoolStatus)


class DockerMachinePoolTemplate(Object, kw_only=True):
    """What DockerMachinePools are made of. Deprecated: use a DevMachinePoolTemplate."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "dockermachinepooltemplates",
        "DockerMachinePoolTemplate",
    )

    spec: Annotated[
        DockerMachinePoolTemplateSpec, rules("The template as it is wanted.", zero="written")
    ] = field(default_factory=DockerMachinePoolTemplateSpec)
