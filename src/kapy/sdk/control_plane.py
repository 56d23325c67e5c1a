"""The interface of providers of hosted control planes (such as EKS).

A provider reports and advances the state of a control plane (`reconcile_normal`), and deletes it
(`reconcile_delete`). The SDK implements the rest of the ControlPlane contract:
`kapy.sdk.control_plane_controller`. For control planes that consist of Machines see
`kapy.sdk.machine_based_control_plane`.
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
from kapy.kube.renamed import RenamedMethods, renamed_fields
from kapy.sdk.cluster_certificates import ClusterKeys
from kapy.sdk.results import ControlPlaneProvisioned, Endpoint, Failed, Released, Waiting

T = TypeVar("T")


@renamed_fields(reported="last_conditions")
@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneContext(Generic[T]):
    """The input for creating or deleting a control plane; read-only for the provider.

    object: the provider's own object, as it was read. cluster: the key of its Cluster; owner: the
    Cluster itself, None if it is gone. version: the Kubernetes version, with a v. replicas: the
    wanted instances, None if not set. endpoint: the endpoint that is set already, here or in the
    Cluster; immutable. initialized: whether the control plane has ever served requests. keys: the
    cluster's certificates, generated on demand. last_conditions: the conditions of the last
    reconcile.
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
    last_conditions: Mapping[str, Condition] = field(default_factory=dict)


class AnyControlPlaneProvider(RenamedMethods, ABC, Generic[T]):
    """The settings and methods of all control plane providers.

    provides_endpoint: whether the control plane has its own endpoint. Otherwise it waits for the
    Cluster's, which the infrastructure or the user sets. needs_infrastructure: whether it waits for
    the cluster's infrastructure. algorithm: the algorithm of the private key in issued kubeconfigs.
    """

    provides_endpoint: ClassVar[bool] = True
    needs_infrastructure: ClassVar[bool] = True
    algorithm: ClassVar[Algorithm] = "RSA-2048"

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


class ControlPlaneProvider(AnyControlPlaneProvider[T]):
    """Implement this class to manage control planes that have no Machines.

    external: whether they have no Nodes in their cluster either
    (`status.externalManagedControlPlane`).
    """

    RENAMED: ClassVar[Mapping[str, str]] = {
        "converge": "reconcile_normal",
        "release": "reconcile_delete",
    }
    external: ClassVar[bool] = True

    @abstractmethod
    async def reconcile_normal(
        self, context: ControlPlaneContext[T]
    ) -> ControlPlaneProvisioned | Failed | Waiting:
        """Advance towards the desired state and return the current state. Called repeatedly.

        Waiting means that the control plane is not usable; return Provisioned during changes while
        it serves requests: it is called again.
        """

    @abstractmethod
    async def reconcile_delete(self, context: ControlPlaneContext[T]) -> Released | Waiting:
        """Delete the control plane by one step. Must return Released for one that never existed.

        Called after the cluster's worker machines are gone.
        """
