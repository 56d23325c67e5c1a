"""Control planes that somebody runs (EKS and its like): the two questions that a provider answers.

What is true of this control plane now (`converge`), and is it gone yet (`release`). The SDK does
the rest of the ControlPlane contract: `kapy.sdk.control_plane_controller`. A control plane that is
made of Machines is another one: `kapy.sdk.control_plane_of_machines`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.kube import Document, Key
from kapy.kube.pki import Algorithm
from kapy.sdk.answers import ControlPlaneProvisioned, Endpoint, Failed, Released, Waiting
from kapy.sdk.keychain import ClusterKeys

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneOrder(Generic[T]):
    """A request to create or delete a control plane; read-only for the provider.

    object: the provider's own object, as it was read. cluster: the Cluster that it belongs to;
    owner: that Cluster itself, None when it is gone already. version: the Kubernetes version to
    run, with a v. replicas: how many instances are wanted, None where nothing says it. endpoint:
    the one that is set already, here or in the Cluster; it never changes. initialized: whether the
    control plane has taken requests once. keys: the cluster's certificates, to be made here where
    they are needed. reported: the conditions of the last look.
    """

    key: Key
    uid: str
    object: T
    cluster: Key
    owner: Cluster | None
    keys: ClusterKeys = field(repr=False)
    version: str = ""
    replicas: int | None = None
    endpoint: Endpoint | None = None
    initialized: bool = False
    reported: Mapping[str, Condition] = field(default_factory=dict)


class AnyControlPlaneProvider(ABC, Generic[T]):
    """What both kinds of control plane providers say of themselves, and may be asked.

    provides_endpoint: whether the control plane brings an endpoint of its own. Otherwise it waits
    for the Cluster's, which then is the infrastructure's or the user's. needs_infrastructure:
    whether it waits for the cluster's infrastructure. algorithm: of the key in a kubeconfig that is
    issued here.
    """

    provides_endpoint: ClassVar[bool] = True
    needs_infrastructure: ClassVar[bool] = True
    algorithm: ClassVar[Algorithm] = "RSA-2048"

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


class ControlPlaneProvider(AnyControlPlaneProvider[T]):
    """Implement this class to manage control planes that have no Machines.

    external: they have no Nodes in their cluster either (`status.externalManagedControlPlane`).
    """

    external: ClassVar[bool] = True

    @abstractmethod
    async def converge(
        self, order: ControlPlaneOrder[T]
    ) -> ControlPlaneProvisioned | Failed | Waiting:
        """Move one step towards the order, and say what is true. Called again and again.

        Waiting says that nobody can use the control plane; one that is changed while it serves is
        Provisioned, and is looked at again.
        """

    @abstractmethod
    async def release(self, order: ControlPlaneOrder[T]) -> Released | Waiting:
        """Move one step towards nothing. Must answer Released for a control plane never made.

        Asked when the cluster has no worker machines any more.
        """
