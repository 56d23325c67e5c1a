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
from kapy.apps.plan.changes import RequestedChange, apply_changes, watch_changed_objects
from kapy.apps.plan.differences import Change, Verb, changes
from kapy.apps.plan.outcome import Outcome, Rollout
from kapy.apps.plan.problems import problems
from kapy.apps.plan.rollouts import outcomes
from kapy.apps.plan.sandbox import Sandbox, sandbox
from kapy.apps.plan.snapshot import Name, Snapshot
from kapy.kube import Document, Key

if TYPE_CHECKING:
    from kapy.hooks.transport import HookTransport

MAX_STAGES: Final = 60
"""The maximum number of stages of a plan: an upgrade over ten minor versions has about thirty."""


class PlanSource(Protocol):
    """The source of the objects before a change: a management cluster, or files."""

    async def fill(self, into: Sandbox, requested: Sequence[RequestedChange]) -> None:
        """Put all objects that the changes may affect into the sandbox. Raises KapyError."""
        ...

    async def extensions(self) -> Sequence[Document]:
        """Return the ExtensionConfigs. Raises KapyError."""
        ...

    async def admission_errors(
        self, requested: Sequence[RequestedChange], following: Iterable[Document]
    ) -> Mapping[Name, str]:
        """Return the reasons for which the API server would refuse requested changes, or objects
        written because of them: it may have admission webhooks of its own. Raises KapyError.
        """
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
    """The result of `compute_plan`: all stages of a plan.

    ongoing: the changes that happen even without the requested ones. problems: the reason for which
    a Cluster or class cannot reach its desired state, by name; no object of those Clusters is
    changed. objects: the final state of all objects.
    """

    stages: list[Stage] = field(default_factory=list)
    ongoing: Stage = field(default_factory=lambda: Stage((), ()))
    problems: dict[Name, str] = field(default_factory=dict)
    objects: Snapshot = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the change changes nothing."""
        return not self.stages


async def compute_plan(
    world: PlanSource,
    requested: Sequence[RequestedChange],
    *,
    clock: Clock,
    gates: FeatureGates,
    post: HookTransport | None = None,
) -> Plan:
    """Return the effects of the requested changes. Raises ChangeRefused and the errors of reading
    `world`.

    post: connects to extensions, None for HTTPS; the RuntimeSDK gate is open if there are
    extensions.
    """
    causes, configs = Causes(), await world.extensions()
    if configs:
        gates = replace(gates, runtime_sdk=True)

    async def fill(into: Sandbox) -> None:
        await world.fill(into, requested)
        await into.store(configs)

    async with sandbox(clock, gates, fill=fill, explain=causes.record, post=post) as box:
        watch_changed_objects(box, requested)
        there = box.snapshot()
        await box.settle()
        before = box.snapshot()
        plan = Plan(ongoing=Stage(tuple(changes(there, before)), ()))
        await apply_changes(box, requested)
        for _ in range(MAX_STAGES):
            after = box.snapshot()
            result = list(outcomes(after, box.nodes, clock()))
            differences = [
                change for change in changes(before, after) if _is_listed(change, requested)
            ]
            stage = Stage(
                tuple(causes.explain(before, differences)),
                tuple(outcome.rollout for outcome in result if outcome.rollout.has_effect),
            )
            if not stage.is_empty:
                plan.stages.append(stage)
            if not result:
                break
            before = await _after_rollouts(box, result)
        plan.objects = box.snapshot()
        plan.problems = dict(problems(plan.objects))
    plan.problems |= await world.admission_errors(requested, _first_changes(plan))
    return plan


def _first_changes(plan: Plan) -> Iterator[Document]:
    """Yield the new states of objects in the first stage: the requested changes and their immediate
    consequences.
    """
    for stage in plan.stages[:1]:
        for change in stage.changes:
            if change.verb is not Verb.DELETE:
                yield change.after


def _is_listed(change: Change, requested: Sequence[RequestedChange]) -> bool:
    """Return whether a change is listed; changes of Machines are listed with rollouts."""
    name = change.name
    return name.kind.kind not in _LISTED_WITH_ROLLOUTS or any(
        (item.document["kind"], Key.of(item.document)) == (name.kind.kind, name.key)
        for item in requested
    )


_LISTED_WITH_ROLLOUTS: Final = (Machine.RESOURCE.kind, MachineSet.RESOURCE.kind)


async def _after_rollouts(box: Sandbox, outcomes: Iterable[Outcome]) -> Snapshot:
    """Return the snapshot after rollouts and before any controller reacts; objects to be listed as
    deleted are still in it.
    """
    deleted: dict[Name, Document] = {}
    for outcome in outcomes:
        await box.remove(outcome.deleted)
        await box.store(outcome.updated)
        deleted |= {box.name_of(document): document for document in outcome.listed_deletions}
    after = deleted | dict(box.snapshot())
    await box.settle()
    return after
