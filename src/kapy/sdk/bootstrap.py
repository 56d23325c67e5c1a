"""The interface of bootstrap providers.

A provider generates the data that a machine executes when it starts (`data`). Optionally it checks
whether existing data is still valid (`refresh`), and deletes other resources (`reconcile_delete`).
The SDK implements the rest of the BootstrapConfig contract: `kapy.sdk.bootstrap_controller`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.kube import Document, Key
from kapy.kube.renamed import RenamedMethods, renamed_fields
from kapy.sdk.cluster_certificates import ClusterKeys
from kapy.sdk.results import BootstrapData, Endpoint, Failed, Released, Unchanged, Waiting

T = TypeVar("T")


@renamed_fields(reported="last_conditions")
@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapContext(Generic[T]):
    """The input for generating bootstrap data for a machine or for a pool; read-only.

    object: the provider's own object, as it was read. cluster: the key of its Cluster; owner: the
    Cluster itself, None if it is gone. machine, pool: the owner, one of both; None in
    `reconcile_delete` if it is gone. version: the Kubernetes version, "" if it is not set.
    control_plane: whether it is a control plane machine; first: whether it initializes the control
    plane (see `BootstrapProvider.initialises`). endpoint: the control plane endpoint, None while it
    is unknown. keys: the cluster's certificates. last_conditions: the conditions of the last
    reconcile.
    """

    key: Key
    uid: str
    object: T
    cluster: Key
    owner: Cluster | None
    machine: Machine | None
    pool: MachinePool | None
    keys: ClusterKeys = field(repr=False)
    version: str = ""
    control_plane: bool = False
    first: bool = False
    endpoint: Endpoint | None = None
    last_conditions: Mapping[str, Condition] = field(default_factory=dict)


class BootstrapProvider(RenamedMethods, ABC, Generic[T]):
    """Implement this class to generate the bootstrap data that turn machines into Nodes.

    initialises: whether one machine of each cluster must be the first, as with kubeadm. Then data
    is requested for one control plane machine with `first`, and for others only after the control
    plane is initialized. Otherwise data is requested for all machines once the infrastructure is
    provisioned.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {"release": "reconcile_delete"}
    initialises: ClassVar[bool] = False

    @abstractmethod
    async def data(self, context: BootstrapContext[T]) -> BootstrapData | Failed | Waiting:
        """Generate the bootstrap data. Called until data exist, and not after that."""

    async def refresh(
        self, context: BootstrapContext[T], current: BootstrapData
    ) -> BootstrapData | Unchanged | Waiting:
        """Return whether the data is still valid; called repeatedly while it may be used.

        That is until the Machine has its Node, and always for a pool, which may grow at any time.
        Only a pool's data may be replaced: a Machine may have read it already.
        """
        del context, current
        return Unchanged()

    async def reconcile_delete(self, context: BootstrapContext[T]) -> Released | Waiting:
        """Delete resources other than the data. Called only with a finalizer."""
        del context
        return Released()

    def serves(self, document: Document) -> bool:
        """Return whether this provider serves an object. Other providers may serve other objects of
        the same kind.
        """
        del document
        return True

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        """Return the v1beta1 conditions for the reported ones, if any.

        `in_v1beta1(reported)` converts them. Their Ready summarizes them.
        """
        del reported
        return ()
