"""DevMachinePool(Template): machines for development that one object stands for.

Upstream's knows containers only. Machines made of memory are kapy's addition, and so is
`status.initialization`, by which the contract tells that the pool is there.
"""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.dev_machine import InMemoryMachineBackendSpec
from kapy.api.embedded import TemplateMeta
from kapy.api.infrastructure import (
    Container,
    InfrastructureMachineKind,
    Initialization,
    Milestones,
    ObservedGeneration,
    PoolInstance,
    PoolProviderID,
    PoolReady,
    PoolReplicas,
    ProviderIDs,
)
from kapy.api.status import Conditions
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class DevMachinePoolBackendSpec(Model):
    """What the machines are made with; one of these."""

    docker: Annotated[Container | None, rules("Containers.")] = None
    in_memory: Annotated[
        InMemoryMachineBackendSpec | None,
        rules("Nothing but memory, and how long its parts take to start."),
    ] = None


class DevMachinePoolSpec(Model):
    """What the pool should be."""

    provider_id: PoolProviderID = field(default="", name="providerID")
    provider_id_list: ProviderIDs = field(default_factory=list, name="providerIDList")
    backend: Annotated[
        DevMachinePoolBackendSpec, rules("What the machines are made with.", zero="written")
    ] = field(default_factory=DevMachinePoolBackendSpec)


class DevMachinePoolStatus(Model):
    """What was seen of the pool."""

    conditions: Conditions = field(default_factory=list)
    initialization: Milestones = field(default_factory=Initialization)
    ready: PoolReady = False
    replicas: PoolReplicas = 0
    observed_generation: ObservedGeneration = 0
    infrastructure_machine_kind: InfrastructureMachineKind = ""
    instances: Annotated[list[PoolInstance], rules("The machines of the pool.")] = field(
        default_factory=list
    )


class DevMachinePoolTemplateResource(Model):
    """What DevMachinePools made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[
        DevMachinePoolSpec, rules("What they should be.", required=True, zero="written")
    ] = field(default_factory=DevMachinePoolSpec)


class DevMachinePoolTemplateSpec(Model):
    """What a DevMachinePoolTemplate holds."""

    template: Annotated[
        DevMachinePoolTemplateResource,
        rules("What DevMachinePools look like.", required=True, zero="written"),
    ] = field(default_factory=DevMachinePoolTemplateResource)


class DevMachinePool(Object, kw_only=True):
    """Infrastructure of a pool of machines for development and tests."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachinepools", "DevMachinePool"
    )

    spec: Annotated[DevMachinePoolSpec, rules("The pool as it is wanted.", zero="written")] = field(
        default_factory=DevMachinePoolSpec
    )
    status: Annotated[
        DevMachinePoolStatus, rules("The pool as it was seen last.", zero="written")
    ] = field(default_factory=DevMachinePoolStatus)


class DevMachinePoolTemplate(Object, kw_only=True):
    """What DevMachinePools are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "devmachinepooltemplates",
        "DevMachinePoolTemplate",
    )

    spec: Annotated[
        DevMachinePoolTemplateSpec, rules("The template as it is wanted.", zero="written")
    ] = field(default_factory=DevMachinePoolTemplateSpec)
