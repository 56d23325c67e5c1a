"""OCI image layouts in one tar file: artifacts with an index; they need no server.

`oras`, `skopeo` and `crane` read and copy them. Equal artifacts make an equal file.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from kapy._aio.plain_tar import PlainInfo, members
from kapy.clusterctl.atomic_file import atomic_write
from kapy.clusterctl.errors import BundleError
from kapy.clusterctl.oci.artifact import (
    INDEX,
    Artifact,
    Descriptor,
    descriptors,
    digest_of,
    titled_layers,
)
from kapy.kube.foreign_json import decode_json

REFERENCE: Final = "org.opencontainers.image.ref.name"
_MARK: Final = "oci-layout"
_MARK_CONTENT: Final = b'{"imageLayoutVersion":"1.0.0"}'
_INDEX: Final = "index.json"
_MAX_BYTES: Final = 2**30


def write(path: Path, artifacts: Iterable[tuple[Artifact, Mapping[str, str]]]) -> None:
    """Write artifacts, each with its annotations in the index, into a new file.

    The file is written completely or not at all. Raises BundleError.
    """
    members = {_MARK: _MARK_CONTENT}
    index = []
    for artifact, entries in artifacts:
        for digest, content in artifact.blobs.items():
            members[_blob(digest)] = content
        descriptor = artifact.descriptor(entries)
        members[_blob(descriptor.digest)] = artifact.manifest
        index.append(descriptor.document())
    members[_INDEX] = msgspec.json.encode(
        {"schemaVersion": 2, "mediaType": INDEX, "manifests": index}
    )
    try:
        with atomic_write(path) as file, tarfile.open(fileobj=file, mode="w") as tar:
            for name, content in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    except OSError as error:
        raise BundleError(
            f"{path} cannot be written: {error.strerror or error}; free some space there, or name "
            "another place"
        ) from error


class Layout:
    """The content of a layout file; every blob's digest is checked when it is read."""

    def __init__(self, path: Path) -> None:
        """Read a layout file. Raises BundleError."""
        self._path = path
        self._members = _members(path)
        if self._members.get(_MARK) is None:
            raise BundleError(f"{path} is no bundle: it has no {_MARK}")
        with self._report_damage():
            self.entries = list(descriptors(self._json(_INDEX)["manifests"]))

    def artifact(self, entry: Descriptor) -> Artifact:
        """Return an artifact of the index. Raises BundleError."""
        manifest = self._content(entry.digest)
        with self._report_damage():
            document = decode_json(manifest)
            named = descriptors([document["config"], *document["layers"]])
            return Artifact(
                manifest,
                {descriptor.digest: self._content(descriptor.digest) for descriptor in named},
            )

    def files(self, entry: Descriptor) -> dict[str, bytes]:
        """Return the files of an artifact by name; names are plain names. Raises BundleError."""
        artifact = self.artifact(entry)
        with self._report_damage():
            named = titled_layers(decode_json(artifact.manifest))
        for name in named:
            if "/" in name or "\\" in name or name in (".", ".."):
                raise BundleError(f'{self._path} is no bundle: "{name}" is no name of a file')
        return {name: artifact.blobs[descriptor.digest] for name, descriptor in named.items()}

    def _json(self, name: str) -> Any:
        return decode_json(self._members[name])

    def _content(self, digest: str) -> bytes:
        content = self._members.get(_blob(digest))
        if content is None or digest_of(content) != digest:
            what = "lacks" if content is None else "has other content for"
            raise BundleError(f"{self._path} is damaged: it {what} {digest}; copy it again")
        return content

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        try:
            yield
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise BundleError(f"{self._path} is damaged: {error}; copy it again") from error


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _members(path: Path) -> dict[str, bytes]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise BundleError(
                f"{path} is larger than {_MAX_BYTES // 2**30} GiB, so it is no bundle"
            )
        with tarfile.open(path, "r:", tarinfo=PlainInfo) as tar:
            return {member.name.removeprefix("./"): file.read() for member, file in members(tar)}
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise BundleError(f"{path} is no bundle, or damaged: {error}; copy it again") from error
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror or error}") from error
