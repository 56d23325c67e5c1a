"""What is to be written for one Cluster: a plan, made before the first write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from kapy.kube import Document
from kapy.kube.names import Resource


class Effect(Enum):
    """What applying an object does to it."""

    NOTHING = "nothing"
    METADATA = "metadata"
    SPEC = "spec"
    CREATION = "creation"


@dataclass(slots=True)
class Planned:
    """One object as it is to be applied.

    intent: what is wanted of it, and nothing else. current: as it is, None where it is not there.
    replaces: the template that this new one stands in for.
    """

    resource: Resource
    intent: Document
    current: Document | None
    effect: Effect
    replaces: Document | None = None

    @property
    def is_change(self) -> bool:
        """Whether there is anything to write."""
        return self.effect is not Effect.NOTHING

    @property
    def creates(self) -> bool:
        """Whether a new object comes of it."""
        return self.effect is Effect.CREATION


@dataclass(slots=True)
class Doomed:
    """An object that is to go."""

    resource: Resource
    document: Document


@dataclass(slots=True)
class Parts:
    """An object of a cluster with what is made for it alone, in the order of writing.

    made_for: templates, or what a MachinePool refers to. object: None when it may not be written
    now. health_check: None when there is none, or nothing to do about it.
    """

    made_for: list[Planned] = field(default_factory=list)
    object: Planned | Doomed | None = None
    health_check: Planned | Doomed | None = None

    def all(self) -> Iterator[Planned | Doomed]:
        """Everything that there is to write."""
        objects = (self.health_check, *self.made_for, self.object)
        return (one for one in objects if one is not None and _is_change(one))


@dataclass(slots=True)
class Plan:
    """Everything for one Cluster.

    cluster: the merge patch of the Cluster itself. deployments, pools: by name in the topology.
    doomed: workers that vanished from the topology.
    """

    infrastructure: Planned
    control_plane: Parts
    cluster: Document
    deployments: dict[str, Parts] = field(default_factory=dict)
    pools: dict[str, Parts] = field(default_factory=dict)
    doomed: list[Parts] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be written."""
        parts = (self.control_plane, *self.deployments.values(), *self.pools.values(), *self.doomed)
        changes = self.infrastructure.is_change or self.cluster
        return not changes and not any(True for one in parts for _ in one.all())


def _is_change(one: Planned | Doomed) -> bool:
    return isinstance(one, Doomed) or one.is_change
