"""Runs a move between two management clusters step by step; resumes or rolls back from any step.

Nothing is removed from the source until the target was compared with it. A rollback before that
point restores the target's previous objects and resumes the source. A rollback after that point
moves the objects back: the target's current state is written to the source, compared, and removed
from the target.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.move import pausing
from kapy.clusterctl.move.checks import (
    check_undeleted,
    check_unpaused,
    still_changing_error,
)
from kapy.clusterctl.move.copying import ObjectCopier
from kapy.clusterctl.move.discovery import discover
from kapy.clusterctl.move.graph import Graph, Node, Ref
from kapy.clusterctl.move.journal import (
    Journal,
    Leg,
    ObjectRemoved,
    ObjectsKnown,
    PauseStarted,
    RollbackStarted,
    TargetVerified,
)
from kapy.clusterctl.move.kinds import CLUSTER, moved_kinds
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.plan import Plan, PlannedMove, Treatment, plan_move
from kapy.clusterctl.move.removal import remove_from_source, undo_in_target, verify
from kapy.clusterctl.move.summary import paused_refs
from kapy.kube import Document

MAX_ROUNDS: Final = 5
"""How often the source is copied again because its objects were still changing."""


class Mover:
    """Carries out one move. source, target: clients with administrator rights for the two
    management clusters.
    """

    def __init__(self, source: Client, target: Client, journal: Journal, log: Log) -> None:
        self._source = source
        self._target = target
        self.journal = journal
        self._tell = log
        self._namespace = journal.state.begun.namespace
        self._pausing_done: set[Ref] = set()

    async def run(self) -> None:
        """Do the remaining steps of the move. Raises MoveError, ApiErrors and Unreachable."""
        state = self.journal.state
        if state.turned_back:
            await self.roll_back()
            return
        if "forth" not in state.verified:
            await self._run_forward()
        if not state.removed:
            await self._remove_from_source()
        await pausing.resume(self._target, state.paused, self._tell)
        await self._resume_remaining()
        self.journal.end()

    async def roll_back(self) -> None:
        """Undo the finished steps of the move. Raises MoveError, ApiErrors and Unreachable."""
        state = self.journal.state
        if not state.turned_back:
            self.journal.write(RollbackStarted())
        back: Plan | None = None
        if "forth" in state.verified:
            if "back" not in state.verified:
                await self._run_rollback()
            back = state.plans["back"]
        objects = state.everything | (back.objects if back is not None else {})
        await undo_in_target(self._target, self.journal, objects.values(), back, self._tell)
        await pausing.resume(self._source, state.paused, self._tell, "source")
        self.journal.end()

    async def _run_forward(self) -> None:
        if self.journal.state.known_uids is None:
            there = await discover(self._target, self._namespace)
            self.journal.write(ObjectsKnown(tuple(there.nodes)))
        graph = await self._pause_and_read_source()
        self._tell(0, "Waiting for all resources to be ready to move")
        if await pausing.wait_until_unblocked(self._source, _moving_nodes(graph), self._tell):
            graph = await self._pause_and_read_source()
        self._tell(0, "Creating objects in the target cluster")
        copying = ObjectCopier(self._target, self.journal, self._tell)
        await self._copy_until_stable("forth", copying, graph)
        await self._drop_vanished()
        await verify(self._target, self.journal.state.plans["forth"])
        self.journal.write(TargetVerified("forth"))

    async def _run_rollback(self) -> None:
        await pausing.pause(self._target, self.journal.state.paused, self._tell, "target")
        graph = await discover(self._target, self._namespace)
        await pausing.wait_until_unblocked(
            self._target, filter(self._is_moved_by_us, _moving_nodes(graph)), self._tell
        )
        copying = ObjectCopier(self._source, self.journal, self._tell, restorable=False)
        await self._copy_until_stable("back", copying, graph)
        await verify(self._source, self.journal.state.plans["back"])
        self.journal.write(TargetVerified("back"))

    async def _pause_and_read_source(self) -> Graph:
        """Pause all Clusters and ClusterClasses of the source; returns its graph."""
        state = self.journal.state
        if state.paused - self._pausing_done:
            await self._pause_source(state.paused)
        while True:
            graph = await discover(self._source, self._namespace)
            new = [ref for ref in paused_refs(graph) if ref not in self._pausing_done]
            if not new:
                return graph
            check_unpaused(graph, besides=state.paused)
            self.journal.write(PauseStarted(tuple(new)))
            await self._pause_source(new)

    async def _pause_source(self, refs: Iterable[Ref]) -> None:
        await pausing.pause(self._source, refs, self._tell)
        self._pausing_done.update(refs)

    async def _copy_until_stable(self, leg: Leg, copying: ObjectCopier, graph: Graph) -> None:
        """Copy until the copies match the current objects."""
        copied: Plan | None = None
        changed: Iterable[Ref] = ()
        for _ in range(MAX_ROUNDS):
            plan = plan_move(graph, only=self._is_moved_by_us if leg == "back" else None)
            if copied is not None:
                changed = plan.changed_since(copied)
                if not changed:
                    return
                self._log_changed(changed)
            if leg == "forth":
                check_undeleted(plan)
            self.journal.plan(leg, plan)
            await copying.run(plan)
            copied = plan
            graph = await (
                self._pause_and_read_source() if leg == "forth" else self._read_moved_target()
            )
        raise still_changing_error(changed)

    async def _read_moved_target(self) -> Graph:
        return await discover(self._target, self._namespace)

    async def _drop_vanished(self) -> None:
        """Delete copies from the target whose originals have left the source."""
        state = self.journal.state
        planneds = [
            planned
            for ref, planned in state.everything.items()
            if ref not in state.plans["forth"].objects
        ]
        await undo_in_target(self._target, self.journal, planneds, None, self._tell)

    async def _remove_from_source(self) -> None:
        self._tell(0, "Deleting objects from the source cluster")
        plan = self.journal.state.plans["forth"]
        kinds = await moved_kinds(self._source)
        await remove_from_source(self._source, plan, kinds, self._copy_again, self._tell)
        self.journal.write(ObjectRemoved())

    async def _copy_again(self, planned: PlannedMove, now: Document) -> None:
        """Copy an object that was written in the source after it was compared."""
        self._log_changed([planned.ref])
        plan = self.journal.state.plans["forth"]
        owners = [plan.objects[ref] for ref, _ in planned.owners]
        copying = ObjectCopier(self._target, self.journal, self._tell)
        await copying.again(replace(planned, document=now), owners)

    async def _resume_remaining(self) -> None:
        """Resume ClusterClasses that were paused but stay in the source."""
        state = self.journal.state
        copied = {planned.ref for planned in state.plans["forth"].of(Treatment.COPIED)}
        stayed = state.paused & copied
        if stayed:
            await pausing.resume(self._source, stayed, self._tell, "source")

    def _is_moved_by_us(self, node: Node) -> bool:
        """Return whether an object of the target was moved there, or was created for a moved
        object.
        """
        state = self.journal.state
        if node.ref in state.everything:
            return True
        roots = [root.ref for root in node.roots]
        clusters = [ref for ref in roots if ref.group_kind == CLUSTER]
        return (
            node.uid not in (state.known_uids or ())
            and all(ref in state.everything for ref in clusters)
            and any(ref in state.everything for ref in roots)
        )

    def _log_changed(self, refs: Iterable[Ref]) -> None:
        for ref in refs:
            self._tell(
                1, "Object changed while it was moved, copying it again", **{ref.kind: ref.name}
            )


def _moving_nodes(graph: Graph) -> list[Node]:
    return [node for node in graph.existing_nodes() if node.moves]
