"""Several clusters of several shapes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from kapy.kube import Document
from kapy.testing.simulation.scenarios.manifests import (
    CLUSTER,
    MIDDLE,
    OLD,
    class_cluster,
    cluster_class,
    plain_cluster,
)
from kapy.testing.simulation.scenarios.other_manifests import (
    POOL,
    machine_pool,
    with_external_etcd,
)
from kapy.testing.simulation.scenarios.scenario import Scenario, is_available
from kapy.testing.simulation.user import User, View, is_true

PLAIN, CLASSY, POOLED, EXTERNAL = CLUSTER, "heath", "moor", "marsh"
_LABEL: Final = "cluster.x-k8s.io/cluster-name"


def _renamed(documents: list[Document], name: str) -> list[Document]:
    """Return manifests of a cluster, and of all that belongs to it, under another name."""
    content = msgspec.json.encode(documents).replace(CLUSTER.encode(), name.encode())
    renamed: list[Document] = msgspec.json.decode(content)
    return renamed


def _cluster(name: str, machines: int, version: str = "") -> Callable[[View], bool]:
    """Return the goal of an available cluster with a number of Machines, those of pools, too."""

    def holds(view: View) -> bool:
        mine = [
            machine for machine in view.machines() if machine["metadata"]["labels"][_LABEL] == name
        ]
        return (
            is_available(view, name)
            and len(mine) == machines
            and all(is_true(machine, "Available") for machine in mine)
            and all(not version or machine["spec"]["version"] == version for machine in mine)
        )

    return holds


def _all(*goals: Callable[[View], bool]) -> Callable[[View], bool]:
    return lambda view: all(goal(view) for goal in goals)


def _manifests(user: User) -> list[Document]:
    workers = f"{CLUSTER}-md"
    others = [
        document
        for document in plain_cluster(control_planes=1)
        if document["metadata"]["name"] != workers
    ]
    external = with_external_etcd(plain_cluster(control_planes=1, workers=0), user.world.clock())
    return [
        *plain_cluster(control_planes=1, workers=1),
        *cluster_class(),
        *(
            {**document, "metadata": {**document["metadata"], "name": CLASSY}}
            for document in class_cluster(control_planes=1, workers=1)
        ),
        *_renamed([*others, *machine_pool(1)], POOLED),
        *_renamed(external, EXTERNAL),
    ]


async def _many(user: User) -> None:
    """All are created at once; then each is changed in another way, and one is deleted."""
    await user.apply(_manifests(user))
    await user.until(
        "all clusters are available",
        _all(
            _cluster(PLAIN, 2), _cluster(CLASSY, 2, OLD), _cluster(POOLED, 2), _cluster(EXTERNAL, 1)
        ),
    )
    await user.delete("Cluster", EXTERNAL)
    await user.patch("MachineDeployment", f"{PLAIN}-md", {"spec": {"replicas": 2}})
    await user.patch("Cluster", CLASSY, {"spec": {"topology": {"version": MIDDLE}}})
    pool = POOL.replace(CLUSTER, POOLED)
    await user.patch("MachinePool", pool, {"spec": {"replicas": 2}})
    await user.until(
        "each has changed, and one is gone",
        _all(
            _cluster(PLAIN, 3),
            _cluster(CLASSY, 2, MIDDLE),
            _cluster(POOLED, 3),
            lambda view: view.get("Cluster", EXTERNAL) is None,
        ),
    )


MANY: Final = (
    Scenario(
        "many",
        "Four clusters of several shapes, created and changed at once.",
        _many,
        None,
        60,
        share=16,
    ),
)
