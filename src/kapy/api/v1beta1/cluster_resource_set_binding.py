"""ClusterResourceSetBinding as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_resource_set import SourceKind, SourceName
from kapy.api.cluster_resource_set_binding import Hash, LastAppliedTime, SetName
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class ResourceBinding(OldModel, kw_only=True):
    name: SourceName
    kind: SourceKind
    hash: Hash = ""
    last_applied_time: LastAppliedTime = None
    applied: bool


class ResourceSetBinding(OldModel):
    cluster_resource_set_name: SetName
    resources: Annotated[list[ResourceBinding], rules(max_items=100)] = field(default_factory=list)


class ClusterResourceSetBindingSpec(OldModel):
    bindings: Annotated[
        list[ResourceSetBinding | None],
        rules(max_items=100),
    ] = field(default_factory=list)
    cluster_name: Annotated[str, rules(min_length=1, max_length=63)] = ""


class ClusterResourceSetBinding(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "addons.cluster.x-k8s.io",
        "v1beta1",
        "clusterresourcesetbindings",
        "ClusterResourceSetBinding",
    )
    # The released definition has the subresource, and no status.
    STATUS_SUBRESOURCE: ClassVar[bool] = True

    spec: ClusterResourceSetBindingSpec = field(default_factory=ClusterResourceSetBindingSpec)
