"""OCI artifacts: a manifest and its blobs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import msgspec

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX: Final = "application/vnd.oci.image.index.v1+json"
PROVIDER: Final = "application/vnd.kapy.provider.v1"
TITLE: Final = "org.opencontainers.image.title"
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_EMPTY: Final = b"{}"
_EMPTY_TYPE: Final = "application/vnd.oci.empty.v1+json"
_FILE: Final = "application/yaml"


def digest_of(content: bytes) -> str:
    """`sha256:` and 64 hexadecimal digits."""
    return f"sha256:{sha256(content).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The description of a blob in a manifest. size: the size in bytes."""

    media_type: str
    digest: str
    size: int
    annotations: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the JSON form of the descriptor."""
        fields = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        return fields | ({"annotations": dict(self.annotations)} if self.annotations else {})


@dataclass(frozen=True, slots=True)
class Artifact:
    """A manifest and its blobs by digest."""

    manifest: bytes
    blobs: Mapping[str, bytes]

    def descriptor(self, annotations: Mapping[str, str] | None = None) -> Descriptor:
        """Return the descriptor of the artifact's manifest."""
        return Descriptor(MANIFEST, digest_of(self.manifest), len(self.manifest), annotations or {})


def pack(
    files: Mapping[str, bytes],
    *,
    kind: str = PROVIDER,
    also: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Artifact:
    """Return the artifact of some files; equal files make an equal artifact.

    also: additional names of files, by the additional name.
    """
    names = {name: name for name in files} | dict(also or {})
    layers = [
        _descriptor_of(files[name], _FILE, {TITLE: title}) for title, name in sorted(names.items())
    ]
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": kind,
        "config": _descriptor_of(_EMPTY, _EMPTY_TYPE).document(),
        "layers": [layer.document() for layer in layers],
        "annotations": dict(annotations or {}),
    }
    blobs = {digest_of(content): content for content in (*files.values(), _EMPTY)}
    return Artifact(msgspec.json.encode(document), blobs)


def titled_layers(manifest: Mapping[str, Any]) -> dict[str, Descriptor]:
    """Return the files of a manifest by name. Raises LookupError, TypeError or AttributeError if it
    is not a valid manifest.
    """
    return {
        descriptor.annotations[TITLE]: descriptor
        for descriptor in descriptors(manifest["layers"])
        if descriptor.annotations.get(TITLE)
    }


def descriptors(documents: Any) -> Iterator[Descriptor]:
    """Descriptors of a list in a manifest or an index; raises as `titled_layers`."""
    for document in documents:
        annotations = document.get("annotations") or {}
        yield Descriptor(
            document["mediaType"], document["digest"], int(document["size"]), dict(annotations)
        )


def _descriptor_of(
    content: bytes, media_type: str, annotations: Mapping[str, str] | None = None
) -> Descriptor:
    return Descriptor(media_type, digest_of(content), len(content), annotations or {})
