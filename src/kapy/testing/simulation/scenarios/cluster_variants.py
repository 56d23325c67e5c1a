"""Scenarios of other clusters: a MachinePool, an external etcd, volumes that a drain waits for."""

from __future__ import annotations

from typing import Final

from kapy.kube.names import Resource
from kapy.testing.simulation.scenarios.manifests import CLUSTER, NEW, plain_cluster
from kapy.testing.simulation.scenarios.other_manifests import (
    POOL,
    attached_volume,
    machine_pool,
    with_external_etcd,
)
from kapy.testing.simulation.scenarios.scenario import (
    Goal,
    Scenario,
    available_with,
    deletion_waits_for,
    nothing_is_left,
    without,
)
from kapy.testing.simulation.user import User, View

CONTROL_PLANE: Final = "meadow-cp"
ATTACHMENTS: Final = Resource(
    "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", namespaced=False
)
POOL_VERSION: Final = "v1.34.1"


def _pool_with(replicas: int, version: str = "") -> Goal:
    """Return the goal of a cluster whose pool has so many machines, all of a version."""
    goal = available_with(1, replicas)

    def holds(view: View) -> bool:
        pool = view.get("MachinePool", POOL)
        status = {} if pool is None else pool.get("status") or {}
        versions = {entry.get("version") for entry in status.get("versions") or ()}
        return (
            goal(view)
            and len(status.get("nodeRefs") or ()) == replicas
            and len(view.all("DevMachine")) == replicas + 1
            and (not version or versions == {version})
        )

    return holds


async def _create_pool(user: User) -> None:
    await user.apply(
        [
            *(
                document
                for document in plain_cluster()
                if document["metadata"]["name"] != "meadow-md"
            ),
            *machine_pool(2),
        ]
    )
    await user.until("the pool has two machines", _pool_with(2))


async def _pool(user: User) -> None:
    await user.patch("MachinePool", POOL, {"spec": {"replicas": 3}})
    await user.until("the pool has three machines", _pool_with(3))
    version = {"template": {"spec": {"version": POOL_VERSION}}}
    await user.patch("MachinePool", POOL, {"spec": version})
    await user.until("the pool has another version", _pool_with(3, POOL_VERSION))
    await user.patch("MachinePool", POOL, {"spec": {"replicas": 1}})
    await user.until("the pool has one machine", _pool_with(1, POOL_VERSION))


async def _delete_pool(user: User) -> None:
    await user.delete("Cluster", CLUSTER)
    await user.until(
        "nothing is left",
        lambda view: (
            nothing_is_left(view)
            and not any(view.all(kind) for kind in ("MachinePool", "DevMachinePool"))
        ),
    )


async def _with_etcd(user: User) -> None:
    await user.apply(
        with_external_etcd(plain_cluster(control_planes=3, workers=0), user.world.clock())
    )
    await user.until("the cluster is available", available_with(3, 0))


async def _external_etcd(user: User) -> None:
    """Upgrade and shrink a control plane whose etcd belongs to others."""
    old = [machine["metadata"]["name"] for machine in user.view.machines(control_plane=True)]
    await user.patch("KubeadmControlPlane", CONTROL_PLANE, {"spec": {"version": NEW}})
    await user.until(
        "all control planes are new", without(user.view, old, available_with(3, 0, version=NEW))
    )
    await user.patch("KubeadmControlPlane", CONTROL_PLANE, {"spec": {"replicas": 1}})
    await user.until("there is one control plane machine", available_with(1, 0))


async def _attached_1_2(user: User) -> None:
    await user.apply(plain_cluster(control_planes=1, workers=2))
    await user.until("the cluster is available", available_with(1, 2))


async def _volumes(user: User) -> None:
    """A volume is attached to the Node of a deleted machine until its driver detaches it."""
    victim = min(machine["metadata"]["name"] for machine in user.view.machines(control_plane=False))
    await user.apply_there(CLUSTER, attached_volume(victim))
    await user.patch_there(CLUSTER, ATTACHMENTS, "grass", {"status": {"attached": True}}, "status")
    await user.delete("Machine", victim)
    await user.until("the deletion waits for the volume", deletion_waits_for(victim, "volumes"))
    await user.delete_there(CLUSTER, ATTACHMENTS, "grass")
    await user.until("the worker is replaced", without(user.view, [victim], available_with(1, 2)))


CLUSTER_VARIANTS: Final = (
    Scenario("pool", "A MachinePool: 2, 3, another version, 1.", _pool, _create_pool, 40, share=4),
    Scenario("delete-pool", "A cluster with a MachinePool is deleted.", _delete_pool, _create_pool),
    Scenario(
        "external-etcd",
        "A control plane with an etcd of others is upgraded, then shrinks.",
        _external_etcd,
        _with_etcd,
        share=4,
    ),
    Scenario("volumes", "A drain waits for a volume.", _volumes, _attached_1_2, share=2),
)
