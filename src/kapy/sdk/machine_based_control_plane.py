"""The interface of providers whose control planes consist of Machines.

A provider generates the bootstrap configuration of a Machine (`bootstrap_config`) and observes the
control plane (`observe`). Optionally it prepares the removal of a Machine (`prepare_shutdown`),
reports outdated ones (`outdated_reason`), and deletes other resources (`reconcile_delete`). The SDK
creates, replaces and deletes the Machines, one at a time, and implements the rest of the contract:
`kapy.sdk.machine_based_control_plane_controller`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from kapy.api.machine import Machine
from kapy.kube import Document
from kapy.kube.renamed import renamed_fields
from kapy.remote.secrets import CLUSTER_CA, ETCD_CA, FRONT_PROXY_CA, SERVICE_ACCOUNT
from kapy.sdk.certificate_specs import ClusterCertificate
from kapy.sdk.control_plane import AnyControlPlaneProvider, ControlPlaneContext
from kapy.sdk.results import ControlPlaneObserved, Released, Waiting

T = TypeVar("T")


@renamed_fields(reported="last_conditions")
@dataclass(frozen=True, slots=True, kw_only=True)
class MachineControlPlaneContext(ControlPlaneContext[T]):
    """The input for a control plane and its Machines; read-only for the provider.

    machines: the Machines by age, including those in deletion. configs: the existing bootstrap
    configurations, by Machine name.
    """

    machines: Sequence[Machine] = ()
    configs: Mapping[str, Document] = field(default_factory=dict)


class MachineControlPlaneProvider(AnyControlPlaneProvider[T]):
    """Implement this class to manage control planes that run on Machines.

    certificates: the CAs that the SDK generates once per cluster, before its first Machine. surge:
    whether a Machine is added before an outdated one is removed.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {
        "bootstrap": "bootstrap_config",
        "leave": "prepare_shutdown",
        "outdated": "outdated_reason",
        "release": "reconcile_delete",
    }
    provides_endpoint: ClassVar[bool] = False
    certificates: ClassVar[Sequence[ClusterCertificate]] = tuple(
        ClusterCertificate(purpose)
        for purpose in (CLUSTER_CA, ETCD_CA, FRONT_PROXY_CA, SERVICE_ACCOUNT)
    )
    surge: ClassVar[bool] = True

    @abstractmethod
    async def bootstrap_config(
        self, context: MachineControlPlaneContext[T], *, first: bool
    ) -> Document:
        """Return the bootstrap configuration of a Machine: `apiVersion`, `kind` and `spec`.

        first: whether the Machine initializes the control plane. The method is also called for
        existing Machines: one whose configuration has changed is replaced. So the result must
        depend on the context alone.
        """

    @abstractmethod
    async def observe(self, context: MachineControlPlaneContext[T]) -> ControlPlaneObserved:
        """Return the observed state of the control plane. Called in every reconcile, even without
        Machines.
        """

    async def prepare_shutdown(
        self, context: MachineControlPlaneContext[T], machine: Machine
    ) -> Released | Waiting:
        """Prepare the shutdown of a drained Machine (an etcd member leaves).

        Not called in a deletion of the whole control plane.
        """
        del context, machine
        return Released()

    def outdated_reason(self, context: MachineControlPlaneContext[T], machine: Machine) -> str:
        """Return why a Machine has to be replaced, besides its version, its infrastructure
        template, its bootstrap configuration and `rollout.after`; "" if it need not.
        """
        del context, machine
        return ""

    async def reconcile_delete(self, context: MachineControlPlaneContext[T]) -> Released | Waiting:
        """Delete other resources of the provider after the Machines are gone."""
        del context
        return Released()
