"""The interface of infrastructure machine providers.

A provider advances and reports a machine (`converge`), and deletes it (`release`). The SDK
implements the rest of the InfraMachine contract: `kapy.sdk.infra_machine_controller`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.kube import Document, Key
from kapy.sdk.answers import Failed, Provisioned, Released, Waiting
from kapy.sdk.credentials import Credential
from kapy.sdk.owned import Making

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineOrder(Making, Generic[T]):
    """A request to create or delete one machine; read-only for the provider.

    object: the provider's own object, as it was read. cluster: the key of its Cluster. machine: the
    owner, None if it is gone. version: the Kubernetes version. failure_domain: where the machine
    must be placed, "" for anywhere. bootstrap_data: what the machine executes when it starts; empty
    in `release`. bootstrap_format: its format (`cloud-config`, `ignition`). reported: the
    conditions of the last reconcile. credential: of the tenant, if the cluster's infrastructure
    refers to one.
    """

    key: Key
    uid: str
    object: T
    cluster: Key
    machine: Machine | None
    control_plane: bool = False
    version: str = ""
    failure_domain: str = ""
    bootstrap_data: bytes = field(default=b"", repr=False)
    bootstrap_format: str = ""
    reported: Mapping[str, Condition] = field(default_factory=dict)
    credential: Credential | None = None


class InfraMachineProvider(ABC, Generic[T]):
    """Implement this class to manage a kind of machines.

    needs_bootstrap_data: a machine cannot start while its bootstrap Secret has no data.
    """

    needs_bootstrap_data: ClassVar[bool] = True

    @abstractmethod
    async def converge(self, order: MachineOrder[T]) -> Provisioned | Failed | Waiting:
        """Create or update the machine by one step and return its state. Called repeatedly."""

    @abstractmethod
    async def release(self, order: MachineOrder[T]) -> Released | Waiting:
        """Delete the machine by one step. Must return Released for a machine that never existed."""

    def serves(self, document: Document) -> bool:
        """Return whether the object belongs to this provider: others may serve some objects of its
        kind.
        """
        del document
        return True

    def before_start(self, order: MachineOrder[T], reason: str) -> Sequence[Condition]:
        """Return conditions while the machine cannot be started yet, for the given reason.

        reason: `WaitingForClusterInfrastructureReady`, `WaitingForControlPlaneInitialized` or
        `WaitingForBootstrapData`. Without any, the Ready condition has the reason itself.
        """
        del order, reason
        return ()

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        """Return the v1beta1 conditions for the reported ones, if any.

        Their Ready summarizes them. A missing condition stays unchanged.
        """
        del reported
        return ()
