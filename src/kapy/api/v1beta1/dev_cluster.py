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
    failure_domains: FailureDomains = field(default_factory=dict)
    load_balancer: LoadBalancer = field(default_factory=DockerLoadBalancer)


class DevClusterBackendSpec(OldModel):
    docker: DockerClusterBackendSpec | None = None
    in_memory: InMemoryClusterBackendSpec | None = None


class DevClusterSpec(OldModel):
    control_plane_endpoint: APIEndpoint = field(default_factory=APIEndpoint)
    backend: Annotated[DevClusterBackendSpec, rules(required=True)] = field(
        default_factory=DevClusterBackendSpec
    )


class DevClusterTemplateResource(OldModel):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: Annotated[DevClusterSpec, rules(required=True)] = field(default_factory=DevClusterSpec)


class DevClusterTemplateSpec(OldModel):
    template: Annotated[DevClusterTemplateResource, rules(required=True)] = field(
        default_factory=DevClusterTemplateResource
    )


class DevCluster(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "devclusters", "DevCluster"
    )

    spec: DevClusterSpec = field(default_factory=DevClusterSpec)
    status: InfraClusterStatus = field(default_factory=InfraClusterStatus)


class DevClusterTemplate(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta1", "devclustertemplates", "DevClusterTemplate"
    )

    spec: DevClusterTemplateSpec = field(default_factory=DevClusterTemplateSpec)
