"""Control planes that are made of Machines: the questions that a provider answers.

How does a Machine of it start (`bootstrap`), and what can be seen of the control plane now
(`observe`)? Where it matters also: may a Machine go (`leave`), is one outdated (`outdated`), and
what else is to be taken back (`release`). The SDK makes, replaces and deletes the Machines, one at
a time, and keeps the rest of the contract: `kapy.sdk.control_plane_of_machines_controller`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from kapy.api.machine import Machine
from kapy.kube import Document
from kapy.remote.secrets import CLUSTER_CA, ETCD_CA, FRONT_PROXY_CA, SERVICE_ACCOUNT
from kapy.sdk.answers import ControlPlaneSeen, Released, Waiting
from kapy.sdk.cluster_certificates import ClusterCertificate
from kapy.sdk.control_plane import AnyControlPlaneProvider, ControlPlaneOrder

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesOrder(ControlPlaneOrder[T]):
    """A request about a control plane and its Machines; read-only for the provider.

    machines: by age, those that are being deleted among them. configs: the bootstrap configuration
    of each Machine whose configuration is there, by the Machine's name.
    """

    machines: Sequence[Machine] = ()
    configs: Mapping[str, Document] = field(default_factory=dict)


class MachineControlPlaneProvider(AnyControlPlaneProvider[T]):
    """Implement this class to manage control planes that run on Machines.

    certificates: the authorities that the SDK makes once for each cluster, before its first
    Machine. surge: whether a Machine is added before an outdated one goes; otherwise it goes first.
    """

    provides_endpoint: ClassVar[bool] = False
    certificates: ClassVar[Sequence[ClusterCertificate]] = tuple(
        ClusterCertificate(purpose)
        for purpose in (CLUSTER_CA, ETCD_CA, FRONT_PROXY_CA, SERVICE_ACCOUNT)
    )
    surge: ClassVar[bool] = True

    @abstractmethod
    async def bootstrap(self, order: MachinesOrder[T], *, first: bool) -> Document:
        """The bootstrap configuration of a Machine: `apiVersion`, `kind` and `spec`.

        first: of the Machine that initialises the control plane, otherwise of one that joins it.
        It is asked for Machines that are there too: one whose configuration has become another one
        is replaced. So it has to follow from the order alone.
        """

    @abstractmethod
    async def observe(self, order: MachinesOrder[T]) -> ControlPlaneSeen:
        """What can be seen of the control plane. Asked on every look, without Machines too."""

    async def leave(self, order: MachinesOrder[T], machine: Machine) -> Released | Waiting:
        """Let a Machine go that is drained and about to be shut down (an etcd member leaves).

        Not asked when the whole control plane goes.
        """
        del order, machine
        return Released()

    def outdated(self, order: MachinesOrder[T], machine: Machine) -> str:
        """Why a Machine has to be replaced, besides its version, its infrastructure template, its
        bootstrap configuration and `rollout.after`; "" when it has not."""
        del order, machine
        return ""

    async def release(self, order: MachinesOrder[T]) -> Released | Waiting:
        """Take back what was made besides the Machines, when these are gone."""
        del order
        return Released()
