"""The plan of one Cluster's writes, computed before the first write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import Enum

from kapy._aio.dataclass import dataclass
from kapy.kube import Document
from kapy.kube.names import Resource


class Effect(Enum):
    """The effect of applying an object."""

    NOTHING = "nothing"
    METADATA = "metadata"
    SPEC = "spec"
    CREATION = "creation"


@dataclass(slots=True)
class Planned:
    """One object to apply.

    intent: the apply configuration. current: the existing object, None if there is none. replaces:
    the template that this new one replaces.
    """

    resource: Resource
    intent: Document
    current: Document | None
    effect: Effect
    replaces: Document | None = None

    @property
    def is_change(self) -> bool:
        """Whether it writes anything."""
        return self.effect is not Effect.NOTHING

    @property
    def creates(self) -> bool:
        """Whether it creates a new object."""
        return self.effect is Effect.CREATION


@dataclass(slots=True)
class PlannedDeletion:
    """An object to be deleted."""

    resource: Resource
    document: Document


@dataclass(slots=True)
class Parts:
    """An object of a cluster with its dependencies, in the order of writing.

    dependencies: templates, or the objects of a MachinePool. object: None if it may not be written
    now. health_check: None if nothing has to be done about it.
    """

    dependencies: list[Planned] = field(default_factory=list)
    object: Planned | PlannedDeletion | None = None
    health_check: Planned | PlannedDeletion | None = None

    def all(self) -> Iterator[Planned | PlannedDeletion]:
        """Return all planned writes."""
        objects = (self.health_check, *self.dependencies, self.object)
        return (obj for obj in objects if obj is not None and _is_change(obj))


@dataclass(slots=True)
class Plan:
    """The plan of one Cluster.

    cluster: the merge patch of the Cluster itself. deployments, pools: by topology name. deletions:
    workers that were removed from the topology.
    """

    infrastructure: Planned
    control_plane: Parts
    cluster: Document
    deployments: dict[str, Parts] = field(default_factory=dict)
    pools: dict[str, Parts] = field(default_factory=dict)
    deletions: list[Parts] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether it writes nothing."""
        parts = (
            self.control_plane,
            *self.deployments.values(),
            *self.pools.values(),
            *self.deletions,
        )
        changes = self.infrastructure.is_change or self.cluster
        return not changes and not any(True for part in parts for _ in part.all())


def _is_change(planned: Planned | PlannedDeletion) -> bool:
    return isinstance(planned, PlannedDeletion) or planned.is_change
