"""DevCluster(Template): infrastructure of a cluster for development, in memory."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import APIEndpoint, FailureDomain, TemplateMeta
from kapy.api.infrastructure import (
    DockerLoadBalancer,
    FailureDomains,
    Initialization,
    LoadBalancer,
    Milestones,
)
from kapy.api.status import Conditions, Deprecated
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class DockerClusterBackendSpec(Model):
    """Infrastructure made of containers."""

    failure_domains: FailureDomains = field(default_factory=list)
    load_balancer: LoadBalancer = field(default_factory=DockerLoadBalancer)


class InMemoryClusterBackendSpec(Model):
    """Infrastructure made of nothing but memory."""


class DevClusterBackendSpec(Model):
    """What the infrastructure is made with; one of these."""

    docker: Annotated[DockerClusterBackendSpec | None, rules("Containers.")] = None
    in_memory: Annotated[InMemoryClusterBackendSpec | None, rules("Nothing but memory.")] = None


class DevClusterSpec(Model):
    """What the infrastructure should be."""

    control_plane_endpoint: Annotated[
        APIEndpoint, rules("Where the cluster's API server is reached; the provider fills it in.")
    ] = field(default_factory=APIEndpoint)
    backend: Annotated[
        DevClusterBackendSpec,
        rules("What the infrastructure is made with.", required=True, zero="written"),
    ] = field(default_factory=DevClusterBackendSpec)


class InfraClusterStatus(Model):
    """What was seen of the infrastructure."""

    conditions: Conditions = field(default_factory=list)
    initialization: Milestones = field(default_factory=Initialization)
    failure_domains: Annotated[
        list[FailureDomain],
        rules(
            "The failure domains that there are.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    deprecated: Deprecated = None


class DevClusterTemplateResource(Model):
    """What DevClusters made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[
        DevClusterSpec, rules("What they should be.", required=True, zero="written")
    ] = field(default_factory=DevClusterSpec)


class DevClusterTemplateSpec(Model):
    """What a DevClusterTemplate holds."""

    template: Annotated[
        DevClusterTemplateResource,
        rules("What DevClusters look like.", required=True, zero="written"),
    ] = field(default_factory=DevClusterTemplateResource)


class DevCluster(Object, kw_only=True):
    """Infrastructure of a cluster for development and tests."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devclusters", "DevCluster"
    )

    spec: Annotated[
        DevClusterSpec, rules("The infrastructure as it is wanted.", zero="written")
    ] = field(default_factory=DevClusterSpec)
    status: Annotated[
        InfraClusterStatus, rules("The infrastructure as it was seen last.", zero="written")
    ] = field(default_factory=InfraClusterStatus)


class DevClusterTemplate(Object, kw_only=True):
    """What DevClusters are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devclustertemplates", "DevClusterTemplate"
    )

    spec: Annotated[
        DevClusterTemplateSpec, rules("The template as it is wanted.", zero="written")
    ] = field(default_factory=DevClusterTemplateSpec)
