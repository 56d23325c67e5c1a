"""The interface of infrastructure machine pool providers.

A provider advances and reports a pool (`converge`), and deletes it (`release`). The SDK implements
the rest of the InfraMachinePool contract: `kapy.sdk.infra_machine_pool_controller`.

If the pool's machines can be handled one by one, the provider has an object for each of them: an
infrastructure machine, which it serves as an `InfraMachineProvider`. It sets its kind in
`machine_kind`, and creates and deletes the objects itself (with `PoolMachines`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from kapy.api.condition import Condition
from kapy.api.machine_pool import MachinePool
from kapy.kube import Document, Key
from kapy.sdk.answers import Failed, PoolProvisioned, Released, Waiting
from kapy.sdk.credentials import Credential
from kapy.sdk.owned import Making

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePoolOrder(Making, Generic[T]):
    """A request to create, scale or delete one pool of machines; read-only for the provider.

    object: the provider's own object, as it was read. cluster: the key of its Cluster. pool: the
    owner, None if it is gone. replicas: the wanted number of machines; scaled_by_others: an
    autoscaler of the infrastructure sets it. version: the Kubernetes version. failure_domains:
    where machines may be placed, empty for anywhere. bootstrap_data: what machines execute when
    they start; empty in `release`. provisioned: whether the pool has ever been provisioned.
    reported: the conditions of the last reconcile. credential: of the tenant, if the cluster's
    infrastructure refers to one.
    """

    key: Key
    uid: str
    object: T
    cluster: Key
    pool: MachinePool | None
    replicas: int = 1
    scaled_by_others: bool = False
    version: str = ""
    failure_domains: Sequence[str] = ()
    bootstrap_data: bytes = field(default=b"", repr=False)
    provisioned: bool = False
    reported: Mapping[str, Condition] = field(default_factory=dict)
    credential: Credential | None = None


class InfraMachinePoolProvider(ABC, Generic[T]):
    """Implement this class to manage a kind of machine pools.

    machine_kind: the kind of the objects for its machines, "" if there are none.
    needs_bootstrap_data: machines cannot start while their bootstrap Secret has no data.
    """

    machine_kind: ClassVar[str] = ""
    needs_bootstrap_data: ClassVar[bool] = True

    @abstractmethod
    async def converge(self, order: MachinePoolOrder[T]) -> PoolProvisioned | Failed | Waiting:
        """Advance towards the desired state and return the current state. Called repeatedly."""

    @abstractmethod
    async def release(self, order: MachinePoolOrder[T]) -> Released | Waiting:
        """Delete the pool by one step. Must return Released for one that never existed."""

    def serves(self, document: Document) -> bool:
        """Return whether the object belongs to this provider: others may serve some objects of its
        kind.
        """
        del document
        return True
