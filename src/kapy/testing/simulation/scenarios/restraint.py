"""Scenarios in which kapy must hold back: budgets, pauses, outages, an interrupted first start."""

from __future__ import annotations

from typing import Final

from kapy.testing.simulation.rules.restraint import PAUSE_GRACE
from kapy.testing.simulation.scenarios.manifests import (
    CLUSTER,
    HEALTH_CHECKS,
    OUTAGE_CHECK,
    budget,
    guarded_workload,
    plain_cluster,
    with_slow_machines,
)
from kapy.testing.simulation.scenarios.scenario import (
    Scenario,
    available_with,
    deletion_waits_for,
    is_paused_everywhere,
    without,
)
from kapy.testing.simulation.user import User, View

CONTROL_PLANE: Final = "meadow-cp"
WORKERS: Final = "meadow-md"


def _workers(view: View) -> list[str]:
    return sorted(machine["metadata"]["name"] for machine in view.machines(control_plane=False))


async def _plain(user: User, workers: int) -> None:
    await user.apply(plain_cluster(control_planes=1, workers=workers))
    await user.until("the cluster is available", available_with(1, workers))


async def _plain_1_1(user: User) -> None:
    await _plain(user, 1)


async def _guarded_1_2(user: User) -> None:
    await _plain(user, 2)
    await user.apply_there(CLUSTER, guarded_workload())


async def _checked_1_3(user: User) -> None:
    await user.apply(OUTAGE_CHECK)
    await _plain(user, 3)


async def _healing_1_2(user: User) -> None:
    await user.apply(HEALTH_CHECKS)
    await _plain(user, 2)


async def _grow_and_heal(user: User) -> None:
    """New machines start long after the cluster, and a Node fails later still."""
    await user.patch("KubeadmControlPlane", CONTROL_PLANE, {"spec": {"replicas": 3}})
    await user.until("there are three control plane machines", available_with(3, 2))
    victim = _workers(user.view)[0]
    user.break_node(CLUSTER, victim)
    await user.until("the worker is replaced", without(user.view, [victim], available_with(3, 2)))


async def _drain(user: User) -> None:
    """A budget allows no disruption at first; a deletion waits for it and says so."""
    victim = _workers(user.view)[0]
    await user.delete("Machine", victim)
    await user.until("the drain waits for the budget", deletion_waits_for(victim, "evict"))
    await user.apply_there(CLUSTER, [budget(3)])
    await user.until("the worker is replaced", without(user.view, [victim], available_with(1, 2)))


async def _pause(user: User) -> None:
    """Nothing goes on while a cluster is paused, and everything afterwards."""
    victim = _workers(user.view)[0]
    await user.patch("Cluster", CLUSTER, {"spec": {"paused": True}})
    await user.until("everything is paused", is_paused_everywhere)
    await user.sleep(PAUSE_GRACE)
    await user.patch("MachineDeployment", WORKERS, {"spec": {"replicas": 2}})
    [machine_set] = [document["metadata"]["name"] for document in user.view.all("MachineSet")]
    await user.patch("MachineSet", machine_set, {"spec": {"replicas": 3}})
    await user.delete("Machine", victim)
    await user.sleep(PAUSE_GRACE)
    await user.patch("Cluster", CLUSTER, {"spec": {"paused": False}})
    await user.until(
        "there are two other workers", without(user.view, [victim], available_with(1, 2))
    )


async def _outage(user: User) -> None:
    """Two of three Nodes fail, which is more than the health check may remediate."""
    first, second, _ = _workers(user.view)
    user.break_node(CLUSTER, first)
    user.break_node(CLUSTER, second)
    await user.sleep(PAUSE_GRACE)
    user.mend_node(CLUSTER, second)
    await user.until(
        "the other worker is replaced", without(user.view, [first], available_with(1, 3))
    )


async def _restart(user: User) -> None:
    """The machine that initializes the cluster is deleted before it has.

    It starts slowly: a control plane that learns of the deletion after the initialization has lost
    its only etcd member, and no other machine can take its place.
    """
    await user.apply(with_slow_machines(plain_cluster(control_planes=1, workers=1)))
    await user.until("the first machine has boot data", _has_boot_data)
    [first] = user.view.machines(control_plane=True)
    await user.delete("Machine", first["metadata"]["name"])
    goal, uid = available_with(1, 1), first["metadata"]["uid"]
    await user.until(
        "another machine took its place",  # perhaps under the same name
        lambda view: (
            goal(view) and all(machine["metadata"]["uid"] != uid for machine in view.machines())
        ),
    )


def _has_boot_data(view: View) -> bool:
    return any(
        machine["spec"]["bootstrap"].get("dataSecretName")
        for machine in view.machines(control_plane=True)
    )


RESTRAINT: Final = (
    Scenario("drain", "A PodDisruptionBudget holds up a drain for a while.", _drain, _guarded_1_2),
    Scenario("pause", "A paused cluster is changed, then goes on.", _pause, _plain_1_1, 300),
    Scenario("outage", "More Nodes fail than may be remediated.", _outage, _checked_1_3, 200),
    Scenario(
        "leaders",
        "Two processes of each manager elect a leader; a control plane grows, a Node fails.",
        _grow_and_heal,
        _healing_1_2,
        90,
        share=8,
        replicas=2,
    ),
    Scenario(
        "grow-and-heal",
        "A control plane grows, then the Node of a worker fails.",
        _grow_and_heal,
        _healing_1_2,
        70,
        share=8,
    ),
    Scenario(
        "restart", "The first control plane machine is deleted at once.", _restart, seconds=70
    ),
)
