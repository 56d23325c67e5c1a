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
    """The load balancer in front of a control plane of containers."""

    image_repository: Annotated[str, rules("The registry to pull its image from.")] = ""
    image_tag: Annotated[str, rules("The tag of its image.")] = ""
    custom_ha_proxy_config_template_ref: Annotated[
        LocalObjectReference | None, rules("A ConfigMap with a template of its configuration.")
    ] = field(default=None, name="customHAProxyConfigTemplateRef")


class DockerClusterBackendSpec(Model):
    """Infrastructure made of containers."""

    failure_domains: Annotated[
        list[FailureDomain],
        rules(
            "Failure domains to report; they mean nothing to containers.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    load_balancer: Annotated[
        DockerLoadBalancer, rules("The load balancer in front of the control plane.")
    ] = field(default_factory=DockerLoadBalancer)


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
        DevClusterBackendSpec, rules("What the infrastructure is made with.", required=True)
    ] = field(default_factory=DevClusterBackendSpec)


class DevClusterV1Beta1DeprecatedStatus(Model):
    """What v1beta1 reported of a DevCluster."""

    conditions: Annotated[
        list[V1Beta1Condition],
        rules("What can be said about the object's state, one condition for each aspect."),
    ] = field(default_factory=list)


class DevClusterDeprecatedStatus(Model):
    """What older versions of the API reported of a DevCluster."""

    v1beta1: Annotated[
        DevClusterV1Beta1DeprecatedStatus | None, rules("What v1beta1 reported.")
    ] = None


class DevClusterInitializationStatus(Model):
    """Milestones of the infrastructure."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    provisioned: Annotated[
        bool | None, rules("Whether the infrastructure has been there once.")
    ] = None


class DevClusterStatus(Model):
    """What was seen of the infrastructure."""

    conditions: Annotated[
        list[Condition],
        rules(
            "What can be said about the object's state, one condition for each aspect.",
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["type"],
        ),
    ] = field(default_factory=list)
    initialization: Annotated[
        DevClusterInitializationStatus,
        rules("Milestones of the first provisioning; they are not taken back."),
    ] = field(default_factory=DevClusterInitializationStatus)
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
    deprecated: Annotated[
        DevClusterDeprecatedStatus | None,
        rules("Values that only readers of v1beta1 still look at."),
    ] = None


class DevClusterTemplateResource(Model):
    """What DevClusters made of the template look like."""

    metadata: Annotated[TemplateMeta, rules("Labels and annotations for them.")] = field(
        default_factory=TemplateMeta
    )
    spec: Annotated[DevClusterSpec, rules("What they should be.", required=True)] = field(
        default_factory=DevClusterSpec
    )


class DevClusterTemplateSpec(Model):
    """What a DevClusterTemplate holds."""

    template: Annotated[
        DevClusterTemplateResource, rules("What DevClusters look like.", required=True)
    ] = field(default_factory=DevClusterTemplateResource)


class DevCluster(Object, kw_only=True):
    """Infrastructure of a cluster for development and tests."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devclusters", "DevCluster"
    )

    spec: Annotated[DevClusterSpec, rules("The infrastructure as it is wanted.")] = field(
        default_factory=DevClusterSpec
    )
    status: Annotated[DevClusterStatus, rules("The infrastructure as it was seen last.")] = field(
        default_factory=DevClusterStatus
    )


class DevClusterTemplate(Object, kw_only=True):
    """What DevClusters are made of."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devclustertemplates", "DevClusterTemplate"
    )

    spec: Annotated[DevClusterTemplateSpec, rules("The template as it is wanted.")] = field(
        default_factory=DevClusterTemplateSpec
    )
