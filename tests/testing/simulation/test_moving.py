"""The rule about a Cluster that two management clusters reconcile."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kapy.kube import Document
from kapy.testing.simulation.moving import Sides
from kapy.testing.simulation.world import World


def management_cluster(*clusters: Document) -> Any:
    store = SimpleNamespace(listeners=[])
    return SimpleNamespace(
        server=SimpleNamespace(store=store),
        resources={"Cluster": None},
        documents=lambda _kind: clusters,
    )


def cluster(*, paused: bool) -> Document:
    return {"metadata": {"name": "herd"}, "spec": {"paused": paused}}


@pytest.mark.parametrize(
    ("source", "target", "is_broken"),
    [
        ([False], [False], True),
        ([True], [False], False),
        ([False], [True], False),
        ([False], [], False),
    ],
)
def test_a_cluster_is_reconciled_by_one_side_only(
    source: list[bool], target: list[bool], *, is_broken: bool
) -> None:
    worlds = [
        management_cluster(*(cluster(paused=paused) for paused in side))
        for side in (source, target)
    ]
    sides = Sides(*(cast(World, world) for world in worlds))
    (listener,) = worlds[1].server.store.listeners
    listener(SimpleNamespace(table="machines.cluster.x-k8s.io"))
    assert not sides.broken
    listener(SimpleNamespace(table="clusters.cluster.x-k8s.io"))
    assert bool(sides.broken) == is_broken
