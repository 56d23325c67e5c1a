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
    control_plane_endpoint: APIEndpoint = field(default_factory=APIEndpoint)
    failure_domains: FailureDomains = field(default_factory=dict)
    load_balancer: LoadBalancer = field(default_factory=DockerLoadBalancer)


class DockerClusterTemplateResource(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: Annotated[DockerClusterSpec, rules(required=True)] = field(
        default_factory=DockerClusterSpec
    )


class DockerClusterTemplateSpec(OldModel):
    template: Annotated[DockerClusterTemplateResource, rules(required=True)] = field(
        default_factory=DockerClusterTemplateResource
    )


class DockerCluster(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "dockerclusters", "DockerCluster"
    )

    spec: DockerClusterSpec = field(default_factory=DockerClusterSpec)
    status: InfraClusterStatus = field(default_factory=InfraClusterStatus)


class DockerClusterTemplate(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta1",
        "dockerclustertemplates",
        "DockerClusterTemplate",
    )

    spec: DockerClusterTemplateSpec = field(default_factory=DockerClusterTemplateSpec)
