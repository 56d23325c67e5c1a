"""Cluster: the infrastructure, control plane and endpoint of one workload cluster."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_topology import Topology
from kapy.api.embedded import (
    APIEndpoint,
    ContractVersionedObjectReference,
    FailureDomain,
    StatusVersion,
)
from kapy.api.patterns import QUALIFIED_NAME
from kapy.api.status import (
    AvailableReplicas,
    Conditions,
    FailureMessage,
    FailureReason,
    ObservedGeneration,
    ReadyReplicas,
    UpToDateReplicas,
    V1Beta1Conditions,
)
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class ClusterAvailabilityGate(Model):
    """ClusterAvailabilityGate is a condition of a Cluster that its Available condition takes
    into account.
    """

    condition_type: Annotated[
        str,
        rules(
            "conditionType is the type of a condition of the Cluster. A condition that does "
            "not exist counts as Unknown. It must be unique in the list.",
            min_length=1,
            max_length=316,
            pattern=QUALIFIED_NAME,
        ),
    ]
    polarity: Annotated[
        str,
        rules(
            "polarity tells which status of the condition is the good one. Allowed values "
            "are Positive and Negative. With Positive True is good. With Negative False is "
            "good. Defaults to Positive.",
            enum=["Positive", "Negative"],
        ),
    ] = ""


class NetworkRanges(Model):
    """NetworkRanges is a list of IP address ranges."""

    cidr_blocks: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=43)]],
        rules(
            "cidrBlocks are IP address ranges in CIDR notation, for example 10.128.0.0/12. A "
            "dual-stack cluster has one range for each IP family. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ]


class ClusterNetwork(Model):
    """ClusterNetwork configures the network of a workload cluster. Bootstrap and control plane
    providers read it.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    api_server_port: Annotated[
        int,
        rules(
            "apiServerPort is the TCP port on which the API servers of the workload cluster "
            "listen. Allowed values are 1 to 65535. If it is not set, the provider selects "
            "the port, which is usually 6443.",
            format="int32",
            minimum=1,
            maximum=65535,
        ),
    ] = 0
    services: Annotated[
        NetworkRanges | None,
        rules("services are the IP address ranges from which Services get their cluster IPs."),
    ] = None
    pods: Annotated[
        NetworkRanges | None,
        rules("pods are the IP address ranges from which Pods get their IP addresses."),
    ] = None
    service_domain: Annotated[
        str,
        rules(
            "serviceDomain is the DNS domain of Services in the workload cluster, for "
            "example cluster.local. If it is not set, kubeadm uses cluster.local.",
            min_length=1,
            max_length=253,
        ),
    ] = ""


class ClusterSpec(Model):
    """ClusterSpec is the desired state of a Cluster. At least one of topology,
    infrastructureRef and controlPlaneRef must be set.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    paused: Annotated[
        bool | None,
        rules(
            "paused stops all controllers that work on the Cluster and on the objects that "
            "belong to it. Defaults to false. It also protects the objects while clusterctl "
            "moves them."
        ),
    ] = None
    cluster_network: Annotated[
        ClusterNetwork,
        rules(
            "clusterNetwork configures the network of the workload cluster. Providers read "
            "it when they create machines. A change does not reconfigure existing machines."
        ),
    ] = field(default_factory=ClusterNetwork)
    control_plane_endpoint: Annotated[
        APIEndpoint,
        rules(
            "controlPlaneEndpoint is the address of the workload cluster's API server. The "
            "Cluster controller copies it from the object in infrastructureRef or "
            "controlPlaneRef. A user sets it if the load balancer is managed elsewhere."
        ),
    ] = field(default_factory=APIEndpoint)
    control_plane_ref: Annotated[
        ContractVersionedObjectReference | None,
        rules(
            "controlPlaneRef is a reference to the control plane provider's object, for "
            "example a KubeadmControlPlane. It is set by the topology controller if topology "
            "is set. It cannot be removed once it is set.",
            zero="omitted",
        ),
    ] = None
    infrastructure_ref: Annotated[
        ContractVersionedObjectReference | None,
        rules(
            "infrastructureRef is a reference to the infrastructure provider's object that "
            "represents the infrastructure of the cluster. It is set by the topology "
            "controller if topology is set. It cannot be removed once it is set.",
            zero="omitted",
        ),
    ] = None
    topology: Annotated[
        Topology | None,
        rules(
            "topology describes the whole cluster by a ClusterClass and by values for it. "
            "The topology controller creates and updates all other objects from it. The "
            "feature gate ClusterTopology must be enabled. It cannot be removed once it is "
            "set.",
            zero="omitted",
        ),
    ] = None
    availability_gates: Annotated[
        list[ClusterAvailabilityGate],
        rules(
            "availabilityGates are additional conditions of the Cluster that must hold "
            "before its Available condition becomes True. At most 32 are allowed. If it is "
            "not set, the availabilityGates of the ClusterClass apply.",
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)


class StatusUpgradePlanVersion(Model):
    """StatusUpgradePlanVersion is one step of an upgrade plan."""

    version: Annotated[
        str,
        rules(
            "version is the Kubernetes version to which this step upgrades.",
            min_length=1,
            max_length=256,
        ),
    ]


_Versions = Annotated[
    list[StatusVersion],
    rules(
        "versions are the Kubernetes versions of the Machines' kubelets, each with the "
        "number of Machines that run it. At most 32 versions are stored.",
        min_items=1,
        max_items=32,
        x_kubernetes_list_type="atomic",
    ),
]


class ClusterControlPlaneStatus(Model):
    """ClusterControlPlaneStatus summarizes the control plane of a Cluster."""

    desired_replicas: Annotated[
        int | None,
        rules(
            "desiredReplicas is the number of desired control plane Machines, as the control "
            "plane object specifies it.",
            format="int32",
        ),
    ] = None
    replicas: Annotated[
        int | None,
        rules(
            "replicas is the number of control plane Machines that exist. It includes "
            "Machines that are being provisioned or deleted.",
            format="int32",
        ),
    ] = None
    up_to_date_replicas: UpToDateReplicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    versions: _Versions = field(default_factory=list)
    upgrade_plan: Annotated[
        list[StatusUpgradePlanVersion],
        rules(
            "upgradePlan is the list of Kubernetes versions to which the control plane is "
            "still going to be upgraded, in order. It is set only while the topology of the "
            "Cluster is being upgraded. A version is removed from the list when the control "
            "plane object gets it. At most 32 versions are stored.",
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ClusterV1Beta1DeprecatedStatus(Model):
    """ClusterV1Beta1DeprecatedStatus groups the status fields of a Cluster in v1beta1 that
    v1beta2 does not have.
    """

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None


class ClusterDeprecatedStatus(Model):
    """ClusterDeprecatedStatus groups the status fields of a Cluster in older API versions."""

    v1beta1: Annotated[
        ClusterV1Beta1DeprecatedStatus | None, rules(same_as="DeprecatedConditions.v1beta1")
    ] = None


class ClusterInitializationStatus(Model):
    """ClusterInitializationStatus records the milestones of a Cluster's first provisioning. A
    milestone stays true once it is reached.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    infrastructure_provisioned: Annotated[
        bool | None,
        rules(
            "infrastructureProvisioned is true after the infrastructure provider has "
            "reported the infrastructure of the Cluster as provisioned for the first time. "
            "It stays true afterwards."
        ),
    ] = None
    control_plane_initialized: Annotated[
        bool | None,
        rules(
            "controlPlaneInitialized is true after the API server of the workload cluster "
            "has accepted requests for the first time. Workers join and addons are installed "
            "after that. It stays true afterwards."
        ),
    ] = None


class WorkersStatus(Model):
    """WorkersStatus summarizes the workers of a Cluster."""

    desired_replicas: Annotated[
        int | None,
        rules(
            "desiredReplicas is the number of desired worker machines. It is the sum over "
            "all MachineDeployments, MachinePools and standalone MachineSets and Machines.",
            format="int32",
        ),
    ] = None
    replicas: Annotated[
        int | None,
        rules(
            "replicas is the number of worker machines that exist. It includes machines that "
            "are being provisioned or deleted.",
            format="int32",
        ),
    ] = None
    up_to_date_replicas: UpToDateReplicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    versions: _Versions = field(default_factory=list)
    upgrade_plan: Annotated[
        list[StatusUpgradePlanVersion],
        rules(
            "upgradePlan is the list of Kubernetes versions to which the workers are still "
            "going to be upgraded, in order. It is set only while the topology of the "
            "Cluster is being upgraded. A version is removed from the list when the workers "
            "get it. At most 32 versions are stored.",
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ClusterStatus(Model):
    """ClusterStatus is the observed state of a Cluster."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the Cluster's current state. Types are "
            "Available, InfrastructureReady, ControlPlaneInitialized, ControlPlaneAvailable, "
            "ControlPlaneMachinesReady, ControlPlaneMachinesUpToDate, WorkersAvailable, "
            "WorkerMachinesReady, WorkerMachinesUpToDate, RemoteConnectionProbe, RollingOut, "
            "ScalingUp, ScalingDown, Remediating, Deleting and Paused. TopologyReconciled is "
            "added if topology is set. The reason of RemoteConnectionProbe is ProbeSucceeded "
            "or ProbeFailed. The reason of Deleting names the current step, for example "
            "WaitingForBeforeDeleteHook, WaitingForWorkersDeletion, "
            "WaitingForControlPlaneDeletion and WaitingForInfrastructureDeletion. The reason "
            "of TopologyReconciled tells what is pending, for example "
            "ControlPlaneUpgradePending or LifecycleHookBlocking."
        ),
    ] = field(default_factory=list)
    initialization: Annotated[
        ClusterInitializationStatus,
        rules(
            "initialization records the milestones of the Cluster's first provisioning. "
            "Controllers use them to order the provisioning."
        ),
    ] = field(default_factory=ClusterInitializationStatus)
    control_plane: Annotated[
        ClusterControlPlaneStatus | None,
        rules("controlPlane summarizes the control plane of the Cluster."),
    ] = None
    workers: Annotated[
        WorkersStatus | None, rules("workers summarizes the workers of the Cluster.")
    ] = None
    failure_domains: Annotated[
        list[FailureDomain],
        rules(
            "failureDomains are the failure domains in which machines can be placed. The "
            "Cluster controller copies them from the object in infrastructureRef. At most "
            "100 are stored.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    phase: Annotated[
        str,
        rules(
            "phase summarizes the life cycle of the Cluster in one word. Values are Pending, "
            "Provisioning, Provisioned, Deleting, Failed and Unknown. Programs should read "
            "the conditions instead.",
            enum=["Pending", "Provisioning", "Provisioned", "Deleting", "Failed", "Unknown"],
        ),
    ] = ""
    observed_generation: ObservedGeneration = 0
    deprecated: Annotated[
        ClusterDeprecatedStatus | None, rules(same_as="MachineHealthCheckStatus.deprecated")
    ] = None


class Cluster(Object, kw_only=True):
    """Cluster represents a workload cluster. It binds the infrastructure, the control plane
    and the workers together.
    """

    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")

    spec: Annotated[ClusterSpec, rules("spec is the desired state of the Cluster.")]
    status: Annotated[
        ClusterStatus,
        rules("status is the observed state of the Cluster. The Cluster controller writes it."),
    ] = field(default_factory=ClusterStatus)
