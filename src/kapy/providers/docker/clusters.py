"""Clusters of containers: DevClusters with `backend.docker`, and DockerClusters.

Such a cluster has a load balancer. Its failure domains are copied from the spec to the status, as
upstream does, and have no other effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.dev_cluster import DevCluster
from kapy.api.embedded import FailureDomain
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason
from kapy.kube import Document
from kapy.kube.errors import ApiError, KapyError
from kapy.providers.docker.backend import Cluster, is_docker
from kapy.providers.docker.load_balancers import LoadBalancers
from kapy.sdk import (
    ClusterContext,
    ClusterProvisioned,
    Endpoint,
    InfraClusterProvider,
    NotYet,
    Released,
    Waiting,
    conditions,
    v1beta1,
)
from kapy.sdk.load_balancer import ControlPlaneLoadBalancer, Member

RETRY: Final = timedelta(seconds=10)
AVAILABLE: Final = ConditionType.LOAD_BALANCER_AVAILABLE

Order = ClusterContext[Any]


class ContainerClusters(InfraClusterProvider[Any], ControlPlaneLoadBalancer[Any]):
    """Clusters of the docker backend, of either kind."""

    def __init__(self, balancers: LoadBalancers) -> None:
        self._balancers = balancers

    def serves(self, document: Document) -> bool:
        return is_docker(document)

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        return [_in_v1beta1(condition) for condition in reported]

    async def endpoint(self, context: Order) -> Endpoint | Waiting:
        try:
            answer = await self._balancers.endpoint(context)
        except KapyError as error:
            if isinstance(error, (ApiError, NotYet)):
                raise
            return _not_available(str(error), RETRY)
        if isinstance(answer, Waiting):
            return _not_available(answer.message, answer.requeue_after)
        return answer

    async def register(self, member: Member) -> Waiting | None:
        return await self._balancers.register(member)

    async def drain(self, member: Member) -> Waiting | None:
        return await self._balancers.drain(member)

    async def deregister(self, member: Member) -> Waiting | None:
        return await self._balancers.deregister(member)

    async def reconcile_normal(self, context: Order) -> ClusterProvisioned:
        return ClusterProvisioned(
            failure_domains=_failure_domains(context.object),
            conditions=[conditions.true(AVAILABLE, Reason.AVAILABLE)],
        )

    async def reconcile_delete(self, context: Order) -> Released | Waiting:
        await self._balancers.remove(context.cluster)
        return Released()


def _failure_domains(infra: Cluster) -> Sequence[FailureDomain]:
    if isinstance(infra, DevCluster):
        return infra.spec.backend.docker.failure_domains if infra.spec.backend.docker else ()
    return infra.spec.failure_domains


def _not_available(message: str, poll_after: timedelta | None) -> Waiting:
    condition = conditions.false(AVAILABLE, Reason.NOT_AVAILABLE, message)
    return Waiting(message=message, requeue_after=poll_after, conditions=[condition])


def _in_v1beta1(condition: Condition) -> V1Beta1Condition:
    if condition.status == conditions.TRUE:
        return v1beta1.true(condition.type)
    reason = V1Beta1Reason.LOAD_BALANCER_PROVISIONING_FAILED
    return v1beta1.false(condition.type, reason, v1beta1.WARNING, condition.message)
