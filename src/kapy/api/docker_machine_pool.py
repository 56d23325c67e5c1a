"""DockerMachinePool(Template): a group of machines that are containers, in one object.

`kapy.providers.docker` reconciles these kinds.
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
    """DockerMachinePoolSpec is the desired state of a DockerMachinePool."""

    template: Annotated[
        Container,
        rules(
            "template configures the containers of the pool. A change of customImage "
            "replaces the machines by a rollout.",
            zero="written",
        ),
    ] = field(default_factory=Container)
    provider_id: PoolProviderID = field(default="", name="providerID")
    provider_id_list: ProviderIDs = field(default_factory=list, name="providerIDList")


Bootstrapped = Annotated[
    bool,
    rules(
        "bootstrapped tells whether the bootstrap commands of the machine have "
        "succeeded. It is deprecated."
    ),
]


class DockerPoolInstance(PoolInstance):
    """DockerPoolInstance is the observed state of one machine of a pool of containers."""

    bootstrapped: Bootstrapped = False


class DockerMachinePoolStatus(Model):
    """DockerMachinePoolStatus is the observed state of a DockerMachinePool."""

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the DockerMachinePool's current state. Types "
            "are Ready, ReplicasReady and Paused."
        ),
    ] = field(default_factory=list)
    ready: PoolReady = False
    replicas: PoolReplicas = 0
    observed_generation: ObservedGeneration = 0
    instances: Annotated[
        list[DockerPoolInstance], rules("instances are the observed machines of the pool.")
    ] = field(default_factory=list)
    infrastructure_machine_kind: InfrastructureMachineKind = ""
    deprecated: Deprecated = None


class DockerMachinePoolTemplateResource(Model):
    """DockerMachinePoolTemplateResource describes the DockerMachinePools that are created from
    a template.
    """

    metadata: Annotated[
        TemplateMeta, rules("metadata are the labels and annotations of the DockerMachinePools.")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        DockerMachinePoolSpec,
        rules(
            "spec is the desired state of the DockerMachinePools.", required=True, zero="written"
        ),
    ] = field(default_factory=DockerMachinePoolSpec)


class DockerMachinePoolTemplateSpec(Model):
    """DockerMachinePoolTemplateSpec is the desired state of a DockerMachinePoolTemplate."""

    template: Annotated[
        DockerMachinePoolTemplateResource,
        rules(
            "template describes the DockerMachinePools that are created.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DockerMachinePoolTemplateResource)


class DockerMachinePool(Object, kw_only=True):
    """DockerMachinePool is a pool of machines that are containers. It is deprecated. Use
    DevMachinePool instead.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "dockermachinepools", "DockerMachinePool"
    )

    spec: Annotated[
        DockerMachinePoolSpec,
        rules("spec is the desired state of the DockerMachinePool.", zero="written"),
    ] = field(default_factory=DockerMachinePoolSpec)
    status: Annotated[
        DockerMachinePoolStatus,
        rules(
            "status is the observed state of the DockerMachinePool. The infrastructure "
            "provider writes it.",
            zero="written",
        ),
    ] = field(default_factory=DockerMachinePoolStatus)


class DockerMachinePoolTemplate(Object, kw_only=True):
    """DockerMachinePoolTemplate is a template from which DockerMachinePools are created. It is
    deprecated. Use DevMachinePoolTemplate instead.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "dockermachinepooltemplates",
        "DockerMachinePoolTemplate",
    )

    spec: Annotated[
        DockerMachinePoolTemplateSpec,
        rules("spec is the desired state of the DockerMachinePoolTemplate.", zero="written"),
    ] = field(default_factory=DockerMachinePoolTemplateSpec)
