"""Backups, bundles and folders that somebody wrote who means harm: nothing leaves their place."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kapy._aio import plain_tar
from kapy.apps.restore import UnusableBackup, restore
from kapy.apps.settings import Folder
from kapy.clusterctl.bundle.file import open_bundle
from kapy.clusterctl.errors import BundleError, MoveError
from kapy.clusterctl.move import directory
from kapy.clusterctl.move.directory import documents_in

STORE = "data/store.db"


def info(name: str, **fields: Any) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(member, field, value)
    return member


def manifest(*names: str, content: bytes = b"x", **more: Any) -> bytes:
    proof = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), **more}
    files = {STORE: proof, **dict.fromkeys(names, proof)}
    messages = {"format": 1, "kapy": "1", "taken": "", "schema": 1, "resourceVersion": "1"}
    return json.dumps({**messages, "objects": 0, "files": files}).encode()


def archive(
    *members: tuple[tarfile.TarInfo, bytes], first_member: bytes | None = None, **options: Any
) -> bytes:
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode="w", **options) as tar:
        first = manifest() if first_member is None else first_member
        for member, content in ((info("manifest.json"), first), *members):
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content))
    return result.getvalue()


def sparse(name: str, size: int) -> bytes:
    """A member of GNU's sparse format, which has a size and no content."""
    block = bytearray(info(name, type=tarfile.GNUTYPE_SPARSE).tobuf(tarfile.GNU_FORMAT))
    block[386:398] = b"00000000000\0"
    block[398:410] = b"00000000000\0"
    block[483:495] = b"\x80\0\0\0" + size.to_bytes(8, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def bomb(size: int) -> bytes:
    """An extended header of many bytes, as it is in the archive."""
    head = info("x", type=tarfile.XHDTYPE, size=size).tobuf(tarfile.USTAR_FORMAT)
    return head + b"0" * size


def gzip_bomb() -> bytes:
    """An extended header of 64 MiB, compressed: too slow to be made while tests are collected."""
    return gzip.compress(bomb(1 << 26), 9)


ITSELF = (info(STORE), b"x")
OUTSIDE = ("../evil", "/tmp/evil", "data/../../evil", "data/sub/evil", "pki/..", "other/evil", "")
BACKUPS: dict[str, bytes | Callable[[], bytes]] = {
    **{f"the name {name!r}": archive(ITSELF, (info(name), b"x")) for name in OUTSIDE},
    **{
        f"the name {name!r}, told": archive(ITSELF, (info(name), b"x"), first_member=manifest(name))
        for name in OUTSIDE
    },
    "a symbolic link": archive((info(STORE, type=tarfile.SYMTYPE, linkname="/etc/passwd"), b"")),
    "a hard link": archive((info(STORE, type=tarfile.LNKTYPE, linkname="manifest.json"), b"")),
    "a device": archive((info(STORE, type=tarfile.CHRTYPE, devmajor=1, devminor=5), b"")),
    "a device that is told as empty": archive(
        (info(STORE, type=tarfile.CHRTYPE, devmajor=1, devminor=5), b""),
        first_member=manifest(content=b""),
    ),
    "a pipe": archive((info(STORE, type=tarfile.FIFOTYPE), b"")),
    "a folder": archive((info(STORE, type=tarfile.DIRTYPE), b"")),
    "a member twice": archive(ITSELF, ITSELF),
    "a member that is larger than told": archive((info(STORE), b"x" * 5000)),
    "another member first": archive(ITSELF)[2 * 512 :],
    "more than the disk holds": archive(ITSELF, first_member=manifest(size=1 << 60)),
    "a negative size": archive(ITSELF, first_member=manifest(size=-5)),
    "a sparse file": archive(first_member=manifest(size=1 << 50))[:-10240] + sparse(STORE, 1 << 50),
    "a sparse manifest": sparse("manifest.json", 1 << 50),
    "a long header": bomb(1 << 20) + archive(ITSELF),
    "deep JSON": archive(ITSELF, first_member=b"[" * 100_000),
    "a gzip bomb": gzip_bomb,
    "half of gzip": gzip.compress(archive(ITSELF))[:100],
    "no gzip at all": b"\x1f\x8b" + b"\xff" * 100,
    "no xz at all": b"\xfd7zXZ\0" + b"\xff" * 100,
}


@pytest.mark.parametrize("what", BACKUPS)
def test_a_file_that_is_no_backup_is_refused_and_changes_nothing(what: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "plane")
    folder.path.mkdir()
    backup = BACKUPS[what]
    with pytest.raises(UnusableBackup):
        restore(folder, io.BytesIO(backup if isinstance(backup, bytes) else backup()))
    paths = {path.name for path in tmp_path.rglob("*")} - {"plane", "lock"}
    assert not {text for text in paths if not text.endswith("lock")}, paths
    assert not Path("/tmp/evil").exists()


def test_a_backup_that_the_disk_cannot_hold_is_refused_before_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path)
    entries = shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr("kapy.apps.restore.shutil.disk_usage", lambda _: entries)
    with pytest.raises(UnusableBackup, match="has room for 0"):
        restore(folder, io.BytesIO(archive(ITSELF)))


def layout(**files: bytes) -> bytes:
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode="w") as tar:
        for name, content in files.items():
            tar.addfile(info(name, size=len(content)), io.BytesIO(content))
    return result.getvalue()


MARK = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}


def titled(name: str) -> bytes:
    """A bundle with a release whose file has this name."""
    content = b"a: b"
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    layer = {"mediaType": "x", "digest": digest, "size": 4}
    titles = {**layer, "annotations": {"org.opencontainers.image.title": name}}
    inner = json.dumps({"config": layer, "layers": [titles]}).encode()
    outer = f"sha256:{hashlib.sha256(inner).hexdigest()}"
    places = {digest: content, outer: inner}
    index = json.dumps({"manifests": [{"mediaType": "x", "digest": outer, "size": 1}]}).encode()
    blobs = {f"blobs/{name.replace(':', '/')}": held for name, held in places.items()}
    return layout(**MARK, **{"index.json": index}, **blobs)


BUNDLES: dict[str, Callable[[], bytes]] = {
    **{f"the name {name!r}": partial(titled, name) for name in ("../e", "/e", "a/b", "..")},
    "a sparse file": lambda: layout(**MARK)[:1024] + sparse("index.json", 1 << 50),
    "a long header": lambda: bomb(1 << 20) + layout(**MARK),
    "deep JSON": lambda: layout(**MARK, **{"index.json": b'{"manifests":' + b"[" * 100_000}),
    "a link for the index": lambda: archive((info("index.json", type=tarfile.SYMTYPE), b"")),
    "a digest that leads elsewhere": lambda: layout(
        **MARK, **{"index.json": b'{"manifests":[{"mediaType":"x","digest":"../../x","size":1}]}'}
    ),
    "a size that is none": lambda: layout(
        **MARK, **{"index.json": b'{"manifests":[{"mediaType":"x","digest":"x","size":1e308}]}'}
    ),
    "many members": lambda: layout(**MARK, **{f"f{n}": b"" for n in range(30)}),
}


@pytest.mark.parametrize("what", BUNDLES)
def test_a_file_that_is_no_bundle_is_refused(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_tar, "MAX_MEMBERS", 20)
    path = tmp_path / "bundle"
    path.write_bytes(BUNDLES[what]())
    with pytest.raises(BundleError):
        open_bundle(path)


def test_a_file_of_a_move_is_read_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "_MAX_BYTES", 100)
    (tmp_path / "a.yaml").write_bytes(b"a: " + b"x" * 200)
    with pytest.raises(MoveError, match="larger than 100 bytes"):
        list(documents_in(tmp_path))


def test_a_folder_of_a_move_has_files_only(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "nowhere.yaml").symlink_to("/nowhere")
    (tmp_path / "endless.yaml").symlink_to("/dev/zero")
    assert list(documents_in(tmp_path)) == []
