"""DockerCluster(Template) as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.infrastructure import DockerLoadBalancer, LoadBalancer
from kapy.api.v1beta1.embedded import TemplateMeta
from kapy.api.v1beta1.infrastructure import APIEndpoint, FailureDomains, InfraClusterStatus
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class DockerClusterSpec(OldModel):
    """What the infrastructure should be."""

    control_plane_endpoint: Annotated[
        APIEndpoint, rules("Where the cluster's API server is reached; the provider fills it in.")
    ] = field(default_factory=APIEndpoint)
    failure_domains: FailureDomains = field(default_factory=dict)
    load_balancer: LoadBalancer = field(default_factory=DockerLoadBalancer)


class DockerClusterTemplateResource(OldModel):
    """What DockerClusters made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[DockerClusterSpec, rules("What they should be.", required=True)] = field(
        default_factory=DockerClusterSpec
    )


class DockerClusterTemplateSpec(OldModel):
    """What a DockerClusterTemplate holds."""

    template: Annotated[
        DockerClusterTemplateResource, rules("What DockerClusters look like.", required=True)
    ] = field(default_factory=DockerClusterTemplateResource)


class DockerCluster(OldObject, kw_only=True):
    """Infrastructure of a cluster made of containers. Deprecated: use a DevCluster."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "dockerclusters", "DockerCluster"
    )

    spec: Annotated[DockerClusterSpec, rules("The infrastructure as it is wanted.")] = field(
        default_factory=DockerClusterSpec
    )
    status: Annotated[InfraClusterStatus, rules("The infrastructure as it was seen last.")] = field(
        default_factory=InfraClusterStatus
    )


class DockerClusterTemplate(OldObject, kw_only=True):
    """What DockerClusters are made of. Deprecated: use a DevClusterTemplate."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "dockerclustertemplates",
        "DockerClusterTemplate",
    )

    spec: Annotated[DockerClusterTemplateSpec, rules("The template as it is wanted.")] = field(
        default_factory=DockerClusterTemplateSpec
    )
