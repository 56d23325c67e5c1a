"""Infrastructure of a cluster: the two questions that a provider answers.

What is true of this cluster's infrastructure now (`converge`), and is it gone yet (`release`). The
SDK does the rest of the InfraCluster contract: `kapy.sdk.infra_cluster_controller`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.kube import Document, Key
from kapy.sdk.answers import ClusterProvisioned, Endpoint, Failed, Released, Waiting
from kapy.sdk.credentials import Credential
from kapy.sdk.owned import Making

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOrder(Making, Generic[T]):
    """A request to create or delete the infrastructure of one cluster; read-only for the provider.

    object: the provider's own object, as it was read. cluster: the Cluster's key; owner: the
    Cluster itself, None when it is gone already. endpoint: the control plane endpoint that is set
    already, by the user or by an earlier answer; it never changes. reported: the conditions of
    the last look. credential: what to sign in with, where the object names something.
    """

    key: Key
    uid: str
    object: T
    cluster: Key
    owner: Cluster | None
    endpoint: Endpoint | None = None
    reported: Mapping[str, Condition] = field(default_factory=dict)
    credential: Credential | None = None


class InfraClusterProvider(ABC, Generic[T]):
    """Implement this class to manage the infrastructure of clusters.

    reports_ready: a cluster that is provisioned is Ready where no conditions are reported.
    """

    reports_ready: ClassVar[bool] = True

    @abstractmethod
    async def converge(self, order: ClusterOrder[T]) -> ClusterProvisioned | Failed | Waiting:
        """Move one step towards the order, and say what is true. Called again and again."""

    @abstractmethod
    async def release(self, order: ClusterOrder[T]) -> Released | Waiting:
        """Move one step towards nothing. Must answer Released for a cluster never made."""

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        """What readers of v1beta1 are told of what is reported, if they are told anything.

        Their Ready sums it up. A condition that is not given stays as it was told last.
        """
        del reported
        return ()

    def serves(self, document: Document) -> bool:
        """Whether the object is this provider's own: others may serve some objects of its kind."""
        del document
        return True
