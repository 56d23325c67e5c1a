"""The files of a release and the objects in them.

Files with variables that have no values can be parsed, too: each variable stays visible in its
place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

from kapy.clusterctl.envsubst import BadSubstitution
from kapy.clusterctl.manifests import BadManifest, documents_of
from kapy.clusterctl.variables import replace_variables, variables_of
from kapy.kube import Document
from kapy.kube.nested import value_at
from kapy.testing.conformance.errors import ConformanceError

_TOKEN: Final = re.compile(r"kapyvariable(\d{1,6})x", re.IGNORECASE)
_ALONE: Final = re.compile(r"^[ \t]*(?:-[ \t]+)?\$\{[^}\n]*\}[ \t]*$", re.MULTILINE)
"""Matches a line that consists of a variable only: it stands for any number of lines."""


def documents_in(text: str, source: str) -> list[Document]:
    """Parse the objects of a file, with `${NAME}` in place of its variables.

    Most files are valid YAML as they are. Other files are YAML only after substitution: their
    variables get placeholder values that are valid everywhere in YAML, and each value becomes
    `${NAME}` again. Raises BadManifest.
    """
    try:
        return documents_of(text, source)
    except BadManifest:
        names = _names(text)
        for candidate in _candidates(text, names):
            try:
                return [
                    _restore_variables(document, names)
                    for document in documents_of(candidate, source)
                ]
            except BadManifest:
                continue
        raise


def _names(text: str) -> list[str]:
    try:
        return list(variables_of(text))
    except BadSubstitution:
        return []


def _candidates(text: str, names: list[str]) -> Iterator[str]:
    """Yield the text with placeholder values for the variables without default, or for all
    variables, also without lines that consist of a variable only, since the variable may be empty.
    """
    if not names:
        return
    tokens = {name: f"kapyvariable{place}x" for place, name in enumerate(names)}
    defaults = variables_of(text)
    required = {name: tokens[name] for name in names if defaults[name] is None}
    for body in (text, _ALONE.sub("", text)):
        for values in (required, tokens):
            yield replace_variables(body, values)


def _restore_variables(value: Any, names: list[str]) -> Any:
    if isinstance(value, dict):
        return {
            _restore_variables(key, names): _restore_variables(item, names)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_restore_variables(item, names) for item in value]
    if isinstance(value, str):
        return _TOKEN.sub(lambda match: _variable_or_token(int(match[1]), match[0], names), value)
    return value


def _variable_or_token(place: int, token: str, names: list[str]) -> str:
    return f"${{{names[place]}}}" if place < len(names) else token


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
    """A file of a release. text: the content, in which variables are not replaced."""

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
        """Return the file's objects of a kind, in any version."""
        return [obj for obj in self.objects if (obj.kind, obj.group) == (kind, group)]

    @property
    def is_template(self) -> bool:
        """Return whether the file has the name of a cluster template or a ClusterClass file."""
        return self.name.startswith(_TEMPLATES)

    @property
    def unreadable(self) -> str:
        """Return the error because of which the file has no objects, "" if it can be read."""
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
    """Read a file of a release. Raises ConformanceError if it cannot be read."""
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
