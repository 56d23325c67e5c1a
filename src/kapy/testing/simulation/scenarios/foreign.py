"""Clusters whose control plane is not kubeadm's: of Machines, and of a service without any."""

from __future__ import annotations

from typing import Final

from kapy.testing.simulation.foreign_control_plane import SERVICES, STACKS
from kapy.testing.simulation.scenarios.manifests import CLUSTER, NEW, plain_cluster
from kapy.testing.simulation.scenarios.scenario import (
    Goal,
    Scenario,
    available_with,
    nothing_is_left,
    without,
)
from kapy.testing.simulation.user import User, View

CONTROL_PLANE: Final = "meadow-cp"
WORKERS: Final = "meadow-md"
PLANE: Final = "KubeadmControlPlane"
"""The kind in whose place the foreign one is."""


def _serving(goal: Goal, version: str) -> Goal:
    """Return a goal that needs that the control plane has a version."""

    def holds(view: View) -> bool:
        plane = view.get(PLANE, CONTROL_PLANE)
        status = {} if plane is None else plane.get("status") or {}
        return goal(view) and status.get("version") == version

    return holds


async def _stack(user: User) -> None:
    await user.apply(plain_cluster(control_planes=1, workers=1))
    await user.until("the cluster is available", available_with(1, 1))


async def _stack_3_0(user: User) -> None:
    await user.apply(plain_cluster(control_planes=3, workers=0))
    await user.until("the cluster is available", available_with(3, 0))


async def _scale_stack(user: User) -> None:
    await user.patch(PLANE, CONTROL_PLANE, {"spec": {"replicas": 3}})
    await user.until("there are three control plane machines", available_with(3, 1))
    await user.patch(PLANE, CONTROL_PLANE, {"spec": {"replicas": 1}})
    await user.until("there is one control plane machine", available_with(1, 1))


async def _upgrade_stack(user: User) -> None:
    old = [machine["metadata"]["name"] for machine in user.view.machines(control_plane=True)]
    await user.patch(PLANE, CONTROL_PLANE, {"spec": {"version": NEW}})
    goal = _serving(available_with(3, 0, version=NEW), NEW)
    await user.until("all control planes are new", without(user.view, old, goal))


async def _service(user: User) -> None:
    await user.apply(plain_cluster(workers=1))
    await user.until("the cluster is available", available_with(0, 1))


async def _scale_service(user: User) -> None:
    await user.patch("MachineDeployment", WORKERS, {"spec": {"replicas": 3}})
    await user.until("there are three workers", available_with(0, 3))
    await user.patch("MachineDeployment", WORKERS, {"spec": {"replicas": 1}})
    await user.until("there is one worker", available_with(0, 1))


async def _upgrade_service(user: User) -> None:
    """The control plane first, then its worker."""
    await user.patch(PLANE, CONTROL_PLANE, {"spec": {"version": NEW}})
    await user.until("the control plane is new", _serving(available_with(0, 1), NEW))
    version = {"spec": {"template": {"spec": {"version": NEW}}}}
    await user.patch("MachineDeployment", WORKERS, version)
    await user.until("the worker is new", available_with(0, 1, version=NEW))


async def _delete(user: User) -> None:
    await user.delete("Cluster", CLUSTER)
    await user.until("nothing is left", lambda view: nothing_is_left(view) and not view.all(PLANE))


FOREIGN: Final = (
    Scenario("stack-create", "A foreign control plane of Machines.", _stack, control_plane=STACKS),
    Scenario(
        "stack-scale",
        "A foreign control plane of Machines: 1, 3, 1.",
        _scale_stack,
        _stack,
        control_plane=STACKS,
    ),
    Scenario(
        "stack-upgrade",
        "Another minor version of a foreign control plane of three Machines.",
        _upgrade_stack,
        _stack_3_0,
        share=2,
        control_plane=STACKS,
    ),
    Scenario(
        "stack-delete",
        "A cluster with a foreign control plane of Machines is deleted.",
        _delete,
        _stack,
        control_plane=STACKS,
    ),
    Scenario(
        "service-create",
        "A control plane without Machines, and a worker.",
        _service,
        control_plane=SERVICES,
    ),
    Scenario(
        "service-scale",
        "Workers of a control plane without Machines: 1, 3, 1.",
        _scale_service,
        _service,
        control_plane=SERVICES,
    ),
    Scenario(
        "service-upgrade",
        "Another minor version of a control plane without Machines.",
        _upgrade_service,
        _service,
        control_plane=SERVICES,
    ),
    Scenario(
        "service-delete",
        "A cluster with a control plane without Machines is deleted.",
        _delete,
        _service,
        control_plane=SERVICES,
    ),
)
