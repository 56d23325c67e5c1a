"""The result of a provider whose pools consist of objects, one for each machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapy.api.condition import Condition
from kapy.api.infrastructure import PoolInstance
from kapy.api.names import ConditionType, Reason
from kapy.conditions import TRUE, false, true
from kapy.sdk.infra_machine_pool import MachinePoolContext
from kapy.sdk.results import PoolProvisioned, Waiting


def pool_result(
    context: MachinePoolContext[Any], instances: Sequence[PoolInstance], *, provider_id: str
) -> PoolProvisioned | Waiting:
    """Return the result of `reconcile_normal` for a pool with these machines.

    A new pool is provisioned when it has exactly the wanted machines and each has a provider ID.
    After that it stays provisioned, and the condition ReplicasReady reports what is missing.
    provider_id: the ID of the pool itself.
    """
    ids = sorted(instance.provider_id for instance in instances if instance.provider_id)
    ready = replicas_ready(len(ids), len(instances), context.replicas)
    if ready.status != TRUE and not context.provisioned:
        because = "not all machines are there yet"
        return Waiting(message=because, requeue_after=None, conditions=[ready])
    return PoolProvisioned(
        provider_ids=ids,
        replicas=len(instances),
        provider_id=provider_id,
        instances=instances,
        conditions=[ready],
    )


def replicas_ready(ready: int, there: int, wanted: int) -> Condition:
    """Return the condition ReplicasReady, which is True if exactly the wanted machines exist and
    have their provider IDs.
    """
    of = ConditionType.REPLICAS_READY
    if ready == there == wanted:
        return true(of, Reason.READY)
    message = f"{ready} of {wanted} machines are ready"
    if there > wanted:
        message = f"{there - wanted} more machines than wanted are there"
    return false(of, Reason.NOT_READY, message)
