"""Computes a plan stage by stage: the changes, and the rollouts that follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from kapy._aio.clock import Clock
from kapy.api.features import FeatureGates
from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.apps.plan.causes import Causes
from kapy.apps.plan.differences import Change, Verb, changes
from kapy.apps.plan.outcome import Outcome, Rollout
from kapy.apps.plan.problems import problems
from kapy.apps.plan.rollouts import outcomes
from kapy.apps.plan.sandbox import Sandbox, sandbox
from kapy.apps.plan.snapshot import Name, Snapshot
from kapy.apps.plan.trying import Wish, grant, watch_wishes
from kapy.kube import Document, Key

if TYPE_CHECKING:
    from kapy.hooks.transport import HookTransport

LONGEST: Final = 60
"""Stages after which a plan ends: an upgrade over ten minor versions has about thirty."""


class World(Protocol):
    """The management cluster, or files, before a change."""

    async def fill(self, into: Sandbox, wishes: Sequence[Wish]) -> None:
        """Put all objects that the wishes may affect into the sandbox. Raises KapyError."""
        ...

    async def extensions(self) -> Sequence[Document]:
        """The ExtensionConfigs. Raises KapyError."""
        ...

    async def refusals(
        self, wishes: Sequence[Wish], following: Iterable[Document]
    ) -> Mapping[Name, str]:
        """The reasons for which the API server would refuse wishes or objects written because of
        them: it may have admission webhooks of its own. Raises KapyError."""
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """The immediate changes, and the rollouts that must finish before the next stage begins."""

    changes: tuple[Change, ...]
    rollouts: tuple[Rollout, ...]

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.rollouts


@dataclass(slots=True)
class Plan:
    """All stages of a plan.

    under_way: changes that happen anyway, without the wishes. problems: by name, the reason for
    which a Cluster or class cannot reach its desired state; no object of those Clusters is changed.
    objects: the final state.
    """

    stages: list[Stage] = field(default_factory=list)
    under_way: Stage = field(default_factory=lambda: Stage((), ()))
    problems: dict[Name, str] = field(default_factory=dict)
    objects: Snapshot = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the change changes nothing."""
        return not self.stages


async def planned(
    world: World,
    wishes: Sequence[Wish],
    *,
    clock: Clock,
    gates: FeatureGates,
    post: HookTransport | None = None,
) -> Plan:
    """The plan of the wishes in a world. Raises Refused and the errors of reading the world.

    post: connects to extensions, None for HTTPS; the RuntimeSDK gate is open if there are
    extensions.
    """
    causes, configs = Causes(), await world.extensions()
    if configs:
        gates = replace(gates, runtime_sdk=True)

    async def fill(into: Sandbox) -> None:
        await world.fill(into, wishes)
        await into.put(configs)

    async with sandbox(clock, gates, fill=fill, explain=causes.take, post=post) as box:
        watch_wishes(box, wishes)
        there = box.snapshot()
        await box.settle()
        before = box.snapshot()
        plan = Plan(under_way=Stage(tuple(changes(there, before)), ()))
        await grant(box, wishes)
        for _ in range(LONGEST):
            after = box.snapshot()
            found = list(outcomes(after, box.nodes, clock()))
            differences = [one for one in changes(before, after) if _counts(one, wishes)]
            stage = Stage(
                tuple(causes.explained(before, differences)),
                tuple(one.rollout for one in found if one.rollout.is_anything),
            )
            if not stage.is_empty:
                plan.stages.append(stage)
            if not found:
                break
            before = await _carried_out(box, found)
        plan.objects = box.snapshot()
        plan.problems = dict(problems(plan.objects))
    plan.problems |= await world.refusals(wishes, _first(plan))
    return plan


def _first(plan: Plan) -> Iterator[Document]:
    """The first changes: the wishes, and their immediate consequences."""
    for stage in plan.stages[:1]:
        for change in stage.changes:
            if change.verb is not Verb.DELETE:
                yield change.after


def _counts(change: Change, wishes: Sequence[Wish]) -> bool:
    """Whether a change is listed; changes of Machines are listed with rollouts."""
    name = change.name
    return name.kind.kind not in _OF_ROLLOUTS or any(
        (one.document["kind"], Key.of(one.document)) == (name.kind.kind, name.key) for one in wishes
    )


_OF_ROLLOUTS: Final = (Machine.RESOURCE.kind, MachineSet.RESOURCE.kind)


async def _carried_out(box: Sandbox, found: Iterable[Outcome]) -> Snapshot:
    """The snapshot after rollouts and before any controller reacts; objects to be listed as deleted
    are still in it."""
    deleted: dict[Name, Document] = {}
    for one in found:
        await box.remove(one.gone)
        await box.put(one.written)
        deleted |= {box.name_of(document): document for document in one.told}
    after = deleted | dict(box.snapshot())
    await box.settle()
    return after
