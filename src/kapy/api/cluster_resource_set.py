"""ClusterResourceSet: objects that are put into new workload clusters."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.api.status import Conditions, Deprecated, ObservedGeneration
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

SourceName = Annotated[str, rules("The source's name.", min_length=1, max_length=253)]
SourceKind = Annotated[
    str, rules("Whether it is a Secret or a ConfigMap.", enum=["Secret", "ConfigMap"])
]
Strategy = Annotated[
    str,
    rules(
        "Whether to create the objects once (ApplyOnce, the default) or to keep them (Reconcile).",
        enum=["ApplyOnce", "Reconcile"],
    ),
]
Selected = Annotated[LabelSelector, rules("The Clusters that get the objects, by their labels.")]


class ResourceRef(Model):
    """Names a Secret or ConfigMap whose values are objects in YAML or JSON."""

    name: SourceName
    kind: SourceKind


class ClusterResourceSetSpec(Model):
    """Which objects go into which clusters."""

    cluster_selector: Selected
    resources: Annotated[
        list[ResourceRef],
        rules(
            "The Secrets and ConfigMaps that hold the objects.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ]
    strategy: Strategy = ""


class ClusterResourceSetStatus(Model):
    """What was seen of a ClusterResourceSet."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    observed_generation: ObservedGeneration = 0
    deprecated: Deprecated = None


class ClusterResourceSet(Object, kw_only=True):
    """Puts objects into workload clusters that match a selector."""

    RESOURCE: ClassVar[Resource] = Resource(
        "addons.cluster.x-k8s.io", "v1beta2", "clusterresourcesets", "ClusterResourceSet"
    )

    spec: Annotated[ClusterResourceSetSpec, rules("Which objects go into which clusters.")]
    status: Annotated[
        ClusterResourceSetStatus, rules("The ClusterResourceSet as it was seen last.")
    ] = field(default_factory=ClusterResourceSetStatus)
