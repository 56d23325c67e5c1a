"""Infrastructure machines: the two questions that a provider answers.

What is true of this machine now (`converge`), and is it gone yet (`release`). The SDK does the
rest of the InfraMachine contract: `kapy.sdk.infra_machine_controller`.
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

    object: the provider's own object, as it was read. cluster: the Cluster that it belongs to.
    machine: the owner, None when it is gone already. version: the Kubernetes version to run.
    failure_domain: where the machine must be placed, "" for anywhere. bootstrap_data: what the
    machine runs when it starts; empty in `release`. bootstrap_format: how it is written
    (`cloud-config`, `ignition`). reported: the conditions of the last look.
    credential: what to sign in with, where the infrastructure of the cluster names something.
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

    needs_bootstrap_data: a machine cannot start while its bootstrap Secret holds no data.
    """

    needs_bootstrap_data: ClassVar[bool] = True

    @abstractmethod
    async def converge(self, order: MachineOrder[T]) -> Provisioned | Failed | Waiting:
        """Create or update the machine by one step and return its state. Called repeatedly."""

    @abstractmethod
    async def release(self, order: MachineOrder[T]) -> Released | Waiting:
        """Delete the machine by one step. Must return Released for a machine that never existed."""

    def serves(self, document: Document) -> bool:
        """Whether the object is this provider's own: others may serve some objects of its kind."""
        del document
        return True

    def before_start(self, order: MachineOrder[T], reason: str) -> Sequence[Condition]:
        """Conditions while the machine cannot be started yet, for what `reason` says.

        reason: `WaitingForClusterInfrastructureReady`, `WaitingForControlPlaneInitialized` or
        `WaitingForBootstrapData`. Without any, the Ready condition has the reason itself.
        """
        del order, reason
        return ()

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        """What readers of v1beta1 are told of what is reported, if they are told anything.

        Their Ready sums it up. A condition that is not given stays as it was told last.
        """
        del reported
        return ()
