"""A move that is killed between any two requests is ended by --resume or by --rollback.

`make soak` (KAPY_SOAK=1) plays every request of the whole move of three clusters; otherwise a
sample that is always the same.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random

import pytest

from kapy.client.client import Client
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.kinds import MOVE
from kapy.clusterctl.move.pausing import is_paused
from kapy.kube import Document
from tests.clusterctl.move.fleet import cluster_class, fleet, secret
from tests.clusterctl.move.killed_process import Killed, Life
from tests.clusterctl.move.management_clusters import (
    content,
    ended,
    everything,
    load,
    move,
    two_clusters,
)

SOAK = bool(os.environ.get("KAPY_SOAK"))
SAMPLE = 9
PARTS = 8 if SOAK else 1
"""So that several processes can share the work."""

Objects = dict[Ref, Document]

STAYS = {
    Ref("infrastructure.cluster.x-k8s.io", "FakeIdentity", "", "cloud"),
    Ref("", "Secret", "fleet", "cloud-credentials"),
    Ref("", "Secret", "fleet", "unrelated"),
}
"""Objects that a move never removes from the source."""

ALREADY_THERE = [
    secret("cpi", labels={MOVE: "", "of": "target"}),
    secret("cloud-credentials", labels={"of": "target"}),
]


async def staged(source: Client, target: Client) -> tuple[Objects, Objects]:
    """Both sides before the move."""
    await load(source, [*fleet(), *cluster_class("plain")])
    await load(target, ALREADY_THERE)
    return content(await everything(source)), content(await everything(target))


async def killed(source: Client, target: Client, journal: Path, life: Life) -> bool:
    """Whether the move was killed before it had ended."""
    try:
        await move(life.client(source), life.client(target), journal)
    except Killed:
        return True
    return False


def is_there(journal: Path) -> bool:
    return journal.exists()


async def requests_of_a_move(folder: Path) -> int:
    async with two_clusters() as (source, target):
        await staged(source, target)
        life = Life()
        await killed(source, target, folder / "whole.jsonl", life)
        return life.used


async def ends_well(
    journal: Path, at: int, *, acted_on: bool, resume: bool, again: int | None = None
) -> None:
    """again: the ending itself is killed there, and ended once more."""
    async with two_clusters() as (source, target):
        before, there = await staged(source, target)
        life = Life(at, acted_on)
        if not await killed(source, target, journal, life):
            return
        if not is_there(journal):  # killed before anything was changed, or after everything was
            resume = content(await everything(source)) != before
        elif again is not None:
            second = Life(again, acted_on)
            with suppress(Killed):
                await ended(second.client(source), second.client(target), journal, resume=resume)
        if is_there(journal):
            await ended(source, target, journal, resume=resume)
        await judge(source, target, before, there, moved=resume)


async def judge(
    source: Client, target: Client, before: Objects, there: Objects, *, moved: bool
) -> None:
    source_objects, arrived = content(await everything(source)), content(await everything(target))
    moving = {ref for ref in before if ref not in STAYS}
    if moved:
        assert set(source_objects) == STAYS, "each moved object is in the target only"
        assert {ref: arrived.get(ref) for ref in moving} == {ref: before[ref] for ref in moving}
        assert (
            arrived[Ref("", "Secret", "fleet", "cloud-credentials")]
            == there[Ref("", "Secret", "fleet", "cloud-credentials")]
        ), "what is shared is not updated"
    else:
        assert source_objects == before, "the source is as it was"
        assert arrived == there, "the target is as it was"
    for side in (source, target):
        for ref, document in (await everything(side)).items():
            assert not is_paused(document), f"{ref} is paused"
            fields = document["metadata"]["managedFields"]
            assert not [field for field in fields if field["manager"].startswith("kapy-move")], ref


@pytest.mark.parametrize("part", range(PARTS))
async def test_every_killed_move_can_be_completed_or_undone(tmp_path: Path, part: int) -> None:
    length = await requests_of_a_move(tmp_path)
    cases = list(product(range(length), (False, True), (False, True)))
    chosen = cases[part::PARTS] if SOAK else Random(7).sample(cases, SAMPLE)
    for number, (at, acted_on, resume) in enumerate(chosen):
        journal = tmp_path / f"{number}.jsonl"
        await ends_well(journal, at, acted_on=acted_on, resume=resume)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("resume", [True, False], ids=["resume", "rollback"])
async def test_a_rollback_may_be_killed_as_well(tmp_path: Path, part: int, *, resume: bool) -> None:
    length = await requests_of_a_move(tmp_path)
    random = Random(part)
    for number in range(100 if SOAK else SAMPLE // 3):
        at, again = random.randrange(length // 4, length), random.randrange(length)
        journal = tmp_path / f"{number}.jsonl"
        acted_on = bool(random.getrandbits(1))
        await ends_well(journal, at, acted_on=acted_on, resume=resume, again=again)
