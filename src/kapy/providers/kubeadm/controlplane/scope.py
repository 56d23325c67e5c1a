"""The input and the findings of one reconcile of a KubeadmControlPlane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import ConditionType
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.desired import is_etcd_managed
from kapy.providers.kubeadm.controlplane.etcd import Alarm, Member
from kapy.providers.kubeadm.controlplane.uptodate import Outdated
from kapy.sdk import (
    DONE,
    Result,
    conditions,
    v1beta1,
)
from kapy.sdk.controllers import Draft


@dataclass(slots=True)
class EtcdState:
    """The state of the etcd of a control plane. members: None if etcd could not be queried.
    failure: the reason for that, "" if there is no etcd to query. reached: whether a member
    answered, but not every request.
    """

    members: Sequence[Member] | None = None
    alarms: Sequence[Alarm] = ()
    leader: Member | None = None
    matches_machines: bool = False
    failure: str = ""
    reached: bool = False

    def alarms_of(self, member: Member) -> list[str]:
        """Return the alarms of a member."""
        return [alarm.kind for alarm in self.alarms if alarm.member_id == member.id]


@dataclass(slots=True)
class Preflight:
    """The reasons for which no Machine may be added or removed now."""

    topology_version: str = ""
    deleting_machine: bool = False
    certificate_missing: bool = False
    components_not_healthy: bool = False
    etcd_not_healthy: bool = False


@dataclass(slots=True)
class ControlPlane:
    """A KubeadmControlPlane with its Cluster and its Machines (by name).

    configs, infrastructure: the KubeadmConfigs and infrastructure objects by Machine name. nodes:
    the Nodes of the Machines by name; None while they cannot be read. template_problem: why the
    infrastructure template cannot be used. creation_problem: why the server refused an object.
    not_connected: why the workload cluster cannot be reached. undecided: why it is unknown whether
    a Machine can be updated in place. requeue: the earliest requeue that a step requested. foreign:
    the cluster's control plane Machines of other owners. is_steady: whether every step had nothing
    to do. has_unwatched_secrets: whether a certificate is missing, or is in a Secret without the
    label by which Secrets are watched. is_observed: False while the workload cluster cannot be
    reached and the last known health still counts.
    """

    draft: Draft[KubeadmControlPlane]
    cluster: Cluster
    now: datetime
    drafts: list[Draft[Machine]] = field(default_factory=list)
    foreign: list[Document] = field(default_factory=list)
    configs: dict[str, KubeadmConfig] = field(default_factory=dict)
    infrastructure: dict[str, Document] = field(default_factory=dict)
    outdated: dict[str, Outdated] = field(default_factory=dict)
    template_problem: str = ""
    creation_problem: str = ""
    not_connected: str = ""
    undecided: str = ""
    nodes: dict[str, Document] | None = None
    etcd: EtcdState = field(default_factory=EtcdState)
    preflight: Preflight = field(default_factory=Preflight)
    requeue: Result = DONE
    is_steady: bool = False
    has_unwatched_secrets: bool = False
    is_observed: bool = True
    deleting_reason: str = ""
    deleting_message: str = ""

    @property
    def kcp(self) -> KubeadmControlPlane:
        return self.draft.object

    @property
    def machines(self) -> list[Machine]:
        return [draft.object for draft in self.drafts]

    @property
    def is_etcd_managed(self) -> bool:
        """Whether etcd runs on the Machines."""
        return is_etcd_managed(self.kcp)

    @property
    def is_initialized(self) -> bool:
        """Whether `kubeadm init` succeeded once."""
        return bool(self.kcp.status.initialization.control_plane_initialized)

    @property
    def desired_replicas(self) -> int:
        replicas = self.kcp.spec.replicas
        return 1 if replicas is None else replicas

    @property
    def machines_to_replace(self) -> list[Machine]:
        """Return the outdated Machines, without those in deletion."""
        return [
            machine
            for machine in self.machines
            if self.is_outdated(machine) and not machine.deleting
        ]

    @property
    def is_unrecoverable(self) -> bool:
        """Whether it was initialized and no Machine is left, so that none can join."""
        return self.is_initialized and not self.machines

    def is_outdated(self, machine: Machine) -> bool:
        """Return whether the Machine differs from one that would be created now."""
        return bool(self.outdated.get(machine.metadata.name))

    def requeue_by(self, result: Result) -> None:
        """Requeue at that time at the latest."""
        self.requeue = self.requeue.earlier_of(result)

    def set(self, condition: Condition) -> None:
        """Write a condition to the KubeadmControlPlane."""
        conditions.set_condition(self.kcp, condition, self.now)

    def set_on(self, machine: Machine, condition: Condition) -> None:
        """Write a condition to a Machine."""
        conditions.set_condition(machine, condition, self.now)

    def set_v1beta1(self, condition: V1Beta1Condition | None) -> None:
        """Write a condition of v1beta1 to the KubeadmControlPlane; None changes nothing."""
        if condition is not None:
            v1beta1.set_condition(v1beta1.conditions_of(self.kcp), condition, self.now)

    def set_v1beta1_on(self, machine: Machine, condition: V1Beta1Condition | None) -> None:
        """Write a condition of v1beta1 to a Machine; None changes nothing."""
        if condition is not None:
            v1beta1.set_condition(v1beta1.conditions_of(machine), condition, self.now)


def v1beta1_conditions_of(obj: Machine | KubeadmControlPlane) -> Sequence[V1Beta1Condition]:
    """Return the conditions of v1beta1 that an object reports."""
    deprecated = obj.status.deprecated
    if deprecated is None or deprecated.v1beta1 is None:
        return ()
    return deprecated.v1beta1.conditions


def has_node(machine: Machine) -> bool:
    """Return whether the Machine's Node is known."""
    return machine.status.node_ref is not None


def node_name(machine: Machine) -> str:
    """Return the name of the Machine's Node, "" while it is not known."""
    return machine.status.node_ref.name if machine.status.node_ref is not None else ""


def is_true(machine: Machine, type_: str) -> bool:
    """Return whether a Machine reports a condition as True."""
    return conditions.is_true(machine.status.conditions, type_)


def is_false(machine: Machine, type_: str) -> bool:
    """Return whether a Machine reports a condition as False."""
    return conditions.is_false(machine.status.conditions, type_)


def is_to_be_remediated(machine: Machine) -> bool:
    """Return whether a health check found the Machine unhealthy and left it to us to replace it."""
    return is_false(machine, ConditionType.HEALTH_CHECK_SUCCEEDED) and is_false(
        machine, ConditionType.OWNER_REMEDIATED
    )
