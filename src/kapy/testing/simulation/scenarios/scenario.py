"""The description of one scenario: the actions of a user, and the goals that must be reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from kapy.testing.simulation.custom_provider import CustomProvider
from kapy.testing.simulation.extension import NewExtension
from kapy.testing.simulation.foreign_control_plane import ForeignControlPlane
from kapy.testing.simulation.scenarios.manifests import CLUSTER
from kapy.testing.simulation.user import User, View, condition_of, is_true

_PAUSABLE: Final = (
    "Cluster",
    "Machine",
    "MachineSet",
    "MachineDeployment",
    "KubeadmControlPlane",
    "KubeadmConfig",
    "DevMachine",
    "DevCluster",
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that a simulation can play.

    prepare: runs without faults, up to the state in which the scenario begins. play: the actions
    during which faults happen. text: one line of help. seconds: the maximum time that the
    undisturbed run may take. provider: takes the place of the in-memory one. share: `make
    exhaustive` tries one point in this number of points. extension: returns the extension of a run,
    and opens the feature gates for it. replicas: the number of processes of each manager, of which
    one leads. control_plane: takes the place of kubeadm's. has_containers: whether machines are
    containers of a simulated engine. without: the kinds of fault that are not drawn. only_creates:
    whether no machine is deleted in it.
    """

    name: str
    text: str
    play: Callable[[User], Awaitable[None]]
    prepare: Callable[[User], Awaitable[None]] | None = None
    seconds: float = 20.0
    provider: CustomProvider | None = None
    share: int = 1
    extension: NewExtension | None = None
    replicas: int = 1
    control_plane: ForeignControlPlane | None = None
    has_containers: bool = False
    without: frozenset[str] = frozenset()
    only_creates: bool = False

    @property
    def options(self) -> str:
        """The options of the command that replays it, with a space before each."""
        return "" if self.provider is None else self.provider.options


Goal = Callable[[View], bool]


def is_available(view: View, name: str = CLUSTER) -> bool:
    """Return whether a cluster is Available, and nothing is rolled out, scaled or deleted."""
    cluster = view.get("Cluster", name)
    if cluster is None or not is_true(cluster, "Available"):
        return False
    for name in ("RollingOut", "ScalingUp", "ScalingDown", "Remediating"):
        condition = condition_of(cluster, name)
        if condition is None or condition["status"] != "False":
            return False
    topology = cluster["spec"].get("topology")
    return not topology or is_true(cluster, "TopologyReconciled")


def available_with(control_planes: int, workers: int, *, version: str = "") -> Goal:
    """Return the goal of a cluster with numbers of machines, all of a version."""

    def holds(view: View) -> bool:
        machines = view.machines()
        return (
            is_available(view)
            and len(view.machines(control_plane=True)) == control_planes
            and len(view.machines(control_plane=False)) == workers
            and all(not machine["metadata"].get("deletionTimestamp") for machine in machines)
            and all(is_true(machine, "Available") for machine in machines)
            and all(not version or machine["spec"]["version"] == version for machine in machines)
        )

    return holds


def without(view: View, names: list[str], goal: Goal) -> Goal:
    """Return a goal that needs that some Machines are gone, which exist now.

    Others may have got their names. After a restore of an older backup they may be there again,
    and be repaired.
    """
    uids = {
        machine["metadata"]["uid"]
        for machine in view.machines()
        if machine["metadata"]["name"] in names
    }

    def holds(view: View) -> bool:
        there = {machine["metadata"]["uid"] for machine in view.machines()}
        return (view.has_lost or there.isdisjoint(uids)) and goal(view)

    return holds


def deletion_waits_for(machine: str, word: str) -> Goal:
    """Return the goal that a Machine's deletion waits, and says for what."""

    def holds(view: View) -> bool:
        document = view.get("Machine", machine)
        condition = None if document is None else condition_of(document, "Deleting")
        return condition is not None and word in condition.get("message", "")

    return holds


def is_paused_everywhere(view: View) -> bool:
    """Return whether every object of a cluster says that it is paused."""
    return all(is_true(document, "Paused") for kind in _PAUSABLE for document in view.all(kind))


def nothing_is_left(view: View) -> bool:
    """Return whether no object of a cluster is left."""
    kinds = ("Cluster", "Machine", "DevMachine", "DevCluster", "KubeadmConfig", "MachineSet")
    return not any(view.all(kind) for kind in kinds)
