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
    """DockerClusterBackendSpec configures infrastructure that consists of containers."""

    failure_domains: FailureDomains = field(default_factory=list)
    load_balancer: LoadBalancer = field(default_factory=DockerLoadBalancer)


class InMemoryClusterBackendSpec(Model):
    """InMemoryClusterBackendSpec configures infrastructure that is simulated in memory. It has
    no settings.
    """


class DevClusterBackendSpec(Model):
    """DevClusterBackendSpec selects the backend of the infrastructure. Exactly one field
    should be set.
    """

    docker: Annotated[
        DockerClusterBackendSpec | None,
        rules(
            "docker configures infrastructure that consists of containers. It defaults to an "
            "empty load balancer configuration if no backend is set."
        ),
    ] = None
    in_memory: Annotated[
        InMemoryClusterBackendSpec | None,
        rules(
            "inMemory configures infrastructure that is simulated in memory, without containers."
        ),
    ] = None


class DevClusterSpec(Model):
    """DevClusterSpec is the desired state of a DevCluster."""

    control_plane_endpoint: Annotated[
        APIEndpoint,
        rules(
            "controlPlaneEndpoint is the address of the workload cluster's API server. The "
            "provider sets the host. With the docker backend the port defaults to 6443."
        ),
    ] = field(default_factory=APIEndpoint)
    backend: Annotated[
        DevClusterBackendSpec,
        rules(
            "backend selects the backend of the infrastructure. Defaults to docker.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DevClusterBackendSpec)


class InfraClusterStatus(Model):
    """InfraClusterStatus is the observed state of the infrastructure of a cluster."""

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the infrastructure's current state. Types "
            "are Ready, LoadBalancerAvailable and Paused."
        ),
    ] = field(default_factory=list)
    initialization: Milestones = field(default_factory=Initialization)
    failure_domains: Annotated[
        list[FailureDomain],
        rules(
            "failureDomains are the failure domains in which machines can be placed. The "
            "Cluster controller copies them. At most 100 are stored.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    deprecated: Deprecated = None


class DevClusterTemplateResource(Model):
    """DevClusterTemplateResource describes the DevClusters that are created from a template."""

    metadata: Annotated[
        TemplateMeta, rules("metadata are the labels and annotations of the DevClusters.")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        DevClusterSpec,
        rules(
            "spec is the desired state of the DevClusters. This field is immutable. To "
            "change it, create another template and refer to it.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DevClusterSpec)


class DevClusterTemplateSpec(Model):
    """DevClusterTemplateSpec is the desired state of a DevClusterTemplate."""

    template: Annotated[
        DevClusterTemplateResource,
        rules(
            "template describes the DevClusters that are created. Its spec is immutable.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DevClusterTemplateResource)


class DevCluster(Object, kw_only=True):
    """DevCluster is the infrastructure of a cluster for development and tests. It runs
    containers or simulates machines in memory.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devclusters", "DevCluster"
    )

    spec: Annotated[
        DevClusterSpec, rules("spec is the desired state of the DevCluster.", zero="written")
    ] = field(default_factory=DevClusterSpec)
    status: Annotated[
        InfraClusterStatus,
        rules(
            "status is the observed state of the DevCluster. The infrastructure provider "
            "writes it.",
            zero="written",
        ),
    ] = field(default_factory=InfraClusterStatus)


class DevClusterTemplate(Object, kw_only=True):
    """DevClusterTemplate is a template from which DevClusters are created. ClusterClasses
    refer to it.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "devclustertemplates", "DevClusterTemplate"
    )

    spec: Annotated[
        DevClusterTemplateSpec,
        rules("spec is the desired state of the DevClusterTemplate.", zero="written"),
    ] = field(default_factory=DevClusterTemplateSpec)
