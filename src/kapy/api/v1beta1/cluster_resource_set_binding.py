"""ClusterResourceSetBinding as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_resource_set import SourceKind, SourceName
from kapy.api.cluster_resource_set_binding import Hash, LastAppliedTime, SetName
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class ResourceBinding(OldModel, kw_only=True):
    """What became of one source in the cluster."""

    name: SourceName
    kind: SourceKind
    hash: Hash = ""
    last_applied_time: LastAppliedTime = None
    applied: Annotated[bool, rules("Whether all of the source's objects are in the cluster.")]


class ResourceSetBinding(OldModel):
    """What became of one ClusterResourceSet in the cluster."""

    cluster_resource_set_name: SetName
    resources: Annotated[
        list[ResourceBinding], rules("What became of each of its sources.", max_items=100)
    ] = field(default_factory=list)


class ClusterResourceSetBindingSpec(OldModel):
    """What is in one cluster."""

    # Go's type lets one be null.
    bindings: Annotated[
        list[ResourceSetBinding | None],
        rules("What became of each ClusterResourceSet that selects the cluster.", max_items=100),
    ] = field(default_factory=list)
    cluster_name: Annotated[str, rules("The Cluster's name.", min_length=1, max_length=63)] = ""


class ClusterResourceSetBinding(OldObject, kw_only=True):
    """Tells what ClusterResourceSets have put into one cluster."""

    RESOURCE: ClassVar[Resource] = Resource(
        "addons.cluster.x-k8s.io",
        "v1beta1",
        "clusterresourcesetbindings",
        "ClusterResourceSetBinding",
    )
    # The released definition has the subresource, and no status.
    STATUS_SUBRESOURCE: ClassVar[bool] = True

    spec: Annotated[ClusterResourceSetBindingSpec, rules("What is in the cluster.")] = field(
        default_factory=ClusterResourceSetBindingSpec
    )
