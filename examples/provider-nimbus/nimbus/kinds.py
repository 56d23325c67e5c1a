"""What users write, and what they read: the CRDs are printed from these classes."""

from typing import Annotated, ClassVar

from kapy.sdk import (
    AGE,
    Column,
    InfraClusterSpec,
    InfraClusterStatus,
    InfraMachineSpec,
    InfraMachineStatus,
    KindRules,
    Object,
    Resource,
    Rulebook,
    resource,
    rules,
    template_of,
)
from msgspec import field

GROUP = "infrastructure.cluster.x-k8s.io"


class NimbusClusterSpec(InfraClusterSpec):
    """The infrastructure of a cluster as it is wanted."""

    region: Annotated[str, rules("Where the cluster is.", min_length=1, max_length=63)] = "north"


class NimbusCluster(Object):
    """The network of a cluster, and the address of its API server."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "NimbusCluster")

    spec: NimbusClusterSpec = field(default_factory=NimbusClusterSpec)
    status: InfraClusterStatus = field(default_factory=InfraClusterStatus)


class NimbusMachineSpec(InfraMachineSpec):
    """A machine as it is wanted."""

    size: Annotated[str, rules("How large it is.", enum=["small", "large"])] = "small"


class NimbusMachine(Object):
    """One machine."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "NimbusMachine")
    COLUMNS: ClassVar[tuple[Column, ...]] = (
        Column("Size", ".spec.size", "How large it is"),
        Column("Provider ID", ".spec.providerID", "What the cloud calls it"),
        AGE,
    )

    spec: NimbusMachineSpec = field(default_factory=NimbusMachineSpec)
    status: InfraMachineStatus = field(default_factory=InfraMachineStatus)


NimbusClusterTemplate = template_of(NimbusCluster)
NimbusMachineTemplate = template_of(NimbusMachine)
KINDS = (
    NimbusCluster,
    NimbusClusterTemplate,
    NimbusMachine,
    NimbusMachineTemplate,
)
ADMISSION = Rulebook(
    KindRules(NimbusCluster, template=NimbusClusterTemplate),
    KindRules(NimbusMachine, template=NimbusMachineTemplate),
)
"""Templates never change; rules of your own go here, too (`defaults`, `problems`)."""
