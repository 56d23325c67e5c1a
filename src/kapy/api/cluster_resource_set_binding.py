"""ClusterResourceSetBinding: what ClusterResourceSets have put into one cluster."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_resource_set import SourceKind, SourceName
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

Hash = Annotated[
    str,
    rules("A hash of the source when it was applied last.", min_length=1, max_length=256),
]
LastAppliedTime = Annotated[
    str | None, rules("When it was last tried to apply the source.", format="date-time")
]
SetName = Annotated[str, rules("The ClusterResourceSet's name.", min_length=1, max_length=253)]


class ResourceBinding(Model, kw_only=True):
    """What became of one source in the cluster."""

    name: SourceName
    kind: SourceKind
    hash: Hash = ""
    last_applied_time: LastAppliedTime = None
    applied: Annotated[
        bool, rules("Whether all of the source's objects are in the cluster.", zero="kept")
    ]


class ResourceSetBinding(Model):
    """What became of one ClusterResourceSet in the cluster."""

    cluster_resource_set_name: SetName
    resources: Annotated[
        list[ResourceBinding],
        rules(
            "What became of each of its sources.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ClusterResourceSetBindingSpec(Model, kw_only=True):
    """What is in one cluster."""

    bindings: Annotated[
        list[ResourceSetBinding],
        rules(
            "What became of each ClusterResourceSet that selects the cluster.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    cluster_name: Annotated[str, rules("The Cluster's name.", min_length=1, max_length=63)]


class ClusterResourceSetBinding(Object, kw_only=True):
    """Tells what ClusterResourceSets have put into one cluster."""

    RESOURCE: ClassVar[Resource] = Resource(
        "addons.cluster.x-k8s.io",
        "v1beta2",
        "clusterresourcesetbindings",
        "ClusterResourceSetBinding",
    )

    spec: Annotated[ClusterResourceSetBindingSpec, rules("What is in the cluster.")]
