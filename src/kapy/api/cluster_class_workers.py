"""The classes of worker machines in a ClusterClass."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster_class_template import ClassNaming, ClusterClassTemplate
from kapy.api.embedded import ReadinessGates, Taints, TemplateMeta
from kapy.api.health_check import WorkerHealthCheck
from kapy.api.machine import MachineDeletionSpec
from kapy.api.machine_deployment import MachineDeploymentRolloutStrategy
from kapy.api.worker_deletion import WorkerDeletionSpec
from kapy.kube import Document
from kapy.kube.model import Model, rules


class MachineDeploymentClassRolloutSpec(Model):
    """MachineDeploymentClassRolloutSpec configures how Machines of a class are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    strategy: Annotated[
        MachineDeploymentRolloutStrategy | None,
        rules(
            "strategy selects how old Machines are replaced. Values in the Cluster's "
            "topology take precedence.",
            zero="omitted",
        ),
    ] = None


class MachineDeploymentClass(Model, kw_only=True):
    """MachineDeploymentClass describes the MachineDeployments that Clusters can create from a
    ClusterClass.
    """

    metadata: Annotated[
        TemplateMeta,
        rules(
            "metadata are labels and annotations of the MachineDeployment and of its "
            "Machines. Those of the Cluster's topology take precedence. A change is applied "
            "in place."
        ),
    ] = field(default_factory=TemplateMeta)
    class_: Annotated[
        str,
        rules(
            "class is the name of this class. Clusters refer to it. It must be unique among "
            "the MachineDeployment classes. It cannot be removed while a Cluster uses it.",
            min_length=1,
            max_length=256,
        ),
    ] = field(name="class")
    bootstrap: Annotated[
        ClusterClassTemplate,
        rules(
            "bootstrap is the template of the bootstrap objects. A change rolls out new Machines."
        ),
    ]
    infrastructure: Annotated[
        ClusterClassTemplate,
        rules(
            "infrastructure is the template of the infrastructure objects. A change rolls "
            "out new Machines."
        ),
    ]
    health_check: Annotated[
        WorkerHealthCheck,
        rules(
            "healthCheck configures a MachineHealthCheck for the Machines. If it is not set, "
            "there is none, unless the Cluster defines one."
        ),
    ] = field(default_factory=WorkerHealthCheck)
    failure_domain: Annotated[
        str,
        rules(
            "failureDomain is the failure domain in which the Machines are created. The "
            "value in the Cluster's topology takes precedence. A change rolls out new "
            "Machines.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    naming: Annotated[
        ClassNaming,
        rules(
            "naming configures the names of MachineDeployments. A change applies to new "
            "MachineDeployments only."
        ),
    ] = field(default_factory=ClassNaming)
    deletion: Annotated[
        WorkerDeletionSpec,
        rules(
            "deletion configures the deletion of Machines. Values in the Cluster's topology "
            "take precedence. A change is applied in place."
        ),
    ] = field(default_factory=WorkerDeletionSpec)
    taints: Annotated[
        Taints,
        rules(
            "taints are the taints that Cluster API sets on the Nodes of the Machines. The "
            "list in the Cluster's topology takes precedence. At most 64 are allowed. A "
            "change is applied in place."
        ),
    ] = field(default_factory=list)
    min_ready_seconds: Annotated[
        int | None,
        rules(
            "minReadySeconds is the time in seconds for which a Machine must be Ready before "
            "it counts as Available. The value in the Cluster's topology takes precedence. "
            "Defaults to 0. A change is applied in place.",
            format="int32",
            minimum=0,
        ),
    ] = None
    readiness_gates: Annotated[
        ReadinessGates,
        rules(
            "readinessGates are additional conditions of the Machines that must hold before "
            "their Ready condition becomes True. The list in the Cluster's topology takes "
            "precedence. At most 32 are allowed. A change is applied in place."
        ),
    ] = field(default_factory=list)
    rollout: Annotated[
        MachineDeploymentClassRolloutSpec,
        rules(
            "rollout configures how Machines are replaced. Values in the Cluster's topology "
            "take precedence."
        ),
    ] = field(default_factory=MachineDeploymentClassRolloutSpec)


class MachinePoolClass(Model, kw_only=True):
    """MachinePoolClass describes the MachinePools that Clusters can create from a ClusterClass."""

    metadata: Annotated[
        TemplateMeta,
        rules(
            "metadata are labels and annotations of the MachinePool and of its machines. "
            "Those of the Cluster's topology take precedence."
        ),
    ] = field(default_factory=TemplateMeta)
    class_: Annotated[
        str,
        rules(
            "class is the name of this class. Clusters refer to it. It must be unique among "
            "the MachinePool classes. It cannot be removed while a Cluster uses it.",
            min_length=1,
            max_length=256,
        ),
    ] = field(name="class")
    bootstrap: Annotated[
        ClusterClassTemplate,
        rules(
            "bootstrap is the template of the bootstrap object. The infrastructure provider "
            "decides whether a change replaces machines by a rollout."
        ),
    ]
    infrastructure: Annotated[
        ClusterClassTemplate,
        rules(
            "infrastructure is the template of the infrastructure object. The infrastructure "
            "provider decides whether a change replaces machines by a rollout."
        ),
    ]
    failure_domains: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "failureDomains are the failure domains in which the machines are created. The "
            "list in the Cluster's topology takes precedence. At most 100 are allowed.",
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    naming: Annotated[
        ClassNaming,
        rules(
            "naming configures the names of MachinePools. A change applies to new "
            "MachinePools only."
        ),
    ] = field(default_factory=ClassNaming)
    deletion: Annotated[
        MachineDeletionSpec,
        rules(
            "deletion configures the deletion of the pool's Machines. Values in the "
            "Cluster's topology take precedence."
        ),
    ] = field(default_factory=MachineDeletionSpec)
    taints: Annotated[
        Taints,
        rules(
            "taints are the taints that Cluster API sets on the Nodes of the machines. The "
            "list in the Cluster's topology takes precedence. At most 64 are allowed."
        ),
    ] = field(default_factory=list)
    min_ready_seconds: Annotated[
        int | None,
        rules(
            "minReadySeconds is the time in seconds for which a machine must be Ready before "
            "it counts as Available. The value in the Cluster's topology takes precedence. "
            "Defaults to 0.",
            format="int32",
            minimum=0,
        ),
    ] = None


class WorkersClass(Model):
    """WorkersClass describes the classes of workers of a ClusterClass."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    machine_deployments: Annotated[
        list[MachineDeploymentClass],
        rules(
            "machineDeployments are the classes from which Clusters create "
            "MachineDeployments. A class in use cannot be removed. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["class"],
        ),
    ] = field(default_factory=list)
    machine_pools: Annotated[
        list[MachinePoolClass],
        rules(
            "machinePools are the classes from which Clusters create MachinePools. A class "
            "in use cannot be removed. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["class"],
        ),
    ] = field(default_factory=list)
