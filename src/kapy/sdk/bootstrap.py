"""Bootstrap configurations: the questions that a provider of boot data answers.

What does this machine run when it starts (`data`)? Where it matters also: is what was made still
good (`refresh`), and what else is to be taken back (`release`). The SDK does the rest of the
BootstrapConfig contract: `kapy.sdk.bootstrap_controller`.
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
from kapy.sdk.answers import BootstrapData, Endpoint, Failed, Released, Unchanged, Waiting
from kapy.sdk.keychain import ClusterKeys

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapOrder(Generic[T]):
    """A request to generate bootstrap data for a machine or for a pool; read-only.

    object: the provider's own object, as it was read. cluster: the Cluster that it belongs to;
    owner: that Cluster itself, None when it is gone already. machine, pool: who boots with it, one
    of them; None in `release` when it is gone. version: the Kubernetes version to run, "" where
    nothing says it. control_plane: whether the machine is one of the control plane; first: whether
    it is the one that initialises it (see `BootstrapProvider.initialises`). endpoint: of the
    control plane, None while it is not known. keys: the cluster's certificates. reported: the
    conditions of the last look.
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
    reported: Mapping[str, Condition] = field(default_factory=dict)


class BootstrapProvider(ABC, Generic[T]):
    """Implement this class to generate the bootstrap data that turn machines into Nodes.

    initialises: whether one machine of each cluster has to be the first, as it is with kubeadm.
    Then one control plane machine is asked for with `first`, and no other machine is asked for
    before the control plane is initialized. Otherwise all are, as soon as there is infrastructure.
    """

    initialises: ClassVar[bool] = False

    @abstractmethod
    async def data(self, order: BootstrapOrder[T]) -> BootstrapData | Failed | Waiting:
        """Generate the bootstrap data. Called until data exist, and not after that."""

    async def refresh(
        self, order: BootstrapOrder[T], made: BootstrapData
    ) -> BootstrapData | Unchanged | Waiting:
        """Whether the data is still good: asked again and again while it may be used.

        That is until the Machine has its Node, and for ever with a pool, which may grow at any
        time. Only a pool's data may be answered anew: a Machine may have read it already.
        """
        del order, made
        return Unchanged()

    async def release(self, order: BootstrapOrder[T]) -> Released | Waiting:
        """Delete what `converge` has created besides the data. Called only with a finalizer."""
        del order
        return Released()

    def serves(self, document: Document) -> bool:
        """Whether the object is this provider's own: others may serve some objects of its kind."""
        del document
        return True

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        """What readers of v1beta1 are told of what is reported, if they are told anything.

        `in_v1beta1(reported)` tells them the same. Their Ready sums it up.
        """
        del reported
        return ()
