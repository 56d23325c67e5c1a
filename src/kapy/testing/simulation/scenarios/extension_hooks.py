"""Scenarios with an extension: steps that it holds up, and Machines that it updates in place."""

from __future__ import annotations

from typing import Final

from kapy.testing.simulation.extension import HOST, extension_config, holding_extension
from kapy.testing.simulation.scenarios.manifests import (
    CLUSTER,
    MIDDLE,
    OLD,
    another_template,
    class_cluster,
    cluster_class,
    plain_cluster,
)
from kapy.testing.simulation.scenarios.scenario import (
    Goal,
    Scenario,
    available_with,
    nothing_is_left,
)
from kapy.testing.simulation.user import User, View

WORKERS: Final = "meadow-md"
CONTROL_PLANE: Final = "meadow-cp"
SECOND: Final = "second"


async def _discover(user: User) -> None:
    await user.apply([extension_config()])
    await user.until(
        "the extension is known", lambda view: view.is_true("ExtensionConfig", HOST, "Discovered")
    )


async def _held_create(user: User) -> None:
    await user.apply(cluster_class())
    await user.apply(class_cluster())
    await user.until("the cluster is available", available_with(1, 1, version=OLD))


async def _held_class(user: User) -> None:
    await _discover(user)
    await _held_create(user)


async def _held_upgrade(user: User) -> None:
    await user.patch("Cluster", CLUSTER, {"spec": {"topology": {"version": MIDDLE}}})
    await user.until(f"the cluster has {MIDDLE}", available_with(1, 1, version=MIDDLE))


async def _held_delete(user: User) -> None:
    await user.delete("Cluster", CLUSTER)
    await user.until("nothing is left", nothing_is_left)


async def _plain_1_2(user: User) -> None:
    await _discover(user)
    await user.apply(plain_cluster(control_planes=1, workers=2))
    limits = {"maxSurge": 0, "maxUnavailable": 1}
    strategy = {"type": "RollingUpdate", "rollingUpdate": limits}
    await user.patch("MachineDeployment", WORKERS, {"spec": {"rollout": {"strategy": strategy}}})
    await user.until("the cluster is available", available_with(1, 2))


async def _plain_3_0(user: User) -> None:
    await _discover(user)
    await user.apply(plain_cluster(control_planes=3, workers=0))
    await user.until("the cluster is available", available_with(3, 0))


async def _in_place(user: User) -> None:
    """The workers get another template, and stay."""
    before = _machines(user.view)
    await user.apply([another_template(SECOND)])
    template = {"spec": {"infrastructureRef": {"name": SECOND}}}
    await user.patch("MachineDeployment", WORKERS, {"spec": {"template": template}})
    await user.until("the workers are updated", _update_goal(before, available_with(1, 2), 2))


async def _in_place_control_plane(user: User) -> None:
    """The control plane machines get another template, and stay."""
    before = _machines(user.view)
    await user.apply([another_template(SECOND)])
    template = {"spec": {"infrastructureRef": {"name": SECOND}}}
    await user.patch("KubeadmControlPlane", CONTROL_PLANE, {"spec": {"machineTemplate": template}})
    # A surge Machine is created first, and deleted at the end.
    await user.until("the machines are updated", _update_goal(before, available_with(3, 0), 2))


def _machines(view: View) -> set[str]:
    return {str(machine["metadata"]["uid"]) for machine in view.machines()}


def _update_goal(before: set[str], goal: Goal, least: int) -> Goal:
    """Return the goal that all machines are of the second template; at least so many stay."""

    def holds(view: View) -> bool:
        clones = [
            machine
            for machine in view.all("DevMachine")
            if machine["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"] == SECOND
        ]
        return goal(view) and len(clones) >= least and len(before & _machines(view)) >= least

    return holds


EXTENSION_HOOKS: Final = tuple(
    Scenario(name, text, play, prepare, seconds, extension=holding_extension, share=share)
    for name, text, play, prepare, seconds, share in (
        ("hooks-create", "An extension holds up a creation.", _held_create, _discover, 60, 3),
        ("hooks-upgrade", "An extension holds up an upgrade.", _held_upgrade, _held_class, 120, 2),
        ("hooks-delete", "An extension holds up a deletion.", _held_delete, _held_class, 60, 1),
        ("in-place", "Workers are updated in place.", _in_place, _plain_1_2, 60, 1),
        (
            "in-place-control-plane",
            "Control plane machines are updated in place.",
            _in_place_control_plane,
            _plain_3_0,
            60,
            2,
        ),
    )
)
