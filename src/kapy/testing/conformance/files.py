"""The files of a release and the objects in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

from kapy.clusterctl.envsubst import BadSubstitution
from kapy.clusterctl.manifests import BadManifest
from kapy.clusterctl.variables import variables_of
from kapy.kube import Document
from kapy.kube.nested import value_at
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.substitution import documents_in

METADATA: Final = "metadata.yaml"
_TEMPLATES: Final = ("cluster-template", "clusterclass")
_SUFFIXES: Final = (".yaml", ".yml")
_MOST_FOLDERS: Final = 1000
_LARGEST: Final = 64 * 1024 * 1024


@dataclass(frozen=True)
class Object:
    """An object and the file that contains it."""

    file: str
    document: Document

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return str(self.document.get("kind") or "")

    @property
    def group(self) -> str:
        """The API group of the object."""
        version = str(self.document.get("apiVersion") or "")
        return version.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The name of the object."""
        return str(self.at("metadata.name") or "")

    @property
    def called(self) -> str:
        """The name for findings."""
        return f"{self.kind} {self.name}".strip()

    @property
    def namespace(self) -> str:
        """The namespace of the object, "" if it names none."""
        return str(self.at("metadata.namespace") or "")

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the object."""
        result = self.at("metadata.labels")
        return (
            {key: str(value) for key, value in result.items()} if isinstance(result, dict) else {}
        )

    def at(self, path: str) -> Any:
        """Return the value at a path; None if there is none."""
        return value_at(self.document, tuple(path.split(".")))

    def items(self, path: str) -> list[Any]:
        """Return the objects of the list at a path; empty if there is none."""
        result = self.at(path)
        return (
            [item for item in result if isinstance(item, dict)] if isinstance(result, list) else []
        )


@dataclass(frozen=True)
class File:
    """A file of a release. text: with its variables."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables; none if they cannot be parsed (`bad_variable`)."""
        return () if self.bad_variable else tuple(variables_of(self.text))

    @cached_property
    def bad_variable(self) -> str:
        """The error in its variables, "" if there is none."""
        try:
            variables_of(self.text)
        except BadSubstitution as error:
            return str(error)
        return ""

    @cached_property
    def objects(self) -> tuple[Object, ...]:
        """Objects parsed from the file, before variable substitution. Raises ConformanceError if it
        is no YAML, except for templates (`unreadable`).
        """
        results, unreadable = self._read
        if unreadable and not self.is_template:
            raise ConformanceError(unreadable)
        return results

    def of_kind(self, kind: str, group: str) -> list[Object]:
        """Return its objects of a kind, in any version."""
        return [obj for obj in self.objects if (obj.kind, obj.group) == (kind, group)]

    @property
    def is_template(self) -> bool:
        """Whether its name is that of a cluster template or a ClusterClass file."""
        return self.name.startswith(_TEMPLATES)

    @property
    def unreadable(self) -> str:
        """Why it has no objects, "" if it can be read."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[tuple[Object, ...], str]:
        try:
            documents = documents_in(self.text, self.name)
        except BadManifest as error:
            return (), _unreadable(error)
        return tuple(Object(self.name, item) for item in documents), ""


def _unreadable(error: BadManifest) -> str:
    text = str(error).removeprefix("failed to parse yaml: ")
    return f"{text}; only files of YAML with objects in them can be checked"


def read_file(path: Path) -> File:
    """Read a file. Raises ConformanceError."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ConformanceError(f"{path} is larger than 64 MiB: no release has such a file")
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise ConformanceError(f"{path} cannot be read: {error.strerror or error}") from None
    return File(path.name, text)


def folders(path: Path) -> Iterator[Path]:
    """Return the folders at and below a path that contain YAML files; links are not followed.

    Raises ConformanceError if there are so many that it cannot be a folder of releases.
    """
    walked = os.walk(path, onerror=_refuse)
    paths = sorted(Path(folder) for folder, _, _ in islice(walked, _MOST_FOLDERS))
    if next(walked, None) is not None:
        raise ConformanceError(
            f"{path} has more than {_MOST_FOLDERS} folders below it: name that of a release"
        )
    yield from filter(yaml_files, paths)


def _refuse(error: OSError) -> None:
    """Raise ConformanceError for a folder that cannot be read: it must not be skipped silently."""
    raise error


def yaml_files(folder: Path) -> list[Path]:
    """Return the YAML files directly in a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file())
