"""ClusterClass: the shared definition from which many Clusters are created."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.cluster import ClusterAvailabilityGate
from kapy.api.cluster_class_patches import ClusterClassPatch
from kapy.api.cluster_class_template import (
    ClassNaming,
    ClusterClassTemplate,
    ClusterClassTemplateReference,
)
from kapy.api.cluster_class_variables import ClusterClassStatusVariable, ClusterClassVariable
from kapy.api.cluster_class_workers import WorkersClass
from kapy.api.embedded import ReadinessGates, Taints, TemplateMeta
from kapy.api.health_check import ControlPlaneHealthCheck
from kapy.api.machine import MachineDeletionSpec
from kapy.api.status import Conditions, Deprecated, ObservedGeneration
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class InfrastructureClass(Model):
    """InfrastructureClass describes the infrastructure of the clusters of a ClusterClass."""

    template_ref: Annotated[
        ClusterClassTemplateReference,
        rules(
            "templateRef is a reference to the template of the infrastructure object. A "
            "change creates or updates the object of each Cluster in place."
        ),
    ]
    naming: Annotated[
        ClassNaming,
        rules(
            "naming configures the name of the infrastructure object. A change applies to "
            "new Clusters only."
        ),
    ] = field(default_factory=ClassNaming)


class ControlPlaneClass(Model, kw_only=True):
    """ControlPlaneClass describes the control planes of the clusters of a ClusterClass."""

    metadata: Annotated[
        TemplateMeta,
        rules(
            "metadata are labels and annotations of the control plane object and of its "
            "Machines. Those of the Cluster's topology take precedence. A change is applied "
            "in place."
        ),
    ] = field(default_factory=TemplateMeta)
    template_ref: Annotated[
        ClusterClassTemplateReference,
        rules(
            "templateRef is a reference to the template of the control plane object. A "
            "change updates the object of each Cluster. It causes a rollout if the control "
            "plane provider replaces machines for it."
        ),
    ]
    machine_infrastructure: Annotated[
        ClusterClassTemplate | None,
        rules(
            "machineInfrastructure is the template of the infrastructure of control plane "
            "Machines. It must be set if the control plane provider creates Machines. A "
            "change rolls out new control plane Machines.",
            zero="omitted",
        ),
    ] = None
    health_check: Annotated[
        ControlPlaneHealthCheck,
        rules(
            "healthCheck configures a MachineHealthCheck for the control plane Machines. If "
            "it is not set, there is none, unless the Cluster defines one."
        ),
    ] = field(default_factory=ControlPlaneHealthCheck)
    naming: Annotated[
        ClassNaming,
        rules(
            "naming configures the name of the control plane object. A change applies to new "
            "Clusters only."
        ),
    ] = field(default_factory=ClassNaming)
    deletion: Annotated[
        MachineDeletionSpec,
        rules(
            "deletion configures the deletion of control plane Machines. Values in the "
            "Cluster's topology take precedence. A change is applied in place."
        ),
    ] = field(default_factory=MachineDeletionSpec)
    taints: Annotated[
        Taints,
        rules(
            "taints are the taints that Cluster API sets on the Nodes of control plane "
            "Machines. The list in the Cluster's topology takes precedence. At most 64 are "
            "allowed. A change is applied in place."
        ),
    ] = field(default_factory=list)
    readiness_gates: Annotated[
        ReadinessGates,
        rules(
            "readinessGates are additional conditions of control plane Machines that must "
            "hold before their Ready condition becomes True. The list in the Cluster's "
            "topology takes precedence. At most 32 are allowed. A change is applied in "
            "place."
        ),
    ] = field(default_factory=list)


class ClusterClassUpgradeExternal(Model):
    """ClusterClassUpgradeExternal names runtime extensions that take part in upgrades."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    generate_upgrade_plan_extension: Annotated[
        str,
        rules(
            "generateUpgradePlanExtension is the name of a runtime extension handler for the "
            "GenerateUpgradePlan hook. The handler returns the Kubernetes versions through "
            "which an upgrade goes. It must not be set together with kubernetesVersions.",
            min_length=1,
            max_length=512,
        ),
    ] = ""


class ClusterClassUpgrade(Model):
    """ClusterClassUpgrade configures upgrades of the clusters of a ClusterClass."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    external: Annotated[
        ClusterClassUpgradeExternal,
        rules(
            "external names runtime extensions that take part in upgrades. The feature gate "
            "RuntimeSDK must be enabled."
        ),
    ] = field(default_factory=ClusterClassUpgradeExternal)


class ClusterClassSpec(Model, kw_only=True):
    """ClusterClassSpec is the desired state of a ClusterClass."""

    availability_gates: Annotated[
        list[ClusterAvailabilityGate],
        rules(
            "availabilityGates are additional conditions of a Cluster that must hold before "
            "its Available condition becomes True. The list in the Cluster takes precedence. "
            "At most 32 are allowed.",
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)
    infrastructure: Annotated[
        InfrastructureClass,
        rules("infrastructure describes the infrastructure of the clusters. It is required."),
    ]
    control_plane: Annotated[
        ControlPlaneClass,
        rules("controlPlane describes the control planes of the clusters. It is required."),
    ]
    workers: Annotated[
        WorkersClass, rules("workers describes the classes of workers that Clusters can use.")
    ] = field(default_factory=WorkersClass)
    variables: Annotated[
        list[ClusterClassVariable],
        rules(
            "variables are the variables for which Clusters give values. Patches use the "
            "values. At most 1000 are allowed.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    patches: Annotated[
        list[ClusterClassPatch],
        rules(
            "patches change the objects that are created from the templates, depending on "
            "the variables. They are applied in the order of the list. At most 1000 are "
            "allowed. A change is applied to all Clusters of the class. It causes a rollout "
            "if a machine template changes.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    upgrade: Annotated[
        ClusterClassUpgrade, rules("upgrade configures upgrades of the clusters.")
    ] = field(default_factory=ClusterClassUpgrade)
    kubernetes_versions: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "kubernetesVersions are the Kubernetes versions that the clusters may use, in "
            "ascending order. If it is set, an upgrade over several minor versions is "
            "allowed and passes through them step by step. If it is not set, any version is "
            "allowed, and an upgrade skips no minor version. At most 100 are allowed.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ClusterClassStatus(Model):
    """ClusterClassStatus is the observed state of a ClusterClass."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the ClusterClass's current state. Types are "
            "VariablesReady, RefVersionsUpToDate and Paused. The reason of VariablesReady is "
            "VariablesReady or VariableDiscoveryFailed. The reason of RefVersionsUpToDate is "
            "RefVersionsUpToDate or RefVersionsNotUpToDate."
        ),
    ] = field(default_factory=list)
    variables: Annotated[
        list[ClusterClassStatusVariable],
        rules(
            "variables are all variables of the class, including those that external patches "
            "define. At most 1000 are stored.",
            max_items=1000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    observed_generation: ObservedGeneration = 0
    deprecated: Deprecated = None


class ClusterClass(Object, kw_only=True):
    """ClusterClass is a reusable definition of clusters. It consists of templates, variables
    and patches.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "clusterclasses", "ClusterClass"
    )

    spec: Annotated[
        ClusterClassSpec,
        rules(
            "spec is the desired state of the ClusterClass. A change is applied to all "
            "Clusters that use the class."
        ),
    ]
    status: Annotated[
        ClusterClassStatus,
        rules(
            "status is the observed state of the ClusterClass. The ClusterClass controller "
            "writes it."
        ),
    ] = field(default_factory=ClusterClassStatus)
