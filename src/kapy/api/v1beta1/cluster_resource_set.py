"""ClusterResourceSet as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import cluster_resource_set
from kapy.api.cluster_resource_set import Selected, Strategy
from kapy.api.embedded import LabelSelector
from kapy.api.v1beta1.embedded import OldConditions, OldGeneration, V1Beta2
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class ResourceRef(cluster_resource_set.ResourceRef):
    ZEROS: ClassVar[bool] = True


class ClusterResourceSetSpec(OldModel):
    cluster_selector: Selected
    resources: Annotated[
        list[ResourceRef],
        rules(max_items=100),
    ] = field(default_factory=list)
    strategy: Strategy = ""


class ClusterResourceSetStatus(OldModel):
    observed_generation: OldGeneration = 0
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


def _empty() -> ClusterResourceSetSpec:
    return ClusterResourceSetSpec(cluster_selector=LabelSelector())


class ClusterResourceSet(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "addons.cluster.x-k8s.io", "v1beta1", "clusterresourcesets", "ClusterResourceSet"
    )

    spec: ClusterResourceSetSpec = field(default_factory=_empty)
    status: ClusterResourceSetStatus = field(default_factory=ClusterResourceSetStatus)
