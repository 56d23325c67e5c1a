"""A release of a provider: its files and the facts derived from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from kapy.clusterctl.components import PROVIDER_LABEL
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.repository.tags import semantic
from kapy.testing.conformance.definitions import Definition, definition_of, with_roles
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.files import METADATA, File, Object, folders, read_file, yaml_files

CORE_GROUP: Final = "cluster.x-k8s.io"
CORE_LABEL: Final = "cluster-api"


@dataclass(frozen=True)
class Release:
    """A release to be checked.

    name: in reports. folder: the last two parts of its path, `()` for a single file.
    """

    name: str
    files: tuple[File, ...]
    folder: tuple[str, ...] = ()

    @cached_property
    def metadata(self) -> File | None:
        """Its `metadata.yaml`."""
        return next((one for one in self.files if one.name == METADATA), None)

    @cached_property
    def components(self) -> list[File]:
        """The components files."""
        return [one for one in self._others if one in self.whole_components or _installs(one)]

    @cached_property
    def templates(self) -> list[File]:
        """The files that are named like cluster templates."""
        return [one for one in self.files if one.name.startswith("cluster-template")]

    @cached_property
    def classes(self) -> list[File]:
        """The files that are named like ClusterClass files."""
        return [one for one in self.files if one.name.startswith("clusterclass")]

    @cached_property
    def _others(self) -> list[File]:
        text = {one.name for one in (*self.templates, *self.classes)} | {METADATA}
        return [one for one in self.files if one.name not in text]

    @cached_property
    def is_repository(self) -> bool:
        """Whether the folder has the layout of a release, and is not any folder with YAML in it."""
        return bool(self.folder) and bool(self.metadata or self.whole_components)

    @cached_property
    def whole_components(self) -> list[File]:
        """The files that are named like complete components files."""
        return [one for one in self._others if "components" in one.name]

    @cached_property
    def installed(self) -> list[Object]:
        """The objects of the components."""
        return [each for one in self.components for each in one.objects]

    @cached_property
    def label(self) -> str:
        """The provider's label: the most frequent one among its objects, else its folder."""
        said = Counter(one.labels[PROVIDER_LABEL] for one in self.installed if _labelled(one))
        if said:
            return said.most_common(1)[0][0]
        above = self.folder[0] if self.folder else ""
        return above if above == CORE_LABEL or _type_of(above) else ""

    @cached_property
    def type(self) -> ProviderType | None:
        """The provider type by its label or else by its components file; None if neither
        tells it.
        """
        if self.label == CORE_LABEL:
            return ProviderType.CORE
        named = (_type_of(one.name) for one in self.components)
        return _type_of(self.label) or next((one for one in named if one), None)

    @cached_property
    def version(self) -> str:
        """The version by its folder; "" if it names none."""
        version = self.folder[-1] if self.folder else ""
        return version if semantic(version) else ""

    @cached_property
    def definitions(self) -> list[Definition]:
        """The CRDs of its components, in the order of the file."""
        return with_roles(
            [
                definition_of(one, self.type)
                for one in self.installed
                if one.kind == "CustomResourceDefinition"
            ]
        )

    @cached_property
    def cluster_classes(self) -> list[Object]:
        """All ClusterClasses, in whatever file."""
        files = (*self.templates, *self.classes, *self._others)
        return [each for one in files for each in one.of_kind("ClusterClass", CORE_GROUP)]

    def misnamed(self, kind: str) -> list[File]:
        """Return files with an object of core whose name is neither of template, class nor
        components.
        """
        others = [one for one in self._others if one not in self.components]
        return [one for one in others if one.of_kind(kind, CORE_GROUP)]


def releases_at(path: Path) -> list[Release]:
    """Return the releases at a path: a file, a folder, or each folder below it.

    Raises ConformanceError.
    """
    if not path.exists():
        raise ConformanceError(f"{path} does not exist: name a release's folder, or one file of it")
    if path.is_file():
        return [Release(path.name, (read_file(path),))]
    try:
        found = [_release(one) for one in folders(path)]
    except OSError as error:
        raise ConformanceError(f"{path} cannot be read: {error.strerror or error}") from None
    if not found:
        raise ConformanceError(f"{path} has no file that ends with .yaml or .yml")
    return found


def _release(folder: Path) -> Release:
    parts = folder.resolve().parts[-2:]
    return Release("/".join(parts), tuple(map(read_file, yaml_files(folder))), parts)


def _installs(file: File) -> bool:
    return any(one.kind in ("CustomResourceDefinition", "Deployment") for one in file.objects)


def _labelled(one: Object) -> bool:
    return PROVIDER_LABEL in one.labels


def _type_of(name: str) -> ProviderType | None:
    """Return the provider type that a label or a file name begins with."""
    return next((one for one in ProviderType if name.startswith(f"{one.word}-")), None)
