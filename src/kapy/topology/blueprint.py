"""What a cluster is to be made of: its topology, its ClusterClass, and the class's templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_topology import Topology
from kapy.contract.fields import CURRENT, Version
from kapy.kube import Document


@dataclass(frozen=True)
class ControlPlaneBlueprint:
    """Templates of the control plane. Machine templates are there where the class names one.

    contract: by which contract the control plane's object is read and written, in the version that
    the template has.
    """

    template: Document
    infrastructure_machine_template: Document | None = None
    contract: Version = CURRENT


@dataclass(frozen=True)
class WorkersBlueprint:
    """Templates of one class of workers.

    For a MachineDeployment class, of bootstrap configurations and infrastructure machines; for a
    MachinePool class, of bootstrap configurations and infrastructure machine pools.
    """

    bootstrap_template: Document
    infrastructure_template: Document


@dataclass(frozen=True)
class Blueprint:
    """All that a desired state is computed from, but for what is there already.

    Templates are shared documents, in the versions of their contracts, never changed here.
    machine_deployments, machine_pools: by the name of the class.
    """

    topology: Topology
    cluster_class: ClusterClass
    infrastructure_cluster_template: Document
    control_plane: ControlPlaneBlueprint
    machine_deployments: Mapping[str, WorkersBlueprint] = field(default_factory=dict)
    machine_pools: Mapping[str, WorkersBlueprint] = field(default_factory=dict)
