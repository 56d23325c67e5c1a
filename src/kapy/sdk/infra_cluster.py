"""The interface of infrastructure cluster providers.

A provider advances and reports the infrastructure of a cluster (`reconcile_normal`), and deletes it
(`reconcile_delete`). The SDK implements the rest of the InfraCluster contract:
`kapy.sdk.infra_cluster_controller`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.kube import Document, Key
from kapy.kube.renamed import RenamedMethods, renamed_fields
from kapy.sdk.credential_types import Credential
from kapy.sdk.owned_objects import OwningContext
from kapy.sdk.results import ClusterProvisioned, Endpoint, Failed, Released, Waiting

T = TypeVar("T")


@renamed_fields(reported="last_conditions")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterContext(OwningContext, Generic[T]):
    """The input for creating or deleting the infrastructure of one cluster; read-only for the
    provider.

    object: the provider's own object, as it was read. cluster: the Cluster's key; owner: the
    Cluster itself, None if it is gone. endpoint: the control plane endpoint that is set already, by
    the user or an earlier result; immutable. last_conditions: the conditions of the last reconcile.
    credential: the credential of the tenant, if the object refers to one.
    """

    key: Key
    uid: str
    object: T
    cluster: Key
    owner: Cluster | None
    endpoint: Endpoint | None = None
    last_conditions: Mapping[str, Condition] = field(default_factory=dict)
    credential: Credential | None = None


class InfraClusterProvider(RenamedMethods, ABC, Generic[T]):
    """Implement this class to manage the infrastructure of clusters.

    reports_ready: whether a provisioned cluster without reported conditions is Ready.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {
        "converge": "reconcile_normal",
        "release": "reconcile_delete",
    }
    reports_ready: ClassVar[bool] = True

    @abstractmethod
    async def reconcile_normal(
        self, context: ClusterContext[T]
    ) -> ClusterProvisioned | Failed | Waiting:
        """Advance towards the desired state and return the current state. Called repeatedly."""

    @abstractmethod
    async def reconcile_delete(self, context: ClusterContext[T]) -> Released | Waiting:
        """Delete the infrastructure by one step. Must return Released for one that never
        existed.
        """

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        """Return the v1beta1 conditions for the reported ones, if any.

        Their Ready summarizes them. A missing condition stays unchanged.
        """
        del reported
        return ()

    def serves(self, document: Document) -> bool:
        """Return whether this provider serves an object. Other providers may serve other objects of
        the same kind.
        """
        del document
        return True
