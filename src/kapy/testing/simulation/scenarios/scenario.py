"""The description of one scenario: the actions of a user, and the goals that must be reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kapy.testing.simulation.custom_provider import CustomProvider
from kapy.testing.simulation.extension import NewExtension
from kapy.testing.simulation.foreign_control_plane import ForeignControlPlane
from kapy.testing.simulation.user import User


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
