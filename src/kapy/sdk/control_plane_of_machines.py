"""The interface of providers whose control planes consist of Machines.

A provider generates the bootstrap configuration of a Machine (`bootstrap`) and observes the control
plane (`observe`). Optionally it prepares the removal of a Machine (`leave`), reports outdated ones
(`outdated`), and deletes other resources (`release`). The SDK creates, replaces and deletes the
Machines, one at a time, and implements the rest of the contract:
`kapy.sdk.control_plane_of_machines_controller`.
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

    machines: by age, including those in deletion. configs: the existing bootstrap configurations,
    by Machine name.
    """

    machines: Sequence[Machine] = ()
    configs: Mapping[str, Document] = field(default_factory=dict)


class MachineControlPlaneProvider(AnyControlPlaneProvider[T]):
    """Implement this class to manage control planes that run on Machines.

    certificates: the CAs that the SDK generates once per cluster, before its first Machine. surge:
    whether a Machine is added before an outdated one is removed.
    """

    provides_endpoint: ClassVar[bool] = False
    certificates: ClassVar[Sequence[ClusterCertificate]] = tuple(
        ClusterCertificate(purpose)
        for purpose in (CLUSTER_CA, ETCD_CA, FRONT_PROXY_CA, SERVICE_ACCOUNT)
    )
    surge: ClassVar[bool] = True

    @abstractmethod
    async def bootstrap(self, order: MachinesOrder[T], *, first: bool) -> Document:
        """Return the bootstrap configuration of a Machine: `apiVersion`, `kind` and `spec`.

        first: of the Machine that initializes the control plane. It is also called for existing
        Machines: one whose configuration has changed is replaced. So the result must depend on the
        order alone.
        """

    @abstractmethod
    async def observe(self, order: MachinesOrder[T]) -> ControlPlaneSeen:
        """Return the observed state of the control plane. Called in every reconcile, even without
        Machines.
        """

    async def leave(self, order: MachinesOrder[T], machine: Machine) -> Released | Waiting:
        """Prepare the shutdown of a drained Machine (an etcd member leaves).

        Not called in a deletion of the whole control plane.
        """
        del order, machine
        return Released()

    def outdated(self, order: MachinesOrder[T], machine: Machine) -> str:
        """Return why a Machine has to be replaced, besides its version, its infrastructure
        template, its bootstrap configuration and `rollout.after`; "" if it need not.
        """
        del order, machine
        return ""

    async def release(self, order: MachinesOrder[T]) -> Released | Waiting:
        """Delete other resources after the Machines are gone."""
        del order
        return Released()
