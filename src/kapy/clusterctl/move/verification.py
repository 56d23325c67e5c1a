"""Compares both sides before anything is removed from one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from kapy.client.client import Client
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.content import differences
from kapy.clusterctl.move.copying import present, wanted
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.plan import Plan, Planned, Way
from kapy.kube import Document

_SHOWN = 5


async def verify(client: Client, plan: Plan, *, updated: bool = True) -> None:
    """Raises MoveError unless a side has every object of a plan, with its owners and content.

    Additions by the side's defaults and webhooks are accepted. updated: False if objects that
    existed before were not updated.
    """
    there = await present(client, plan.objects.values())
    problems = [
        problem
        for one in plan.objects.values()
        for problem in _problems(one, there, content=updated and one.way is not Way.SHARED)
    ]
    if problems:
        more = len(problems) - _SHOWN
        raise MoveError(
            f"the other side does not have what was written to it: {'; '.join(problems[:_SHOWN])}"
            + (f"; and {more} more" if more > 0 else "")
            + ". Nothing was removed: see who changes them there (an older definition or a webhook "
            "of its provider), then go on with --resume, or undo the move with --rollback"
        )


def _problems(one: Planned, there: Mapping[Ref, Document], *, content: bool) -> Iterator[str]:
    found = there.get(one.ref)
    if found is None:
        yield f"{one.ref} is not there"
        return
    if not content or any(ref not in there for ref, _ in one.owners):
        return
    paths = list(islice(differences(wanted(one, there), found), 3))
    if paths:
        yield f"{one.ref} differs in {', '.join(paths)}"
