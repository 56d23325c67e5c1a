"""DockerCluster(Template): infrastructure of a cluster made of containers.

The API only: no controller of kapy serves these kinds.
"""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.dev_cluster import InfraClusterStatus
from kapy.api.embedded import APIEndpoint, TemplateMeta
from kapy.api.infrastructure import DockerLoadBalancer, FailureDomains, LoadBalancer
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class DockerClusterSpec(Model):
    """What the infrastructure should be."""

    control_plane_endpoint: Annotated[
        APIEndpoint, rules("Where the cluster's API server is reached; the provider fills it in.")
    ] = field(default_factory=APIEndpoint)
    failure_domains: FailureDomains = field(default_factory=list)
    load_balancer: LoadBalancer = field(default_factory=DockerLoadBalancer)


class DockerClusterTemplateResource(Model):
    """What DockerClusters made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[
        DockerClusterSpec, rules("What they should be.", required=True, zero="written")
    ] = field(default_factory=DockerClusterSpec)


class DockerClusterTemplateSpec(Model):
    """What a DockerClusterTemplate holds."""

    template: Annotated[
        DockerClusterTemplateResource,
        rules("What DockerClusters look like.", required=True, zero="written"),
    ] = field(default_factory=DockerClusterTemplateResource)


class DockerCluster(Object, kw_only=True):
    """Infrastructure of a cluster made of containers. Deprecated: use a DevCluster."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "dockerclusters", "DockerCluster"
    )

    spec: Annotated[
        DockerClusterSpec, rules("The infrastructure as it is wanted.", zero="written")
    ] = field(default_factory=DockerClusterSpec)
    status: Annotated[
        InfraClusterStatus, rules("The infrastructure as it was seen last.", zero="written")
    ] = field(default_factory=InfraClusterStatus)


class DockerClusterTemplate(Object, kw_only=True):
    """What DockerClusters are made of. Deprecated: use a DevClusterTemplate."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "dockerclustertemplates",
        "DockerClusterTemplate",
    )

    spec: Annotated[
        DockerClusterTemplateSpec, rules("The template as it is wanted.", zero="written")
    ] = field(default_factory=DockerClusterTemplateSpec)
