"""The interface of infrastructure machine providers.

A provider advances and reports a machine (`reconcile_normal`), and deletes it (`reconcile_delete`).
The SDK implements the rest of the InfraMachine contract: `kapy.sdk.infra_machine_controller`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.kube import Document, Key
from kapy.kube.renamed import RenamedMethods, renamed_fields
from kapy.sdk.credential_types import Credential
from kapy.sdk.owned_objects import OwningContext
from kapy.sdk.results import Failed, Provisioned, Released, Waiting

T = TypeVar("T")


@renamed_fields(reported="last_conditions")
@dataclass(frozen=True, slots=True, kw_only=True)
class MachineContext(OwningContext, Generic[T]):
    """The input for creating or deleting one machine; read-only for the provider.

    object: the provider's own object, as it was read. cluster: the key of its Cluster. machine: the
    owner, None if it is gone. version: the Kubernetes version. failure_domain: the failure domain
    for the machine, "" for any. bootstrap_data: the data that the machine executes when it starts;
    empty in `reconcile_delete`. bootstrap_format: its format (`cloud-config`, `ignition`).
    last_conditions: the conditions of the last reconcile. credential: the credential of the tenant,
    if the cluster's infrastructure refers to one.
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
    last_conditions: Mapping[str, Condition] = field(default_factory=dict)
    credential: Credential | None = None


class InfraMachineProvider(RenamedMethods, ABC, Generic[T]):
    """Implement this class to manage a kind of machines.

    needs_bootstrap_data: whether a machine cannot start while its bootstrap Secret has no data.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {
        "converge": "reconcile_normal",
        "release": "reconcile_delete",
    }
    needs_bootstrap_data: ClassVar[bool] = True

    @abstractmethod
    async def reconcile_normal(self, context: MachineContext[T]) -> Provisioned | Failed | Waiting:
        """Create or update the machine by one step and return its state. Called repeatedly."""

    @abstractmethod
    async def reconcile_delete(self, context: MachineContext[T]) -> Released | Waiting:
        """Delete the machine by one step. Must return Released for a machine that never existed."""

    def serves(self, document: Document) -> bool:
        """Return whether this provider serves an object. Other providers may serve other objects of
        the same kind.
        """
        del document
        return True

    def before_start(self, context: MachineContext[T], reason: str) -> Sequence[Condition]:
        """Return conditions while the machine cannot be started yet, for the given reason.

        reason: `WaitingForClusterInfrastructureReady`, `WaitingForControlPlaneInitialized` or
        `WaitingForBootstrapData`. Without any, the Ready condition has the reason itself.
        """
        del context, reason
        return ()

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        """Return the v1beta1 conditions for the reported ones, if any.

        Their Ready summarizes them. A missing condition stays unchanged.
        """
        del reported
        return ()
