"""DevCluster(Template) as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.dev_cluster import InMemoryClusterBackendSpec
from kapy.api.infrastructure import DockerLoadBalancer, LoadBalancer
from kapy.api.v1beta1.embedded import TemplateMeta
from kapy.api.v1beta1.infrastructure import APIEndpoint, FailureDomains, InfraClusterStatus
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class DockerClusterBackendSpec(OldModel):
    """Infrastructure made of containers."""

    failure_domains: FailureDomains = field(default_factory=dict)
    load_balancer: LoadBalancer = field(default_factory=DockerLoadBalancer)


class DevClusterBackendSpec(OldModel):
    """What the infrastructure is made with; one of these."""

    docker: Annotated[DockerClusterBackendSpec | None, rules("Containers.")] = None
    in_memory: Annotated[InMemoryClusterBackendSpec | None, rules("Nothing but memory.")] = None


class DevClusterSpec(OldModel):
    """What the infrastructure should be."""

    control_plane_endpoint: Annotated[
        APIEndpoint, rules("Where the cluster's API server is reached; the provider fills it in.")
    ] = field(default_factory=APIEndpoint)
    backend: Annotated[
        DevClusterBackendSpec, rules("What the infrastructure is made with.", required=True)
    ] = field(default_factory=DevClusterBackendSpec)


class DevClusterTemplateResource(OldModel):
    """What DevClusters made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[DevClusterSpec, rules("What they should be.", required=True)] = field(
        default_factory=DevClusterSpec
    )


class DevClusterTemplateSpec(OldModel):
    """What a DevClusterTemplate holds."""

    template: Annotated[
        DevClusterTemplateResource, rules("What DevClusters look like.", required=True)
    ] = field(default_factory=DevClusterTemplateResource)


class DevCluster(OldObject, kw_only=True):
    """Infrastructure of a cluster for development and tests."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "devclusters", "DevCluster"
    )

    spec: Annotated[DevClusterSpec, rules("The infrastructure as it is wanted.")] = field(
        default_factory=DevClusterSpec
    )
    status: Annotated[InfraClusterStatus, rules("The infrastructure as it was seen last.")] = field(
        default_factory=InfraClusterStatus
    )


class DevClusterTemplate(OldObject, kw_only=True):
    """What DevClusters are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "devclustertemplates", "DevClusterTemplate"
    )

    spec: Annotated[DevClusterTemplateSpec, rules("The template as it is wanted.")] = field(
        default_factory=DevClusterTemplateSpec
    )
