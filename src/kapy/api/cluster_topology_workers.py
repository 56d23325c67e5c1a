"""The groups of worker machines in a Cluster's managed topology."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import ClusterVariable, ReadinessGates, Taints, TemplateMeta
from kapy.api.health_check import WorkerTopologyHealthCheck
from kapy.api.machine import MachineDeletionSpec
from kapy.api.machine_deployment import MachineDeploymentRolloutSpec
from kapy.api.patterns import DNS_SUBDOMAIN
from kapy.api.worker_deletion import WorkerDeletionSpec
from kapy.kube import Document
from kapy.kube.model import Model, rules


class VariableOverrides(Model):
    """VariableOverrides are values of variables for one part of a cluster."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    overrides: Annotated[
        list[ClusterVariable],
        rules(
            "overrides are values that replace those of spec.topology.variables for this "
            "part of the cluster. Each variable must also be valid there. At most 1000 are "
            "allowed.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)


class MachineDeploymentTopology(Model, kw_only=True):
    """MachineDeploymentTopology describes one MachineDeployment of a cluster."""

    metadata: Annotated[
        TemplateMeta,
        rules(
            "metadata are labels and annotations of the MachineDeployment and of its "
            "Machines. They take precedence over those of the ClusterClass. A change is "
            "applied in place."
        ),
    ] = field(default_factory=TemplateMeta)
    class_: Annotated[
        str,
        rules(
            "class is the name of the MachineDeployment class in the ClusterClass. A change "
            "rolls out new Machines if the templates differ.",
            min_length=1,
            max_length=256,
        ),
    ]
    name: Annotated[
        str,
        rules(
            "name identifies the MachineDeployment in the topology. It must be unique among "
            "the MachineDeployments. A change deletes the MachineDeployment and creates "
            "another one.",
            min_length=1,
            max_length=63,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    failure_domain: Annotated[
        str,
        rules(
            "failureDomain is the failure domain in which the Machines are created. If it is "
            "not set, the value of the ClusterClass applies. A change rolls out new "
            "Machines.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    replicas: Annotated[
        int | None,
        rules(
            "replicas is the number of desired Machines. If it is not set, the topology "
            "controller does not manage the number, and an autoscaler can. A new "
            "MachineDeployment then defaults to 1 or to the minimum size in the autoscaler's "
            "annotations. A change is no rollout.",
            format="int32",
        ),
    ] = None
    health_check: Annotated[
        WorkerTopologyHealthCheck,
        rules(
            "healthCheck configures the MachineHealthCheck of the Machines. It takes "
            "precedence over the ClusterClass."
        ),
    ] = field(default_factory=WorkerTopologyHealthCheck)
    deletion: Annotated[
        WorkerDeletionSpec,
        rules(
            "deletion configures the deletion of Machines. It takes precedence over the "
            "ClusterClass. A change is applied in place."
        ),
    ] = field(default_factory=WorkerDeletionSpec)
    taints: Annotated[
        Taints,
        rules(
            "taints are the taints that Cluster API sets on the Nodes of the Machines. If it "
            "is not set, the list of the ClusterClass applies. At most 64 are allowed. A "
            "change is applied in place."
        ),
    ] = field(default_factory=list)
    min_ready_seconds: Annotated[
        int | None,
        rules(
            "minReadySeconds is the time in seconds for which a Machine must be Ready before "
            "it counts as Available. If it is not set, the value of the ClusterClass "
            "applies. Defaults to 0. A change is applied in place.",
            format="int32",
            minimum=0,
        ),
    ] = None
    readiness_gates: Annotated[
        ReadinessGates,
        rules(
            "readinessGates are additional conditions of the Machines that must hold before "
            "their Ready condition becomes True. If it is not set, the list of the "
            "ClusterClass applies. At most 32 are allowed. A change is applied in place."
        ),
    ] = field(default_factory=list)
    rollout: Annotated[
        MachineDeploymentRolloutSpec,
        rules(
            "rollout configures when and how Machines are replaced. If it is not set, the "
            "strategy of the ClusterClass applies."
        ),
    ] = field(default_factory=MachineDeploymentRolloutSpec)
    variables: Annotated[
        VariableOverrides,
        rules("variables are values of variables that apply to this MachineDeployment only."),
    ] = field(default_factory=VariableOverrides)


class MachinePoolTopology(Model, kw_only=True):
    """MachinePoolTopology describes one MachinePool of a cluster."""

    metadata: Annotated[
        TemplateMeta,
        rules(
            "metadata are labels and annotations of the MachinePool and of its machines. "
            "They take precedence over those of the ClusterClass."
        ),
    ] = field(default_factory=TemplateMeta)
    class_: Annotated[
        str,
        rules(
            "class is the name of the MachinePool class in the ClusterClass. The "
            "infrastructure provider decides whether a change replaces machines by a "
            "rollout.",
            min_length=1,
            max_length=256,
        ),
    ]
    name: Annotated[
        str,
        rules(
            "name identifies the MachinePool in the topology. It must be unique among the "
            "MachinePools. A change deletes the MachinePool and creates another one.",
            min_length=1,
            max_length=63,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    failure_domains: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "failureDomains are the failure domains in which the machines are created. If it "
            "is not set, the list of the ClusterClass applies. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    deletion: Annotated[
        MachineDeletionSpec,
        rules(
            "deletion configures the deletion of the pool's Machines. It takes precedence "
            "over the ClusterClass."
        ),
    ] = field(default_factory=MachineDeletionSpec)
    taints: Annotated[
        Taints,
        rules(
            "taints are the taints that Cluster API sets on the Nodes of the machines. If it "
            "is not set, the list of the ClusterClass applies. At most 64 are allowed."
        ),
    ] = field(default_factory=list)
    min_ready_seconds: Annotated[
        int | None,
        rules(
            "minReadySeconds is the time in seconds for which a machine must be Ready before "
            "it counts as Available. If it is not set, the value of the ClusterClass "
            "applies. Defaults to 0.",
            format="int32",
            minimum=0,
        ),
    ] = None
    replicas: Annotated[
        int | None,
        rules(
            "replicas is the number of desired machines in the pool. If it is not set, the "
            "topology controller does not manage the number, and an autoscaler can. A new "
            "MachinePool then defaults to 1 or to the minimum size in the autoscaler's "
            "annotations.",
            format="int32",
        ),
    ] = None
    variables: Annotated[
        VariableOverrides,
        rules("variables are values of variables that apply to this MachinePool only."),
    ] = field(default_factory=VariableOverrides)


class WorkersTopology(Model):
    """WorkersTopology describes the workers of a cluster."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    machine_deployments: Annotated[
        list[MachineDeploymentTopology],
        rules(
            "machineDeployments are the MachineDeployments of the cluster. Removing an entry "
            "deletes its MachineDeployment with all Machines. At most 2000 are allowed.",
            min_items=1,
            max_items=2000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    machine_pools: Annotated[
        list[MachinePoolTopology],
        rules(
            "machinePools are the MachinePools of the cluster. Removing an entry deletes its "
            "MachinePool with all machines. At most 2000 are allowed.",
            min_items=1,
            max_items=2000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
