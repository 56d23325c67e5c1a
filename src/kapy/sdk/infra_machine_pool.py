"""Infrastructure of machine pools: the two questions that a provider answers.

What is true of this pool now (`converge`), and is it gone yet (`release`). The SDK does the rest
of the InfraMachinePool contract: `kapy.sdk.infra_machine_pool_controller`.

Where the pool's machines can be handled one by one, the provider has an object for each of them:
an infrastructure machine, which it serves as an `InfraMachineProvider`, says its kind with
`machine_kind`, and makes and deletes the objects itself (`PoolMachines` does so).
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

    object: the provider's own object, as it was read. cluster: the Cluster that it belongs to.
    pool: the owner, None when it is gone already. replicas: how many machines there should be;
    scaled_by_others: somebody else (an autoscaler of the infrastructure) says how many.
    version: the Kubernetes version to run. failure_domains: where machines may be placed, none
    for anywhere. bootstrap_data: what machines run when they start; empty in `release`.
    provisioned: whether the pool has been there once. reported: the conditions of the last look.
    credential: what to sign in with, where the infrastructure of the cluster names something.
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

    machine_kind: the kind of the objects that stand for its machines, "" where there are none.
    needs_bootstrap_data: machines cannot start while their bootstrap Secret holds no data.
    """

    machine_kind: ClassVar[str] = ""
    needs_bootstrap_data: ClassVar[bool] = True

    @abstractmethod
    async def converge(self, order: MachinePoolOrder[T]) -> PoolProvisioned | Failed | Waiting:
        """Move one step towards the order, and say what is true. Called again and again."""

    @abstractmethod
    async def release(self, order: MachinePoolOrder[T]) -> Released | Waiting:
        """Move one step towards nothing. Must answer Released for a pool never made."""

    def serves(self, document: Document) -> bool:
        """Whether the object is this provider's own: others may serve some objects of its kind."""
        del document
        return True
