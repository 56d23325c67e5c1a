"""The managed topology of a Cluster: the desired cluster in terms of its ClusterClass."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_topology_workers import VariableOverrides, WorkersTopology
from kapy.api.embedded import ClusterVariable, ReadinessGates, Taints, TemplateMeta
from kapy.api.health_check import ControlPlaneTopologyHealthCheck
from kapy.api.machine import MachineDeletionSpec
from kapy.api.patterns import DNS_LABEL, DNS_SUBDOMAIN
from kapy.kube import Document
from kapy.kube.model import Model, rules


class ClusterClassRef(Model):
    """ClusterClassRef is a reference to a ClusterClass."""

    name: Annotated[
        str,
        rules(
            "name is the name of the ClusterClass. A change moves the Cluster to another "
            "class. The classes must be compatible. It causes a rollout if a machine "
            "template changes.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    namespace: Annotated[
        str,
        rules(
            "namespace is the namespace of the ClusterClass. If it is not set, it defaults "
            "to the namespace of the Cluster.",
            min_length=1,
            max_length=63,
            pattern=DNS_LABEL,
        ),
    ] = ""


class ControlPlaneTopologyRolloutSpec(Model):
    """ControlPlaneTopologyRolloutSpec configures when control plane Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[
        str | None,
        rules(
            "after is a time in the format of RFC 3339. Once it has passed, Machines that "
            "were created before it are replaced by a rollout. The provider of a control "
            "plane must support it.",
            format="date-time",
        ),
    ] = None


class ControlPlaneTopology(Model):
    """ControlPlaneTopology configures the control plane of one Cluster."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: Annotated[
        TemplateMeta,
        rules(
            "metadata are labels and annotations of the control plane object and of its "
            "Machines. They take precedence over those of the ClusterClass. A change is "
            "applied in place."
        ),
    ] = field(default_factory=TemplateMeta)
    replicas: Annotated[
        int | None,
        rules(
            "replicas is the number of desired control plane Machines. If it is not set, the "
            "control plane provider selects the number. A KubeadmControlPlane then defaults "
            "to 1. A change scales the control plane. It is no rollout.",
            format="int32",
        ),
    ] = None
    rollout: Annotated[
        ControlPlaneTopologyRolloutSpec,
        rules("rollout configures when control plane Machines are replaced."),
    ] = field(default_factory=ControlPlaneTopologyRolloutSpec)
    health_check: Annotated[
        ControlPlaneTopologyHealthCheck,
        rules(
            "healthCheck configures the MachineHealthCheck of the control plane Machines. It "
            "takes precedence over the ClusterClass."
        ),
    ] = field(default_factory=ControlPlaneTopologyHealthCheck)
    deletion: Annotated[
        MachineDeletionSpec,
        rules(
            "deletion configures the deletion of control plane Machines. It takes precedence "
            "over the ClusterClass. A change is applied in place."
        ),
    ] = field(default_factory=MachineDeletionSpec)
    taints: Annotated[
        Taints,
        rules(
            "taints are the taints that Cluster API sets on the Nodes of control plane "
            "Machines. If it is not set, the list of the ClusterClass applies. At most 64 "
            "are allowed. A change is applied in place."
        ),
    ] = field(default_factory=list)
    readiness_gates: Annotated[
        ReadinessGates,
        rules(
            "readinessGates are additional conditions of control plane Machines that must "
            "hold before their Ready condition becomes True. If it is not set, the list of "
            "the ClusterClass applies. At most 32 are allowed. A change is applied in place."
        ),
    ] = field(default_factory=list)
    variables: Annotated[
        VariableOverrides,
        rules("variables are values of variables that apply to the control plane only."),
    ] = field(default_factory=VariableOverrides)


class Topology(Model):
    """Topology describes a cluster by a ClusterClass, by values for its variables and by its
    workers.
    """

    class_ref: Annotated[
        ClusterClassRef,
        rules(
            "classRef is a reference to the ClusterClass of the cluster. A change moves the "
            "Cluster to another class, which must be compatible."
        ),
    ]
    version: Annotated[
        str,
        rules(
            "version is the Kubernetes version of the control plane and the workers, for "
            "example v1.34.1. A missing leading v is added on admission. A change upgrades "
            "the control plane first and the workers after it by a rollout. The version "
            "cannot be decreased. Without kubernetesVersions in the ClusterClass it can be "
            "increased by one minor version at a time.",
            min_length=1,
            max_length=256,
        ),
    ]
    control_plane: Annotated[
        ControlPlaneTopology, rules("controlPlane configures the control plane.")
    ] = field(default_factory=ControlPlaneTopology)
    workers: Annotated[
        WorkersTopology,
        rules("workers configures the MachineDeployments and MachinePools of the cluster."),
    ] = field(default_factory=WorkersTopology)
    variables: Annotated[
        list[ClusterVariable],
        rules(
            "variables are the values of the variables that the ClusterClass defines. "
            "Variables that are not set take the defaults of their definitions. At most 1000 "
            "are allowed.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
