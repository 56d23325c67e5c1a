"""Answers for pools whose machines are objects."""

from __future__ import annotations

import pytest

from kapy.kube import Document, Key
from kapy.sdk import MachinePoolContext, PoolInstance, PoolProvisioned, Waiting, pool_result


def order(*, replicas: int = 2, provisioned: bool = False) -> MachinePoolContext[Document]:
    return MachinePoolContext(
        key=Key("default", "mp"),
        uid="u",
        object={},
        cluster=Key("default", "blue"),
        pool=None,
        replicas=replicas,
        provisioned=provisioned,
    )


def machines(*ids: str | None) -> list[PoolInstance]:
    return [PoolInstance(provider_id=text) for text in ids]


def test_a_pool_with_all_machines_is_provisioned() -> None:
    pool_instances = machines("paper://2", "paper://1")
    answer = pool_result(order(), pool_instances, provider_id="paper://mp")
    assert isinstance(answer, PoolProvisioned)
    assert answer.provider_ids == ["paper://1", "paper://2"]
    assert (answer.replicas, answer.provider_id) == (2, "paper://mp")
    assert answer.instances == pool_instances
    (ready,) = answer.conditions
    assert (ready.type, ready.status) == ("ReplicasReady", "True")


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["paper://1"], "1 of 2 machines are ready"),
        (["paper://1", None], "1 of 2 machines are ready"),
        (["paper://1", "paper://2", "paper://3"], "1 more machines than wanted are there"),
    ],
)
def test_a_new_pool_waits_for_its_machines(ids: list[str | None], message: str) -> None:
    answer = pool_result(order(), machines(*ids), provider_id="paper://mp")
    assert isinstance(answer, Waiting)
    assert answer.requeue_after is None  # the objects are watched
    (ready,) = answer.conditions
    assert (ready.status, ready.message) == ("False", message)


def test_a_provisioned_pool_stays_provisioned_and_reports_missing_machines() -> None:
    pool_instances = machines("paper://1", None)
    answer = pool_result(order(provisioned=True), pool_instances, provider_id="paper://mp")
    assert isinstance(answer, PoolProvisioned)
    assert (answer.provider_ids, answer.replicas) == (["paper://1"], 2)
    assert [condition.status for condition in answer.conditions] == ["False"]
