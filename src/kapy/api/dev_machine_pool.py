"""DevMachinePool(Template): a group of machines for development, in one object.

Upstream's kind supports containers only. Simulated machines are kapy's addition, and so is
`status.initialization`, with which the contract reports that the pool is provisioned.
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
    """DevMachinePoolBackendSpec selects the backend of the machines of a pool. Exactly one
    field should be set.
    """

    docker: Annotated[
        Container | None, rules("docker configures machines that are containers.")
    ] = None
    in_memory: Annotated[
        InMemoryMachineBackendSpec | None,
        rules("inMemory configures machines that are simulated in memory."),
    ] = None


class DevMachinePoolSpec(Model):
    """DevMachinePoolSpec is the desired state of a DevMachinePool."""

    provider_id: PoolProviderID = field(default="", name="providerID")
    provider_id_list: ProviderIDs = field(default_factory=list, name="providerIDList")
    backend: Annotated[
        DevMachinePoolBackendSpec,
        rules(
            "backend selects the backend of the machines of the pool. With docker a change "
            "of customImage replaces the machines by a rollout.",
            zero="written",
        ),
    ] = field(default_factory=DevMachinePoolBackendSpec)


class DevMachinePoolStatus(Model):
    """DevMachinePoolStatus is the observed state of a DevMachinePool."""

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the DevMachinePool's current state. Types "
            "are Ready, ReplicasReady and Paused."
        ),
    ] = field(default_factory=list)
    initialization: Milestones = field(default_factory=Initialization)
    ready: PoolReady = False
    replicas: PoolReplicas = 0
    observed_generation: ObservedGeneration = 0
    infrastructure_machine_kind: InfrastructureMachineKind = ""
    instances: Annotated[
        list[PoolInstance], rules("instances are the observed machines of the pool.")
    ] = field(default_factory=list)


class DevMachinePoolTemplateResource(Model):
    """DevMachinePoolTemplateResource describes the DevMachinePools that are created from a
    template.
    """

    metadata: Annotated[
        TemplateMeta, rules("metadata are the labels and annotations of the DevMachinePools.")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        DevMachinePoolSpec,
        rules("spec is the desired state of the DevMachinePools.", required=True, zero="written"),
    ] = field(default_factory=DevMachinePoolSpec)


class DevMachinePoolTemplateSpec(Model):
    """DevMachinePoolTemplateSpec is the desired state of a DevMachinePoolTemplate."""

    template: Annotated[
        DevMachinePoolTemplateResource,
        rules(
            "template describes the DevMachinePools that are created.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DevMachinePoolTemplateResource)


class DevMachinePool(Object, kw_only=True):
    """DevMachinePool is the infrastructure of a pool of machines for development and tests.
    The machines are containers or are simulated in memory.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devmachinepools", "DevMachinePool"
    )

    spec: Annotated[
        DevMachinePoolSpec,
        rules("spec is the desired state of the DevMachinePool.", zero="written"),
    ] = field(default_factory=DevMachinePoolSpec)
    status: Annotated[
        DevMachinePoolStatus,
        rules(
            "status is the observed state of the DevMachinePool. The infrastructure provider "
            "writes it.",
            zero="written",
        ),
    ] = field(default_factory=DevMachinePoolStatus)


class DevMachinePoolTemplate(Object, kw_only=True):
    """DevMachinePoolTemplate is a template from which DevMachinePools are created.
    ClusterClasses refer to it.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "devmachinepooltemplates",
        "DevMachinePoolTemplate",
    )

    spec: Annotated[
        DevMachinePoolTemplateSpec,
        rules("spec is the desired state of the DevMachinePoolTemplate.", zero="written"),
    ] = field(default_factory=DevMachinePoolTemplateSpec)
