"""ClusterClass: what many clusters have in common, said once."""

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
    """What the infrastructure of clusters is made of."""

    template_ref: Annotated[ClusterClassTemplateReference, rules("Names the template.")]
    naming: Annotated[ClassNaming, rules("How the infrastructure object is named.")] = field(
        default_factory=ClassNaming
    )


class ControlPlaneClass(Model, kw_only=True):
    """What control planes are made of."""

    metadata: Annotated[
        TemplateMeta, rules("Labels and annotations for the control plane and its Machines.")
    ] = field(default_factory=TemplateMeta)
    template_ref: Annotated[ClusterClassTemplateReference, rules("Names the template.")]
    machine_infrastructure: Annotated[
        ClusterClassTemplate | None,
        rules(
            "The template of the machines' infrastructure, for control planes with Machines.",
            zero="omitted",
        ),
    ] = None
    health_check: Annotated[
        ControlPlaneHealthCheck,
        rules("How unhealthy control plane Machines are found and replaced."),
    ] = field(default_factory=ControlPlaneHealthCheck)
    naming: Annotated[ClassNaming, rules("How the control plane object is named.")] = field(
        default_factory=ClassNaming
    )
    deletion: Annotated[MachineDeletionSpec, rules("How Machines are deleted.")] = field(
        default_factory=MachineDeletionSpec
    )
    taints: Taints = field(default_factory=list)
    readiness_gates: ReadinessGates = field(default_factory=list)


class ClusterClassUpgradeExternal(Model):
    """Extensions that decide about upgrades."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    generate_upgrade_plan_extension: Annotated[
        str,
        rules(
            "The extension that says which versions an upgrade goes through.",
            min_length=1,
            max_length=512,
        ),
    ] = ""


class ClusterClassUpgrade(Model):
    """How clusters are upgraded."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    external: Annotated[
        ClusterClassUpgradeExternal, rules("Extensions that decide about upgrades.")
    ] = field(default_factory=ClusterClassUpgradeExternal)


class ClusterClassSpec(Model, kw_only=True):
    """What the clusters of a class are made of."""

    availability_gates: Annotated[
        list[ClusterAvailabilityGate],
        rules(
            "Conditions that must hold too before a cluster counts as Available.",
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)
    infrastructure: Annotated[
        InfrastructureClass, rules("What the infrastructure of clusters is made of.")
    ]
    control_plane: Annotated[ControlPlaneClass, rules("What control planes are made of.")]
    workers: Annotated[WorkersClass, rules("The classes of worker machines.")] = field(
        default_factory=WorkersClass
    )
    variables: Annotated[
        list[ClusterClassVariable],
        rules(
            "The variables that Clusters give values and patches use.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    patches: Annotated[
        list[ClusterClassPatch],
        rules(
            "How variables change what is made of the templates, in this order.",
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    upgrade: Annotated[ClusterClassUpgrade, rules("How clusters are upgraded.")] = field(
        default_factory=ClusterClassUpgrade
    )
    kubernetes_versions: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(
            "The Kubernetes versions that clusters may have, oldest first; upgrades go through "
            "one of each minor version. Any version when absent.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class ClusterClassStatus(Model):
    """What was seen of a ClusterClass."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    variables: Annotated[
        list[ClusterClassStatusVariable],
        rules(
            "All variables, those that external patches define too.",
            max_items=1000,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    observed_generation: ObservedGeneration = 0
    deprecated: Deprecated = None


class ClusterClass(Object, kw_only=True):
    """What clusters are made of: templates, variables, and patches between them."""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "clusterclasses", "ClusterClass"
    )

    spec: Annotated[ClusterClassSpec, rules("The class as it is wanted.")]
    status: Annotated[ClusterClassStatus, rules("The class as it was seen last.")] = field(
        default_factory=ClusterClassStatus
    )
