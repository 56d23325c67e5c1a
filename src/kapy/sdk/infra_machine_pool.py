"""The interface of infrastructure machine pool providers.

A provider advances and reports a pool (`reconcile_normal`), and deletes it (`reconcile_delete`).
The SDK implements the rest of the InfraMachinePool contract:
`kapy.sdk.infra_machine_pool_controller`.

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
from kapy.kube.renamed import RenamedMethods, renamed_fields
from kapy.sdk.credential_types import Credential
from kapy.sdk.owned_objects import OwningContext
from kapy.sdk.results import Failed, PoolProvisioned, Released, Waiting

T = TypeVar("T")


@renamed_fields(reported="last_conditions")
@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePoolContext(OwningContext, Generic[T]):
    """The input for creating, scaling or deleting one pool of machines; read-only for the provider.

    object: the provider's own object, as it was read. cluster: the key of its Cluster. pool: the
    owner, None if it is gone. replicas: the wanted number of machines; scaled_by_others: whether an
    autoscaler of the infrastructure sets it. version: the Kubernetes version. failure_domains: the
    failure domains for machines, empty for any. bootstrap_data: the data that machines execute when
    they start; empty in `reconcile_delete`. provisioned: whether the pool has ever been
    provisioned. last_conditions: the conditions of the last reconcile. credential: the credential
    of the tenant, if the cluster's infrastructure refers to one.
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
    last_conditions: Mapping[str, Condition] = field(default_factory=dict)
    credential: Credential | None = None


class InfraMachinePoolProvider(RenamedMethods, ABC, Generic[T]):
    """Implement this class to manage a kind of machine pools.

    machine_kind: the kind of the objects for its machines, "" if there are none.
    needs_bootstrap_data: whether machines cannot start while their bootstrap Secret has no data.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {
        "converge": "reconcile_normal",
        "release": "reconcile_delete",
    }
    machine_kind: ClassVar[str] = ""
    needs_bootstrap_data: ClassVar[bool] = True

    @abstractmethod
    async def reconcile_normal(
        self, context: MachinePoolContext[T]
    ) -> PoolProvisioned | Failed | Waiting:
        """Advance towards the desired state and return the current state. Called repeatedly."""

    @abstractmethod
    async def reconcile_delete(self, context: MachinePoolContext[T]) -> Released | Waiting:
        """Delete the pool by one step. Must return Released for one that never existed."""

    def serves(self, document: Document) -> bool:
        """Return whether this provider serves an object. Other providers may serve other objects of
        the same kind.
        """
        del document
        return True
