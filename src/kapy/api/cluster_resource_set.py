"""ClusterResourceSet: objects that are put into new workload clusters."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.api.status import Conditions, Deprecated, ObservedGeneration
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

SourceName = Annotated[
    str,
    rules(
        "name is the name of the Secret or ConfigMap. It must be in the namespace of the "
        "ClusterResourceSet.",
        min_length=1,
        max_length=253,
    ),
]
SourceKind = Annotated[
    str,
    rules(
        "kind is the kind of the source. Allowed values are Secret and ConfigMap. A "
        "Secret must have the type addons.cluster.x-k8s.io/resource-set.",
        enum=["Secret", "ConfigMap"],
    ),
]
Strategy = Annotated[
    str,
    rules(
        "strategy tells how the objects are applied. Allowed values are ApplyOnce and "
        "Reconcile. With ApplyOnce an object is created once and never changed. With "
        "Reconcile it is updated whenever its source changes. Defaults to ApplyOnce. "
        "This field is immutable.",
        enum=["ApplyOnce", "Reconcile"],
    ),
]
Selected = Annotated[
    LabelSelector,
    rules(
        "clusterSelector selects the Clusters that get the objects, by their labels. "
        "Clusters must be in the same namespace. It must not be empty. This field is "
        "immutable."
    ),
]


class ResourceRef(Model):
    """ResourceRef is a reference to a Secret or ConfigMap whose values are objects in YAML or
    JSON.
    """

    name: SourceName
    kind: SourceKind


class ClusterResourceSetSpec(Model):
    """ClusterResourceSetSpec is the desired state of a ClusterResourceSet."""

    cluster_selector: Selected
    resources: Annotated[
        list[ResourceRef],
        rules(
            "resources are the Secrets and ConfigMaps with the objects that are applied. At "
            "most 100 are allowed. Removing an entry does not delete objects from the "
            "clusters.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ]
    strategy: Strategy = ""


class ClusterResourceSetStatus(Model):
    """ClusterResourceSetStatus is the observed state of a ClusterResourceSet."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the ClusterResourceSet's current state. "
            "Types are ResourcesApplied and Paused. The reason of ResourcesApplied is for "
            "example Applied, NotApplied or WrongSecretType."
        ),
    ] = field(default_factory=list)
    observed_generation: ObservedGeneration = 0
    deprecated: Deprecated = None


class ClusterResourceSet(Object, kw_only=True):
    """ClusterResourceSet applies objects, for example a network plugin, to all workload
    clusters that it selects.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "addons.cluster.x-k8s.io", "v1beta2", "clusterresourcesets", "ClusterResourceSet"
    )

    spec: Annotated[
        ClusterResourceSetSpec, rules("spec is the desired state of the ClusterResourceSet.")
    ]
    status: Annotated[
        ClusterResourceSetStatus,
        rules(
            "status is the observed state of the ClusterResourceSet. The ClusterResourceSet "
            "controller writes it."
        ),
    ] = field(default_factory=ClusterResourceSetStatus)
