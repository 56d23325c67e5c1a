"""The table of all simulation scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.kube.errors import KapyError
from kapy.testing.simulation.scenarios.clock_jumps import CLOCK_JUMPS
from kapy.testing.simulation.scenarios.cluster_move import CLUSTER_MOVE
from kapy.testing.simulation.scenarios.cluster_variants import CLUSTER_VARIANTS
from kapy.testing.simulation.scenarios.extension_hooks import EXTENSION_HOOKS
from kapy.testing.simulation.scenarios.foreign import FOREIGN
from kapy.testing.simulation.scenarios.manifests import (
    CLUSTER,
    HEALTH_CHECKS,
    MIDDLE,
    NEW,
    OLD,
    class_cluster,
    cluster_class,
    plain_cluster,
)
from kapy.testing.simulation.scenarios.many import MANY
from kapy.testing.simulation.scenarios.restraint import RESTRAINT
from kapy.testing.simulation.scenarios.scenario import (
    Scenario,
    available_with,
    nothing_is_left,
    without,
)
from kapy.testing.simulation.user import User

CONTROL_PLANE: Final = "meadow-cp"
WORKERS: Final = "meadow-md"


class BadScenario(KapyError):
    """There is no scenario of this name; the message lists them."""


async def _plain(user: User, control_planes: int = 1, workers: int = 2) -> None:
    await user.apply(plain_cluster(control_planes=control_planes, workers=workers))
    await user.until("the cluster is available", available_with(control_planes, workers))


async def _plain_1_1(user: User) -> None:
    await _plain(user, 1, 1)


async def _plain_1_2(user: User) -> None:
    await _plain(user, 1, 2)


async def _plain_3_0(user: User) -> None:
    await _plain(user, 3, 0)


async def _healing_1_2(user: User) -> None:
    await user.apply(HEALTH_CHECKS)
    await _plain(user, 1, 2)


async def _healing_3_0(user: User) -> None:
    await user.apply(HEALTH_CHECKS)
    await _plain(user, 3, 0)


async def _classy(user: User) -> None:
    await user.apply(cluster_class())
    await user.apply(class_cluster())
    await user.until("the cluster is available", available_with(1, 1, version=OLD))


async def _create(user: User) -> None:
    await _plain(user, 1, 1)


async def _create_of_class(user: User) -> None:
    await _classy(user)


async def _scale_workers(user: User) -> None:
    await user.patch("MachineDeployment", WORKERS, {"spec": {"replicas": 3}})
    await user.until("there are three workers", available_with(1, 3))
    await user.patch("MachineDeployment", WORKERS, {"spec": {"replicas": 1}})
    await user.until("there is one worker", available_with(1, 1))


async def _scale_control_plane(user: User) -> None:
    await user.patch("KubeadmControlPlane", CONTROL_PLANE, {"spec": {"replicas": 3}})
    await user.until("there are three control plane machines", available_with(3, 1))
    await user.patch("KubeadmControlPlane", CONTROL_PLANE, {"spec": {"replicas": 1}})
    await user.until("there is one control plane machine", available_with(1, 1))


async def _upgrade_workers(user: User) -> None:
    old = _names(user, control_plane=False)
    version = {"spec": {"template": {"spec": {"version": "v1.34.1"}}}}
    await user.patch("MachineDeployment", WORKERS, version)
    await user.until("all workers are new", without(user.view, old, available_with(1, 2)))


async def _upgrade_control_plane(user: User) -> None:
    old = _names(user, control_plane=True)
    await user.patch("KubeadmControlPlane", CONTROL_PLANE, {"spec": {"version": NEW}})
    await user.until(
        "all control planes are new", without(user.view, old, available_with(3, 0, version=NEW))
    )


async def _upgrade_class(user: User) -> None:
    await user.patch("Cluster", CLUSTER, {"spec": {"topology": {"version": NEW}}})
    await user.until(f"the cluster has {NEW}", available_with(1, 1, version=NEW))


async def _change_class(user: User) -> None:
    old = _names(user, control_plane=False)
    variables = [{"name": "label", "value": "brown"}]
    await user.patch("Cluster", CLUSTER, {"spec": {"topology": {"variables": variables}}})
    await user.until("the worker is new", without(user.view, old, available_with(1, 1)))


async def _rebase(user: User) -> None:
    await user.apply(cluster_class("pasture"))
    await user.patch("Cluster", CLUSTER, {"spec": {"topology": {"classRef": {"name": "pasture"}}}})

    goal = available_with(1, 1)
    await user.until(
        "the cluster is of the other class",
        lambda view: (
            goal(view)
            and all(
                control_plane["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"]
                == "pasture"
                for control_plane in view.all("KubeadmControlPlane")
            )
        ),
    )


async def _remediate_worker(user: User) -> None:
    victim = _names(user, control_plane=False)[0]
    user.break_node(CLUSTER, victim)
    await user.until("the worker is replaced", without(user.view, [victim], available_with(1, 2)))


async def _remediate_control_plane(user: User) -> None:
    victim = _names(user, control_plane=True)[0]
    user.break_node(CLUSTER, victim)
    await user.until(
        "the control plane is replaced", without(user.view, [victim], available_with(3, 0))
    )


async def _delete_machines(user: User) -> None:
    victims = _names(user, control_plane=True)[:2]
    goal = without(user.view, victims, available_with(3, 0))
    for name in victims:
        await user.delete("Machine", name)
    await user.until("both are replaced", goal)


async def _delete(user: User) -> None:
    await user.delete("Cluster", CLUSTER)
    await user.until("nothing is left", nothing_is_left)


def _names(user: User, *, control_plane: bool) -> list[str]:
    return sorted(
        machine["metadata"]["name"] for machine in user.view.machines(control_plane=control_plane)
    )


SCENARIOS: Final[Mapping[str, Scenario]] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "create",
            "A cluster of one control plane machine and one worker.",
            _create,
            only_creates=True,
        ),
        Scenario(
            "create-class", "A cluster of a ClusterClass.", _create_of_class, only_creates=True
        ),
        Scenario("scale-workers", "Workers: 2, 3, 1.", _scale_workers, _plain_1_2),
        Scenario(
            "scale-control-plane", "Control plane: 1, 3, 1.", _scale_control_plane, _plain_1_1
        ),
        Scenario(
            "upgrade-workers", "Another version of the workers.", _upgrade_workers, _plain_1_2
        ),
        Scenario(
            "upgrade-control-plane",
            "Another minor version of three control plane machines.",
            _upgrade_control_plane,
            _plain_3_0,
        ),
        Scenario(
            "upgrade-class", "A ClusterClass cluster over two minors.", _upgrade_class, _classy
        ),
        Scenario("change-class", "Another value of a variable.", _change_class, _classy),
        Scenario("rebase", "Another ClusterClass.", _rebase, _classy),
        Scenario("heal-worker", "The Node of a worker fails.", _remediate_worker, _healing_1_2, 50),
        Scenario(
            "heal-control-plane",
            "The Node of one of three control plane machines fails.",
            _remediate_control_plane,
            _healing_3_0,
            50,
        ),
        Scenario(
            "delete-machines",
            "Two of three control plane machines are deleted at the same time.",
            _delete_machines,
            _plain_3_0,
        ),
        Scenario("delete", "The cluster is deleted.", _delete, _plain_1_1),
        Scenario(
            "docker-create",
            "A cluster of two containers.",
            _create,
            seconds=60,
            share=4,
            has_containers=True,
        ),
        Scenario(
            "docker-scale",
            "Workers that are containers: 2, 3, 1.",
            _scale_workers,
            _plain_1_2,
            seconds=60,
            share=3,
            has_containers=True,
        ),
        Scenario(
            "docker-delete",
            "A cluster of two containers is deleted.",
            _delete,
            _plain_1_1,
            seconds=60,
            has_containers=True,
        ),
        *RESTRAINT,
        *CLUSTER_VARIANTS,
        *EXTENSION_HOOKS,
        *CLOCK_JUMPS,
        *MANY,
        *CLUSTER_MOVE,
        *FOREIGN,
    )
}


def scenario_named(name: str) -> Scenario:
    """Return the scenario with a name. Raises BadScenario."""
    if name not in SCENARIOS:
        raise BadScenario(f"there is no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    return SCENARIOS[name]


__all__ = ["MIDDLE", "SCENARIOS", "BadScenario", "scenario_named"]
