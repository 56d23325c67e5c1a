"""The objects of a managed cluster, in their current or desired state.

Objects of providers are documents, our own kinds are Structs. In a current state None means that
the object does not exist; a failed read never becomes a state.
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
    """A control plane object and the objects that belong to it alone."""

    object: Document | None = None
    infrastructure_machine_template: Document | None = None
    machine_health_check: MachineHealthCheck | None = None


@dataclass
class MachineDeploymentState:
    """A MachineDeployment and the objects that belong to it alone.

    Templates are None only in a current state, if the MachineDeployment is being deleted.
    is_upgrading: one of its Machines has another version than it (current state only).
    """

    object: MachineDeployment
    bootstrap_template: Document | None = None
    infrastructure_machine_template: Document | None = None
    machine_health_check: MachineHealthCheck | None = None
    is_upgrading: bool = False


@dataclass
class MachinePoolState:
    """A MachinePool and the objects that belong to it alone.

    Its bootstrap and infrastructure objects are None only in a current state, if the MachinePool is
    being deleted. is_upgrading: one of its Nodes has another version than it (current state only).
    """

    object: MachinePool
    bootstrap_object: Document | None = None
    infrastructure_machine_pool_object: Document | None = None
    is_upgrading: bool = False


@dataclass
class ClusterState:
    """The objects of a managed cluster, in their current or desired state. Workers are keyed by
    their topology names.

    In a desired state the Cluster is the current one with the desired references, labels and
    annotations.
    """

    cluster: Cluster
    infrastructure_cluster: Document | None = None
    control_plane: ControlPlaneState = field(default_factory=ControlPlaneState)
    machine_deployments: Mapping[str, MachineDeploymentState] = field(default_factory=dict)
    machine_pools: Mapping[str, MachinePoolState] = field(default_factory=dict)
