"""What kinds of control planes have: the fields that the contract asks for, of authors and here.

class StackSpec(ControlPlaneOfMachinesSpec, kw_only=True):
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
from kapy.sdk.lens import Lens, LensStatus


class ControlPlaneInitialization(Model):
    """Milestones of the first provisioning; they are not taken back."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    control_plane_initialized: Annotated[
        bool | None, rules("Whether the control plane has taken requests once.")
    ] = None


class ControlPlaneSpec(Model):
    """What a control plane should be."""

    control_plane_endpoint: Annotated[
        APIEndpoint, rules("Where the API server is reached; the provider fills it in.")
    ] = field(default_factory=APIEndpoint)
    replicas: Annotated[
        int | None, rules("How many instances there should be; 1 unless said.", format="int32")
    ] = None
    version: Annotated[
        str, rules("The Kubernetes version to run.", min_length=1, max_length=256)
    ] = ""


class ControlPlaneStatus(LensStatus):
    """What was seen of a control plane."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    initialization: Annotated[
        ControlPlaneInitialization,
        rules("Milestones of the first provisioning; they are not taken back."),
    ] = field(default_factory=ControlPlaneInitialization)
    external_managed_control_plane: Annotated[
        bool | None, rules("Whether the control plane has no Nodes in its cluster.")
    ] = None
    selector: Selector = ""
    replicas: Replicas = None
    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None
    version: Annotated[
        str, rules("The oldest version that the control plane runs.", min_length=1, max_length=256)
    ] = ""
    versions: Versions = field(default_factory=list)
    deprecated: Deprecated = None


class ControlPlaneLens(Lens):
    """A control plane as its contract sees it."""

    spec: ControlPlaneSpec = field(default_factory=ControlPlaneSpec)
    status: ControlPlaneStatus = field(default_factory=ControlPlaneStatus)


class RolloutSpec(Model):
    """When Machines are replaced."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[
        str | None,
        rules(
            "Machines that are older than this moment are replaced once it has passed.",
            format="date-time",
        ),
    ] = None


class ControlPlaneOfMachinesSpec(ControlPlaneSpec, kw_only=True):
    """What a control plane of Machines should be."""

    machine_template: Annotated[
        ControlPlaneMachineTemplate, rules("What the control plane's Machines look like.")
    ]
    rollout: Annotated[RolloutSpec, rules("When Machines are replaced.")] = field(
        default_factory=RolloutSpec
    )


class MachineControlPlaneLens(ControlPlaneLens, kw_only=True):
    """A control plane that is made of Machines, as its contract sees it."""

    spec: ControlPlaneOfMachinesSpec
