"""Moves to and from a directory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kapy.client.client import Client
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.move.directory import RestoreOperation, SaveOperation, file_names
from kapy.clusterctl.move.graph import Ref
from kapy.clusterctl.move.journal import Journal, Mode, MoveStarted, Place
from kapy.clusterctl.move.operation import journal_of, operation
from kapy.clusterctl.move.pausing import is_paused
from kapy.kube.errors import KapyError
from kapy.kube.yaml import YamlError
from tests.clusterctl.move import fleet
from tests.clusterctl.move.killed_process import Killed, Life
from tests.clusterctl.move.management_clusters import (
    NAMESPACE,
    Heard,
    content,
    everything,
    load,
    two_clusters,
)

Sides = tuple[Client, Client]


@pytest_asyncio.fixture
async def sides() -> AsyncIterator[Sides]:
    async with two_clusters() as both:
        yield both


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "files"
    path.mkdir()
    return path


def _begun(mode: Mode, folder: Path) -> MoveStarted:
    place = Place(directory=str(folder))
    if mode is Mode.TO_DIRECTORY:
        return MoveStarted("1", mode, NAMESPACE, Place(), place)
    return MoveStarted("1", mode, NAMESPACE, place, Place())


async def save(source: Client, folder: Path, life: Life | None = None) -> None:
    client = (life or Life()).client(source)
    begun = _begun(Mode.TO_DIRECTORY, folder)
    journal = await journal_of(begun, client, None, folder.parent / "save.jsonl", Heard())
    try:
        await SaveOperation(client, journal, Heard()).run()
    finally:
        journal.close()


async def restore(target: Client, folder: Path, life: Life | None = None) -> None:
    client = (life or Life()).client(target)
    begun = _begun(Mode.FROM_DIRECTORY, folder)
    journal = await journal_of(begun, None, client, folder.parent / "restore.jsonl", Heard())
    try:
        await RestoreOperation(client, journal, Heard()).run()
    finally:
        journal.close()


async def paused(client: Client) -> list[Ref]:
    return [ref for ref, document in (await everything(client)).items() if is_paused(document)]


async def test_saved_objects_can_be_restored_elsewhere(sides: Sides, folder: Path) -> None:
    source, target = sides
    await load(source, [*fleet.fleet(), *fleet.cluster_class("own")])
    before = content(await everything(source))
    await save(source, folder)
    assert (content(await everything(source)), await paused(source)) == (before, [])
    await restore(target, folder)
    del before[Ref("", "Secret", "fleet", "unrelated")]
    assert (content(await everything(target)), await paused(target)) == (before, [])


async def test_files_are_readable_by_their_owner_only(sides: Sides, folder: Path) -> None:
    (folder / "Secret_fleet_cpi.yaml").write_text("an older one")
    await load(sides[0], fleet.bystanders())
    await save(sides[0], folder)
    assert described(folder) == [("Secret_fleet_cpi.yaml", 0o600, "cpi")]


async def test_existing_objects_stay_unchanged(sides: Sides, folder: Path) -> None:
    source, target = sides
    await load(source, fleet.bystanders())
    await load(target, [fleet.secret("cpi", labels={"of": "target"})])
    there = await everything(target)
    await save(source, folder)
    await restore(target, folder)
    assert await everything(target) == there


@pytest.mark.parametrize("at", [3, 15, 28, 40])
@pytest.mark.parametrize("resume", [True, False], ids=["resume", "rollback"])
async def test_a_killed_restore_can_be_completed_or_undone(
    sides: Sides, folder: Path, at: int, resume: bool
) -> None:
    source, target = sides
    await load(source, fleet.cluster("a"))
    before = content(await everything(source))
    await save(source, folder)
    path = folder.parent / "restore.jsonl"
    try:
        await restore(target, folder, Life(at, acted_on=True))
    except Killed:
        if not _there(path):
            resume = False
    if _there(path):
        journal = Journal.open(path)
        rest = operation(journal, None, target, Heard())
        await (rest.run() if resume else rest.roll_back())
    else:
        resume = bool(await everything(target))
    assert content(await everything(target)) == (before if resume else {})
    assert await paused(target) == []


def described(folder: Path) -> list[tuple[str, int, str]]:
    """Name, mode, and the name of the object in each file."""
    return [
        (path.name, path.stat().st_mode & 0o777, json.loads(path.read_text())["metadata"]["name"])
        for path in folder.iterdir()
    ]


def _there(path: Path) -> bool:
    return path.exists()


async def test_a_killed_save_leaves_nothing_paused(sides: Sides, folder: Path) -> None:
    source, _ = sides
    await load(source, fleet.cluster("a"))
    path = folder.parent / "save.jsonl"
    with pytest.raises(Killed):
        await save(source, folder, Life(24))
    assert await paused(source)
    await operation(Journal.open(path), source, None, Heard()).roll_back()
    assert await paused(source) == []


async def test_a_file_that_cannot_be_written_leaves_nothing_paused(
    sides: Sides, folder: Path
) -> None:
    await load(sides[0], fleet.cluster("a"))
    (folder / "Machine_fleet_a-0.yaml").mkdir()  # where no file can be written
    with pytest.raises(MoveError, match=r"cannot write .*Machine_fleet_a-0\.yaml: .*directory"):
        await save(sides[0], folder)
    assert await paused(sides[0]) == []
    assert not _there(folder.parent / "save.jsonl")


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("a: b\n  c: d\n", YamlError, r"bad\.yaml: line 2"),
        ("just words\n", MoveError, r"bad\.yaml holds something that is no object"),
        ("apiVersion: v1\nkind: Secret\n", MoveError, "holds something that is no object"),
        (
            "apiVersion: a.io/v1\nkind: Thing\nmetadata: {name: x, namespace: ns}\n",
            MoveError,
            "Thing ns/x cannot be restored: no matches for kind",
        ),
    ],
)
async def test_a_bad_file_is_named_before_anything_is_created(
    sides: Sides, folder: Path, text: str, error: type[KapyError], said: str
) -> None:
    await load(sides[0], fleet.bystanders())
    await save(sides[0], folder)
    (folder / "bad.yaml").write_text(text)
    with pytest.raises(error, match=said):
        await restore(sides[1], folder)
    assert await everything(sides[1]) == {}


async def test_a_directory_that_is_not_there_is_named(sides: Sides, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(MoveError, match=r"there is no directory .*missing; make it first"):
        await save(sides[0], missing)
    with pytest.raises(MoveError, match=r"cannot read .*missing: No such file"):
        await restore(sides[1], missing)


def test_two_kinds_of_one_name_have_files_of_their_own() -> None:
    ref, other = Ref("a.io", "Thing", "ns", "x"), Ref("b.io", "Thing", "ns", "x")
    alone = Ref("", "Secret", "ns", "x")
    assert file_names([ref, other, alone]) == {
        ref: "Thing.a.io_ns_x.yaml",
        other: "Thing.b.io_ns_x.yaml",
        alone: "Secret_ns_x.yaml",
    }
