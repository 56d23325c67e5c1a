"""DevCluster(Template): infrastructure of a cluster for development, in memory."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.core_v1 import LocalObjectReference
from kapy.api.embedded import APIEndpoint, FailureDomain, TemplateMeta
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class DockerLoadBalancer(Model):
    image_repository: str = ""
    image_tag: str = ""
    custom_ha_proxy_config_template_ref: LocalObjectReference | None = field(
        default=None, name="customHAProxyConfigTemplateRef"
    )


class DockerClusterBackendSpec(Model):
    failure_domains: Annotated[
        list[FailureDomain],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    load_balancer: DockerLoadBalancer = field(default_factory=DockerLoadBalancer)


class InMemoryClusterBackendSpec(Model):
    pass


class DevClusterBackendSpec(Model):
    docker: DockerClusterBackendSpec | None = None
    in_memory: InMemoryClusterBackendSpec | None = None


class DevClusterSpec(Model):
    control_plane_endpoint: APIEndpoint = field(default_factory=APIEndpoint)
    backend: Annotated[DevClusterBackendSpec, rules(required=True)] = field(
        default_factory=DevClusterBackendSpec
    )


class DevClusterV1Beta1DeprecatedStatus(Model):
    conditions: list[V1Beta1Condition] = field(default_factory=list)


class DevClusterDeprecatedStatus(Model):
    v1beta1: DevClusterV1Beta1DeprecatedStatus | None = None


class DevClusterInitializationStatus(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    provisioned: bool | None = None


class DevClusterStatus(Model):
    conditions: Annotated[
        list[Condition],
        rules(max_items=32, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["type"]),
    ] = field(default_factory=list)
    initialization: DevClusterInitializationStatus = field(
        default_factory=DevClusterInitializationStatus
    )
    failure_domains: Annotated[
        list[FailureDomain],
        rules(
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    deprecated: DevClusterDeprecatedStatus | None = None


class DevClusterTemplateResource(Model):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: Annotated[DevClusterSpec, rules(required=True)] = field(default_factory=DevClusterSpec)


class DevClusterTemplateSpec(Model):
    template: Annotated[DevClusterTemplateResource, rules(required=True)] = field(
        default_factory=DevClusterTemplateResource
    )


class DevCluster(Object, kw_only=True):
    """DevCluster"""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devclusters", "DevCluster"
    )

    spec: DevClusterSpec = field(default_factory=DevClusterSpec)
    status: DevClusterStatus = field(default_factory=DevClusterStatus)


class DevClusterTemplate(Object, kw_only=True):
    """DevClusterTemplate"""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devclustertemplates", "DevClusterTemplate"
    )

    spec: DevClusterTemplateSpec = field(default_factory=DevClusterTemplateSpec)
