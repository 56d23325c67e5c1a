"""The plan itself: stage by stage, what changes and which machines follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.features import FeatureGates
from kapy.api.names import ConditionType, Reason
from kapy.apps.plan.causes import Causes
from kapy.apps.plan.differences import Change, changes
from kapy.apps.plan.rollouts import Foresight, Outcome, Rollout
from kapy.apps.plan.sandbox import Name, Sandbox, Snapshot, sandbox
from kapy.apps.plan.trying import Wish, grant
from kapy.conditions.lookup import get
from kapy.kube.meta import read
from kapy.kube.names import GroupKind

LONGEST: Final = 60
"""Stages after which a plan ends: an upgrade over ten minor versions has about thirty."""


class World(Protocol):
    """What is there before a change."""

    async def fill(self, into: Sandbox, wishes: Sequence[Wish]) -> None:
        """Put in everything that the wishes may touch. Raises KapyError."""
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """What happens at once, and the rollouts that follow before the next stage begins."""

    changes: tuple[Change, ...]
    rollouts: tuple[Rollout, ...]

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.rollouts


@dataclass(slots=True)
class Plan:
    """All stages.

    under_way: what happens anyway, without the change. problems: why a Cluster or a class cannot
    become what it should, by its name; nothing of those Clusters is changed.
    """

    stages: list[Stage] = field(default_factory=list)
    under_way: Stage = field(default_factory=lambda: Stage((), ()))
    problems: dict[Name, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the change changes nothing."""
        return not self.stages


async def planned(
    world: World, wishes: Sequence[Wish], *, clock: Clock, gates: FeatureGates
) -> Plan:
    """What the wishes would do in a world. Raises Refused and what reading the world raises."""
    causes = Causes()

    async def fill(into: Sandbox) -> None:
        await world.fill(into, wishes)

    async with sandbox(clock, gates, fill=fill, explain=causes.take) as box:
        there = box.snapshot()
        await box.settle()
        before = box.snapshot()
        plan = Plan(under_way=Stage(tuple(changes(there, before)), ()))
        await grant(box, wishes)
        for _ in range(LONGEST):
            after = box.snapshot()
            outcomes = list(Foresight(after, clock()).outcomes())
            stage = Stage(
                tuple(causes.explained(before, changes(before, after))),
                tuple(one.rollout for one in outcomes if one.rollout.is_anything),
            )
            if not stage.is_empty:
                plan.stages.append(stage)
            if not outcomes:
                break
            before = await _carried_out(box, outcomes)
        plan.problems = dict(_problems(box.snapshot()))
    return plan


async def _carried_out(box: Sandbox, outcomes: Iterable[Outcome]) -> Snapshot:
    """The snapshot after rollouts, before anybody has reacted to their end."""
    for one in outcomes:
        await box.remove(one.gone)
        await box.put(one.written)
    found = box.snapshot()
    await box.settle()
    return found


def _problems(objects: Snapshot) -> Iterator[tuple[Name, str]]:
    for name, document in objects.items():
        if name.kind == CLUSTERS:
            found = get(
                read(document, Cluster).status.conditions, ConditionType.TOPOLOGY_RECONCILED
            )
            if found is not None and found.reason == Reason.RECONCILE_FAILED:
                yield name, found.message
        elif name.kind == CLUSTER_CLASSES:
            for one in read(document, ClusterClass).status.conditions:
                if one.type in _OF_CLASSES and one.status == "False":
                    yield name, one.message


CLUSTERS: Final = GroupKind(Cluster.RESOURCE.group, Cluster.RESOURCE.kind)
CLUSTER_CLASSES: Final = GroupKind(ClusterClass.RESOURCE.group, ClusterClass.RESOURCE.kind)
_OF_CLASSES: Final = (ConditionType.VARIABLES_READY, ConditionType.REF_VERSIONS_UP_TO_DATE)
