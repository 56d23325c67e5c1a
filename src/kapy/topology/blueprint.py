"""The inputs of a managed cluster: its topology, its ClusterClass and the class's templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_topology import Topology
from kapy.contract.fields import CURRENT, Version
from kapy.kube import Document


@dataclass(frozen=True)
class ControlPlaneBlueprint:
    """Templates of the control plane. The machine template is set only if the class names one.

    contract: the contract of the template's version, by which the control plane object is read and
    written.
    """

    template: Document
    infrastructure_machine_template: Document | None = None
    contract: Version = CURRENT


@dataclass(frozen=True)
class WorkersBlueprint:
    """Templates of one class of workers.

    A MachineDeployment class has a bootstrap template and an infrastructure machine template. A
    MachinePool class has a bootstrap template and an infrastructure machine pool template.
    """

    bootstrap_template: Document
    infrastructure_template: Document


@dataclass(frozen=True)
class Blueprint:
    """All inputs of a desired state except the current objects.

    Templates are shared documents in their contract versions and are never changed here.
    machine_deployments, machine_pools: keyed by class name.
    """

    topology: Topology
    cluster_class: ClusterClass
    infrastructure_cluster_template: Document
    control_plane: ControlPlaneBlueprint
    machine_deployments: Mapping[str, WorkersBlueprint] = field(default_factory=dict)
    machine_pools: Mapping[str, WorkersBlueprint] = field(default_factory=dict)
