"""Compares both sides before anything is removed from one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from kapy.client.client import Client
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.content import differences
from kapy.clusterctl.move.copying import desired_object, existing_objects
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.plan import Plan, PlannedMove, Treatment
from kapy.kube import Document

_MAX_SHOWN = 5


async def verify(client: Client, plan: Plan, *, updated: bool = True) -> None:
    """Raises MoveError unless a side has every object of a plan, with its owners and content.

    Additions by the side's defaults and webhooks are accepted. updated: False if objects that
    existed before were not updated.
    """
    there = await existing_objects(client, plan.objects.values())
    problems = [
        problem
        for planned in plan.objects.values()
        for problem in _problems(
            planned, there, content=updated and planned.way is not Treatment.SHARED
        )
    ]
    if problems:
        more = len(problems) - _MAX_SHOWN
        raise MoveError(
            "the other side does not have what was written to it: "
            f"{'; '.join(problems[:_MAX_SHOWN])}"
            + (f"; and {more} more" if more > 0 else "")
            + ". Nothing was removed: see who changes them there (an older definition or a webhook "
            "of its provider), then go on with --resume, or undo the move with --rollback"
        )


def _problems(
    planned: PlannedMove, existing: Mapping[Ref, Document], *, content: bool
) -> Iterator[str]:
    result = existing.get(planned.ref)
    if result is None:
        yield f"{planned.ref} is not there"
        return
    if not content or any(ref not in existing for ref, _ in planned.owners):
        return
    paths = list(islice(differences(desired_object(planned, existing), result), 3))
    if paths:
        yield f"{planned.ref} differs in {', '.join(paths)}"
