"""Converts manifests of Cluster API's core kinds to the newest API version and keeps their
comments.

Upstream: `cmd/clusterctl/client/convert`. Its command loses comments and other content; keeping the
latter is a choice of the caller (`complete`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kapy.clusterctl.convert.comments import Comments, comments_of
from kapy.clusterctl.convert.losses import as_upstream
from kapy.clusterctl.errors import ClusterctlError
from kapy.kube import Document, yaml
from kapy.kube.names import GroupKind, split_api_version

GROUP: Final = "cluster.x-k8s.io"
SOURCE: Final = "v1beta1"
TARGETS: Final = ("v1beta2",)
"""The versions that manifests can be converted to."""


class CannotConvert(ClusterctlError):
    """A document is not an object, or cannot be converted."""


@dataclass(frozen=True)
class Converted:
    """A converted file. text: all documents as YAML. losses: the content that upstream's command
    drops.
    """

    text: str
    converted: int
    passed_through: int
    losses: tuple[str, ...]


class _Part(NamedTuple):
    """A document of a stream. line: its first line, from 0."""

    line: int
    text: str


def convert(text: str, version: str, source: str = "", *, complete: bool = False) -> Converted:
    """Convert the documents of core kinds in a stream; others stay.

    source: the name of the text in errors. complete: keep content that upstream drops. Raises
    CannotConvert.
    """
    written, losses, converted = list[str](), list[str](), 0
    for place, part in enumerate(_parts(text)):
        document = _document(part, place, source)
        comments = comments_of(part.text)
        if split_api_version(document["apiVersion"]) != (GROUP, SOURCE):
            written.append(part.text.strip("\n") + "\n" if comments else yaml.dump(document))
            continue
        converted += 1
        changed = _convert_document(document, version, place)
        losses += [] if complete else as_upstream(changed)
        written.append(_render(changed, comments, part.text))
    separated = "".join(
        item if place == 0 or item.startswith("---") else f"---\n{item}"
        for place, item in enumerate(written)
    )
    return Converted(separated, converted, len(written) - converted, tuple(losses))


def _render(document: Document, comments: Comments, before: str) -> str:
    text = yaml.dump(document)
    return comments.insert_into(text, before) if comments else text


def _parts(text: str) -> Iterator[_Part]:
    """The non-empty documents; a `---` before any content belongs to the next document."""
    began, lines = 0, list[str]()
    for number, line in enumerate(text.splitlines(keepends=True)):
        if line.startswith("---") and "".join(lines).strip():
            yield _Part(began, "".join(lines))
            began, lines = number + 1, []
        elif line.startswith("---") and lines:
            began, lines = number + 1, []
        else:
            lines.append(line)
    if "".join(lines).strip():
        yield _Part(began, "".join(lines))


def _document(part: _Part, place: int, source: str) -> Document:
    path = (
        f"conversion failed: failed to parse YAML stream: failed to parse document at index {place}"
    )
    try:
        # Empty lines before it preserve the line numbers of errors.
        whole = "\n" * part.line + part.text
        value: Any = yaml.load(whole.encode("utf-8", "surrogateescape"), source)
    except yaml.YamlError as error:
        raise CannotConvert(f"{path}: {error}") from error
    at = f"{source + ': ' if source else ''}line {part.line + 1}"
    if value is None:
        raise CannotConvert(
            f"{path}: {at}: Object 'Kind' is missing: the document has no object, only comments "
            "or nothing; remove its `---`"
        )
    if not isinstance(value, dict):
        raise CannotConvert(f"{path}: {at}: the document is no object with apiVersion and kind")
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str) or not value[field]:
            raise CannotConvert(f"{path}: {at}: the object has no {field}")
    return value


def _convert_document(document: Document, version: str, place: int) -> Document:
    from kapy.api.conversion import ConversionError
    from kapy.api.conversion import convert as converted
    from kapy.api.kinds import BY_GROUP_KIND

    kind = document["kind"]
    what = f"{GROUP}/{SOURCE}, Kind={kind} at index {place}"
    path = f"conversion failed: failed to convert resource {what}"
    if GroupKind(GROUP, kind) not in BY_GROUP_KIND:
        raise CannotConvert(
            f"{path}: target GVK {GROUP}/{version}, Kind={kind} not recognized by scheme: there "
            f"is no such kind; correct it, or take the document out"
        )
    try:
        return converted(document, f"{GROUP}/{version}")
    except ConversionError as error:
        raise CannotConvert(f"{path}: {error}") from error
