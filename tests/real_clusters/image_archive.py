"""Archives of container images, as `docker save` writes them, made without a container engine."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

_PATHS: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def layer(
    files: Mapping[str, Path], links: Mapping[str, str] | None = None, folder: Path | None = None
) -> bytes:
    """A layer of files by their paths, symbolic links, and all that is in a folder."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as result:
        for name, path in files.items():
            result.add(path, name)
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            result.addfile(entry)
        for item in sorted(folder.iterdir()) if folder is not None else ():
            result.add(item, item.name)
    return content.getvalue()


class Start(NamedTuple):
    """The entry point of an image: a program, and its default arguments."""

    program: tuple[str, ...]
    arguments: tuple[str, ...] = ()


def write_image(target: BinaryIO, tag: str, layers: Sequence[bytes], entry: str | Start) -> None:
    """Write an image. entry: what it runs, as a name a program below /usr/local/bin."""
    start = Start((f"/usr/local/bin/{entry}",)) if isinstance(entry, str) else entry
    digests = [hashlib.sha256(data).hexdigest() for data in layers]
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {
                "Entrypoint": start.program,
                "Cmd": start.arguments,
                "Env": [f"PATH={_PATHS}"],
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
            "history": [{} for _ in digests],
        }
    ).encode()
    identity = hashlib.sha256(config).hexdigest()
    paths = [f"{digest}/layer.tar" for digest in digests]
    manifest = [{"Config": f"{identity}.json", "RepoTags": [tag], "Layers": paths}]
    with tarfile.open(fileobj=target, mode="w") as archive:
        _add(archive, f"{identity}.json", config)
        for path, content in zip(paths, layers, strict=True):
            _add(archive, path, content)
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))
