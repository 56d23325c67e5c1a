"""DockerCluster(Template): infrastructure of a cluster whose machines are containers.

`kapy.providers.docker` reconciles these kinds.
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
    """DockerClusterSpec is the desired state of a DockerCluster."""

    control_plane_endpoint: Annotated[
        APIEndpoint,
        rules(
            "controlPlaneEndpoint is the address of the workload cluster's API server. The "
            "provider sets the host. The port defaults to 6443."
        ),
    ] = field(default_factory=APIEndpoint)
    failure_domains: FailureDomains = field(default_factory=list)
    load_balancer: LoadBalancer = field(default_factory=DockerLoadBalancer)


class DockerClusterTemplateResource(Model):
    """DockerClusterTemplateResource describes the DockerClusters that are created from a
    template.
    """

    metadata: Annotated[
        TemplateMeta, rules("metadata are the labels and annotations of the DockerClusters.")
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        DockerClusterSpec,
        rules(
            "spec is the desired state of the DockerClusters. This field is immutable. To "
            "change it, create another template and refer to it.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DockerClusterSpec)


class DockerClusterTemplateSpec(Model):
    """DockerClusterTemplateSpec is the desired state of a DockerClusterTemplate."""

    template: Annotated[
        DockerClusterTemplateResource,
        rules(
            "template describes the DockerClusters that are created. Its spec is immutable.",
            required=True,
            zero="written",
        ),
    ] = field(default_factory=DockerClusterTemplateResource)


class DockerCluster(Object, kw_only=True):
    """DockerCluster is the infrastructure of a cluster of containers. It is deprecated. Use
    DevCluster instead.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1beta2", "dockerclusters", "DockerCluster"
    )

    spec: Annotated[
        DockerClusterSpec, rules("spec is the desired state of the DockerCluster.", zero="written")
    ] = field(default_factory=DockerClusterSpec)
    status: Annotated[
        InfraClusterStatus,
        rules(
            "status is the observed state of the DockerCluster. The infrastructure provider "
            "writes it.",
            zero="written",
        ),
    ] = field(default_factory=InfraClusterStatus)


class DockerClusterTemplate(Object, kw_only=True):
    """DockerClusterTemplate is a template from which DockerClusters are created. It is
    deprecated. Use DevClusterTemplate instead.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1beta2",
        "dockerclustertemplates",
        "DockerClusterTemplate",
    )

    spec: Annotated[
        DockerClusterTemplateSpec,
        rules("spec is the desired state of the DockerClusterTemplate.", zero="written"),
    ] = field(default_factory=DockerClusterTemplateSpec)
