"""The download cache: each file of a release is downloaded once.

    <folder>/blobs/sha256/<digest>      content, by its digest
    <folder>/files/<digest of a key>    the digest of the content of a key

Releases do not change, so cached content stays valid. Content that does not match its digest (after
a full disk, for example) is ignored and downloaded again. If the cache cannot be written, the
download is used without it. `KAPY_CACHE=off` switches the cache off, another value is the folder to
use; the folder may be deleted at any time.
"""

from __future__ import annotations

from asyncio import Lock
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from kapy.clusterctl.atomic_file import atomic_write
from kapy.clusterctl.errors import FileMissing
from kapy.clusterctl.oci.artifact import DIGEST, digest_of

T = TypeVar("T")
Key = tuple[str, ...]


class Cache:
    """The downloads of this process and, with a folder, of earlier ones."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._here: dict[Key, bytes | FileMissing] = {}
        self._answers: dict[Key, Any] = {}
        self._locks: defaultdict[Key, Lock] = defaultdict(Lock)

    async def file(self, key: Key, download: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the content of a key; concurrent callers share one download.

        Raises the errors of `download`; a missing file is remembered while the process runs.
        """
        async with self._locks[key]:
            if key not in self._here:
                self._here[key] = await self._cached_or_download(key, download)
            result = self._here[key]
        if isinstance(result, FileMissing):
            raise result
        return result

    async def once(self, key: Key, ask: Callable[[], Awaitable[T]]) -> T:
        """Return a value that may change, such as a list of versions. `ask` gets it once in this
        process, and no file caches it.
        """
        async with self._locks[key]:
            if key not in self._answers:
                self._answers[key] = await ask()
            answer: T = self._answers[key]
            return answer

    async def _cached_or_download(
        self, key: Key, download: Callable[[], Awaitable[bytes]]
    ) -> bytes | FileMissing:
        entry = self._entry(key)
        if entry is not None and (cached := self._read_entry(entry)) is not None:
            return cached
        try:
            content = await download()
        except FileMissing as error:
            return error
        digest = self._store(content)
        if entry is not None:
            _write(entry, digest.encode())
        return content

    def _entry(self, key: Key) -> Path | None:
        if self._folder is None:
            return None
        return self._folder / "files" / sha256("\n".join(key).encode()).hexdigest()

    def _read_entry(self, entry: Path) -> bytes | None:
        try:
            return self._content(entry.read_text("ascii").strip())
        except (OSError, ValueError):
            return None

    def _content(self, digest: str) -> bytes | None:
        if self._folder is None or not DIGEST.fullmatch(digest):
            return None
        try:
            content = (self._folder / "blobs" / digest.replace(":", "/")).read_bytes()
        except OSError:
            return None
        return content if digest_of(content) == digest else None

    def _store(self, content: bytes) -> str:
        digest = digest_of(content)
        if self._folder is not None:
            _write(self._folder / "blobs" / digest.replace(":", "/"), content)
        return digest


def _write(path: Path, content: bytes) -> None:
    """Write content to the cache; if that fails, it is not cached."""
    with suppress(OSError), atomic_write(path) as file:
        file.write(content)
