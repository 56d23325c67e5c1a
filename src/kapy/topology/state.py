"""The objects of a managed cluster: as they are, or as they should be.

Objects of providers are documents, our own kinds Structs. In a current state None means that the
object is not there; a read that failed never becomes a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kapy.api.cluster import Cluster
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_pool import MachinePool
from kapy.kube import Document


@dataclass
class ControlPlaneState:
    """A control plane and what belongs to it alone."""

    object: Document | None = None
    infrastructure_machine_template: Document | None = None
    machine_health_check: MachineHealthCheck | None = None


@dataclass
class MachineDeploymentState:
    """A MachineDeployment and what belongs to it alone.

    Templates are None only in a current state, of a MachineDeployment that is being deleted.
    is_upgrading: whether one of its Machines has another version than it (current state only).
    """

    object: MachineDeployment
    bootstrap_template: Document | None = None
    infrastructure_machine_template: Document | None = None
    machine_health_check: MachineHealthCheck | None = None
    is_upgrading: bool = False


@dataclass
class MachinePoolState:
    """A MachinePool and what belongs to it alone.

    What it is made of is None only in a current state, of a MachinePool that is being deleted.
    is_upgrading: whether one of its Nodes has another version than it (current state only).
    """

    object: MachinePool
    bootstrap_object: Document | None = None
    infrastructure_machine_pool_object: Document | None = None
    is_upgrading: bool = False


@dataclass
class ClusterState:
    """A managed cluster. Workers are keyed by their names in the topology.

    The Cluster of a desired state is the current one with its references, labels and annotations as
    they should be.
    """

    cluster: Cluster
    infrastructure_cluster: Document | None = None
    control_plane: ControlPlaneState = field(default_factory=ControlPlaneState)
    machine_deployments: Mapping[str, MachineDeploymentState] = field(default_factory=dict)
    machine_pools: Mapping[str, MachinePoolState] = field(default_factory=dict)
