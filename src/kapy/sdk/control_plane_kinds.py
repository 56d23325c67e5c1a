"""The fields of control planes that the contract requires, as bases of an author's kinds.

class StackSpec(MachineBasedControlPlaneSpec, kw_only=True):
    size: Annotated[str, rules("How large it is.")] = "small"

class Stack(Object, kw_only=True):
    RESOURCE = resource("controlplane.cluster.x-k8s.io", "v1alpha1", "Stack")
    spec: StackSpec
    status: ControlPlaneStatus = field(default_factory=ControlPlaneStatus)
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import APIEndpoint
from kapy.api.kubeadm_control_plane_machines import (
    KubeadmControlPlaneMachineTemplate as ControlPlaneMachineTemplate,
)
from kapy.api.status import (
    AvailableReplicas,
    Conditions,
    Deprecated,
    ReadyReplicas,
    Replicas,
    Selector,
    UpToDateReplicas,
    Versions,
)
from kapy.kube import Document
from kapy.kube.model import Model, rules
from kapy.sdk.contract_objects import ContractObject, ContractStatus


class ControlPlaneInitialization(Model):
    """ControlPlaneInitialization records the milestones of a control plane's first
    provisioning. A milestone stays true once it is reached.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane_initialized: Annotated[
        bool | None,
        rules(
            "controlPlaneInitialized is true after the API server of the workload cluster "
            "has accepted requests for the first time. Workers join and addons are installed "
            "after that. It stays true afterwards."
        ),
    ] = None


class ControlPlaneSpec(Model):
    """ControlPlaneSpec is the base of the desired state of a control plane."""

    control_plane_endpoint: Annotated[
        APIEndpoint,
        rules(
            "controlPlaneEndpoint is the address of the workload cluster's API server. The "
            "provider sets it, unless a user has set it. The Cluster controller copies it."
        ),
    ] = field(default_factory=APIEndpoint)
    replicas: Annotated[
        int | None,
        rules(
            "replicas is the number of desired control plane instances. If it is not set, it "
            "defaults to 1. A change scales the control plane.",
            format="int32",
        ),
    ] = None
    version: Annotated[
        str,
        rules(
            "version is the desired Kubernetes version, for example v1.34.1. A change "
            "upgrades the control plane.",
            min_length=1,
            max_length=256,
        ),
    ] = ""


class ControlPlaneStatus(ContractStatus):
    """ControlPlaneStatus is the base of the observed state of a control plane."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    initialization: Annotated[
        ControlPlaneInitialization,
        rules(
            "initialization records the milestones of the control plane's first "
            "provisioning. The Cluster controller reads it."
        ),
    ] = field(default_factory=ControlPlaneInitialization)
    external_managed_control_plane: Annotated[
        bool | None,
        rules(
            "externalManagedControlPlane is true if the instances of the control plane are "
            "no Nodes of the workload cluster."
        ),
    ] = None
    selector: Selector = ""
    replicas: Replicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    version: Annotated[
        str,
        rules(
            "version is the lowest Kubernetes version of the control plane instances.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    versions: Versions = field(default_factory=list)
    deprecated: Deprecated = None


class ControlPlaneContractObject(ContractObject):
    """ControlPlaneLens is a control plane with the fields of its contract."""

    spec: ControlPlaneSpec = field(default_factory=ControlPlaneSpec)
    status: ControlPlaneStatus = field(default_factory=ControlPlaneStatus)


class RolloutSpec(Model):
    """RolloutSpec configures when control plane Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[
        str | None,
        rules(
            "after is a time in the format of RFC 3339. Once it has passed, Machines that "
            "were created before it are replaced by a rollout, even if nothing else has "
            "changed.",
            format="date-time",
        ),
    ] = None


class MachineBasedControlPlaneSpec(ControlPlaneSpec, kw_only=True):
    """MachineBasedControlPlaneSpec is the base of the desired state of a control plane that
    consists of Machines.
    """

    machine_template: Annotated[
        ControlPlaneMachineTemplate, rules("machineTemplate describes the control plane Machines.")
    ]
    rollout: Annotated[
        RolloutSpec, rules("rollout configures when control plane Machines are replaced.")
    ] = field(default_factory=RolloutSpec)


class MachineControlPlaneContractObject(ControlPlaneContractObject, kw_only=True):
    """MachineControlPlaneLens is a control plane of Machines with the fields of its contract."""

    spec: MachineBasedControlPlaneSpec
