"""A plane is saved while it works, and goes on elsewhere as if nothing had been."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.apiserver.store import sqlite
from kapy.apiserver.store.errors import StoreError
from kapy.apiserver.store.store import Store
from kapy.apps.all_in_one import management_plane
from kapy.apps.backup import BackupFailed, back_up, back_up_to
from kapy.apps.cluster_progress import wait_until_available
from kapy.apps.manifests import apply_manifests
from kapy.apps.pidfile import PlaneIsRunning, UnfinishedRestore, claim, unfinished_restore
from kapy.apps.restore import HasData, UnusableBackup, restore
from kapy.apps.settings import Folder, Settings
from kapy.client.client import Client
from kapy.kube import Key
from kapy.kube.names import CONFIG_MAPS
from tests.apiserver.requester import CONFIG_MAPS as CONFIG_MAPS_PATH
from tests.apiserver.requester import Asking, config_map
from tests.apps.victim import CLUSTER, WORKERS, fleet, notes, planes

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def plane(folder: Folder) -> Any:
    return management_plane(Settings(data=folder.data), clock=loop_clock(), random=Random(1))


async def write(client: Client, acknowledged: list[str]) -> None:
    """Write until cancelled."""
    while True:
        name = f"note-{len(acknowledged)}"
        await client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
        acknowledged.append(name)
        await asyncio.sleep(0.01)


async def machines(client: Client) -> set[str]:
    return {machine.metadata.uid for machine in (await client.list(Machine, "default")).items}


async def test_a_plane_is_saved_under_load_and_continues(tmp_path: Path) -> None:
    here, there = Folder(tmp_path / "here"), Folder(tmp_path / "there")
    here.make()
    saved, acknowledged = io.BytesIO(), list[str]()
    async with plane(here) as running, asyncio.TaskGroup() as group:
        client = running.client
        await apply_manifests(client, fleet())
        await wait_until_available(client, [CLUSTER], lambda *_: None, within=600)
        before = await machines(client)
        writing = group.create_task(write(client, acknowledged))
        await asyncio.sleep(1)
        surely = set(acknowledged)
        manifest = back_up(here, saved, NOW)
        await asyncio.sleep(1)
        assert len(acknowledged) > len(surely) > 50
        writing.cancel()
    saved.seek(0)
    assert restore(there, saved)[0] == manifest
    async with plane(there) as running:
        client = running.client
        assert surely <= set(await notes(client))
        await wait_until_available(client, [CLUSTER], lambda *_: None, within=1)
        assert await machines(client) == before
        await client.patch(MachineDeployment, WORKERS, {"spec": {"replicas": 3}})
        await asyncio.sleep(60)
        await wait_until_available(client, [CLUSTER], lambda *_: None, within=600)
        assert before < await machines(client)
        assert len(await machines(client)) == 4
        assert await planes(client) == 1


def saved_store(folder: Folder, *names: str) -> io.BytesIO:
    """A backup of a plane that does not run, of some ConfigMaps and two keys."""
    folder.make()
    folder.pki.mkdir()
    (folder.pki / "ca.key").write_text("secret")
    asyncio.run(_stored(folder, names))
    (folder.data / "service-account.key").write_text("secret, too")
    file = io.BytesIO()
    back_up(folder, file, NOW)
    file.seek(0)
    return file


async def _stored(folder: Folder, names: tuple[str, ...]) -> None:
    store = Store.open(folder.data)
    for name in names:
        table = store.table("configmaps")
        store.put(table, "default", name, config_map(name, namespace="default"))
    await store.wait_for_commit()
    store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "plane")


def revisions(folder: Folder) -> tuple[int, list[int]]:
    store = Store.open(folder.data)
    revisions = [
        int(document["metadata"]["resourceVersion"])
        for document in store.table("configmaps").scan("")
    ]
    store.close()
    return store.revision, revisions


def test_a_restored_plane_continues_with_higher_revisions(folder: Folder) -> None:
    file = saved_store(folder, "b", "a")
    asyncio.run(_stored(folder, ("c", "d")))
    served, _ = revisions(folder)
    for is_lost in (False, False, True, True):
        if is_lost:  # the mark beside it tells what was served
            (folder.data / "store.db").unlink()
        file.seek(0)
        _, state = restore(folder, file, force=True)
        revision, (a, b) = revisions(folder)
        assert served + sqlite.REVISION_JUMP < b < a == revision == state.revision
        served = revision


async def test_a_watch_from_before_a_restore_has_to_list_again(tmp_path: Path) -> None:
    here = Folder(tmp_path / "here")
    here.make()
    saved = io.BytesIO()
    async with plane(here) as running:
        back_up(here, saved, NOW)
        last = await running.client.create(CONFIG_MAPS, config_map("late", namespace="default"))
    saved.seek(0)
    restore(here, saved, force=True)
    async with plane(here) as running:
        asking = Asking(running.server)
        since = last["metadata"]["resourceVersion"]
        async with asking.watching(CONFIG_MAPS_PATH, resourceVersion=since) as events:
            event = await anext(events)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_restore_is_complete_and_private(folder: Folder, tmp_path: Path) -> None:
    file = saved_store(folder, "a")
    there = Folder(tmp_path / "there")
    manifest, state = restore(there, file)
    assert (manifest.objects, state.objects, manifest.taken) == (1, 1, "2026-01-02T03:04:05Z")
    assert (there.pki / "ca.key").read_text() == "secret"
    assert (there.data / "service-account.key").read_text() == "secret, too"
    modes = {path.name: path.stat().st_mode & 0o777 for path in there.path.rglob("*")}
    assert {mode for name, mode in modes.items() if "." in name} == {0o600}
    assert {modes["data"], modes["pki"]} == {0o700}


def test_a_backup_is_private_and_complete_or_absent(folder: Folder, tmp_path: Path) -> None:
    saved_store(folder, "a")
    back_up_to(folder, tmp_path / "one.tar.gz", NOW)
    assert (tmp_path / "one.tar.gz").stat().st_mode & 0o777 == 0o600
    (folder.data / "store.db").write_bytes(b"damaged" * 1000)
    with pytest.raises(StoreError, match="is damaged"):
        back_up_to(folder, tmp_path / "two.tar.gz", NOW)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["one.tar.gz"]
    assert not list(folder.path.glob(".backup-*"))


def test_an_empty_plane_cannot_be_backed_up(folder: Folder) -> None:
    with pytest.raises(BackupFailed, match="nothing to back up"):
        back_up(folder, io.BytesIO(), NOW)


def members(file: io.BytesIO) -> dict[str, bytes]:
    with tarfile.open(fileobj=file) as archive:
        return {
            member.name: result.read()
            for member in archive
            if (result := archive.extractfile(member)) is not None
        }


def packed(content: dict[str, bytes]) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    file.seek(0)
    return file


def without_store(content: dict[str, bytes]) -> None:
    del content["data/store.db"]


def flipped(content: dict[str, bytes]) -> None:
    content["pki/ca.key"] = b"sEcret"


def more(content: dict[str, bytes]) -> None:
    content["data/more"] = b""


def outside(content: dict[str, bytes]) -> None:
    manifest = json.loads(content["manifest.json"])
    manifest["files"]["data/../../escaped"] = manifest["files"]["pki/ca.key"]
    content["manifest.json"] = json.dumps(manifest).encode()
    content["data/../../escaped"] = content["pki/ca.key"]


def later(content: dict[str, bytes]) -> None:
    content["manifest.json"] = b'{"format": 7}'


def no_manifest(content: dict[str, bytes]) -> None:
    del content["manifest.json"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without_store, "not complete: data/store.db is missing"),
        (flipped, "ca.key in the backup is not as it was written"),
        (more, "'data/more', which does not belong"),
        (outside, "names files that do not belong"),
        (later, "format 7, this version of kapy knows 1"),
        (no_manifest, "no backup of kapy: it does not begin with manifest.json"),
    ],
)
def test_a_damaged_backup_changes_nothing(
    folder: Folder, tmp_path: Path, change: Callable[[dict[str, bytes]], None], says: str
) -> None:
    content = members(saved_store(folder, "a"))
    change(content)
    before = revisions(folder)
    with pytest.raises(UnusableBackup, match=says):
        restore(folder, packed(content), force=True)
    assert revisions(folder) == before
    assert {path.name for path in folder.path.iterdir()} == {"data", "pki", "plane.lock"}


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive at all", gzip.compress(b"x" * 9999, mtime=0)],
    ids=["empty", "text", "gzip"],
)
def test_another_file_is_refused(folder: Folder, content: bytes) -> None:
    with pytest.raises(UnusableBackup, match="cannot be read"):
        restore(folder, io.BytesIO(content))


def test_half_a_file_is_refused(folder: Folder, tmp_path: Path) -> None:
    half = saved_store(folder, *map(str, range(200))).getvalue()
    for size in range(1000, len(half) - 1000, len(half) // 9):
        with pytest.raises(UnusableBackup):
            restore(Folder(tmp_path / "there"), io.BytesIO(half[:size]))
    assert not (tmp_path / "there" / "data").exists()


def test_existing_data_are_replaced_by_force_only_and_kept_aside(folder: Folder) -> None:
    file = saved_store(folder, "a")
    asyncio.run(_stored(folder, ("b",)))
    with pytest.raises(HasData, match="--force replaces them"):
        restore(folder, file)
    restore(folder, file, force=True)
    assert len(revisions(folder)[1]) == 1
    backup = Store.open(folder.path / "data.replaced")
    assert len(backup.table("configmaps")) == 2
    backup.close()


def test_a_plane_that_runs_is_left_alone(folder: Folder) -> None:
    file = saved_store(folder, "a")
    with claim(folder), pytest.raises(PlaneIsRunning):
        restore(folder, file, force=True)
    store = Store.open(folder.data)
    with pytest.raises(StoreError, match="in use by another process"):
        restore(folder, file, force=True)
    store.close()


@pytest.mark.parametrize("at", range(6))
def test_a_restore_that_is_interrupted_is_noticed_and_repeated(
    folder: Folder, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = saved_store(folder, "a")
    asyncio.run(_stored(folder, ("b",)))
    steps = iter(range(100))

    class Ended(BaseException):
        pass

    def step(act: Callable[..., Any]) -> Callable[..., Any]:
        def acted(*arguments: Any) -> Any:
            if next(steps) >= at:
                raise Ended
            return act(*arguments)

        return acted

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", step(Path.rename))
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        with suppress(Ended):
            restore(folder, file, force=True)
    if at == 0:  # nothing was touched yet
        assert len(revisions(folder)[1]) == 2
    else:
        assert unfinished_restore(folder).exists()
        with pytest.raises(UnfinishedRestore, match="restore --force"), claim(folder):
            pass
    file.seek(0)
    restore(folder, file, force=True)
    assert len(revisions(folder)[1]) == 1
    with claim(folder):
        pass


def test_a_backup_of_an_older_format_is_restored(folder: Folder, tmp_path: Path) -> None:
    folder.make()
    released = Path(__file__).parents[1] / "data" / "store" / "schema-1"
    shutil.copytree(released, folder.data)
    file = io.BytesIO()
    assert back_up(folder, file, NOW).schema == 1
    file.seek(0)
    there = Folder(tmp_path / "there")
    restore(there, file)
    store = Store.open(there.data)
    default = store.table("configmaps").get("default", "c")
    store.close()
    assert default is not None
    assert Key.of(default) == Key("default", "c")
