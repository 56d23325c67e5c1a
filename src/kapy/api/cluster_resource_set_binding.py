"""ClusterResourceSetBinding: the record of what ClusterResourceSets applied to one cluster."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_resource_set import SourceKind, SourceName
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

Hash = Annotated[
    str,
    rules(
        "hash is a hash of the content of the source when it was applied last. A "
        "different hash causes another application with the strategy Reconcile.",
        min_length=1,
        max_length=256,
    ),
]
LastAppliedTime = Annotated[
    str | None,
    rules(
        "lastAppliedTime is the time at which the source was applied last, successfully or not.",
        format="date-time",
    ),
]
SetName = Annotated[
    str,
    rules(
        "clusterResourceSetName is the name of the ClusterResourceSet in the same namespace.",
        min_length=1,
        max_length=253,
    ),
]


class ResourceBinding(Model, kw_only=True):
    """ResourceBinding is the result of the application of one source to the cluster."""

    name: SourceName
    kind: SourceKind
    hash: Hash = ""
    last_applied_time: LastAppliedTime = None
    applied: Annotated[
        bool,
        rules(
            "applied tells whether all objects of the source have been applied successfully.",
            zero="kept",
        ),
    ]


class ResourceSetBinding(Model):
    """ResourceSetBinding is the result of the application of one ClusterResourceSet to the
    cluster.
    """

    cluster_resource_set_name: SetName
    resources: Annotated[
        list[ResourceBinding],
        rules(
            "resources are the results for each source of the ClusterResourceSet. At most "
            "100 are stored.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ClusterResourceSetBindingSpec(Model, kw_only=True):
    """ClusterResourceSetBindingSpec is the record of what was applied to one cluster."""

    bindings: Annotated[
        list[ResourceSetBinding],
        rules(
            "bindings are the results for each ClusterResourceSet that selects the cluster. "
            "At most 100 are stored.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    cluster_name: Annotated[
        str,
        rules(
            "clusterName is the name of the Cluster to which the objects are applied. It "
            "equals the name of the ClusterResourceSetBinding. This field is immutable.",
            min_length=1,
            max_length=63,
        ),
    ]


class ClusterResourceSetBinding(Object, kw_only=True):
    """ClusterResourceSetBinding records which objects of ClusterResourceSets have been applied
    to one cluster. The ClusterResourceSet controller creates it.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "addons.cluster.x-k8s.io",
        "v1beta2",
        "clusterresourcesetbindings",
        "ClusterResourceSetBinding",
    )

    spec: Annotated[
        ClusterResourceSetBindingSpec,
        rules(
            "spec is the record of what was applied to the cluster. The ClusterResourceSet "
            "controller writes it."
        ),
    ]
