"""A release of a provider: its files and the facts derived from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from kapy.clusterctl.components import PROVIDER_LABEL
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.repository.releases import semantic
from kapy.testing.conformance.definitions import Definition, definition_of, with_roles
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.files import METADATA, File, Object, folders, read_file, yaml_files

CORE_GROUP: Final = "cluster.x-k8s.io"
CORE_LABEL: Final = "cluster-api"


@dataclass(frozen=True)
class Release:
    """A release to be checked.

    name: its name in reports. folder: the last two parts of its path, `()` for a single file.
    """

    name: str
    files: tuple[File, ...]
    folder: tuple[str, ...] = ()

    @cached_property
    def metadata(self) -> File | None:
        """The `metadata.yaml` of the release."""
        return next((file for file in self.files if file.name == METADATA), None)

    @cached_property
    def components(self) -> list[File]:
        """Return the components files of the release."""
        return [file for file in self._others if file in self.whole_components or _installs(file)]

    @cached_property
    def templates(self) -> list[File]:
        """The files that are named like cluster templates."""
        return [file for file in self.files if file.name.startswith("cluster-template")]

    @cached_property
    def classes(self) -> list[File]:
        """The files that are named like ClusterClass files."""
        return [file for file in self.files if file.name.startswith("clusterclass")]

    @cached_property
    def _others(self) -> list[File]:
        text = {template.name for template in (*self.templates, *self.classes)} | {METADATA}
        return [file for file in self.files if file.name not in text]

    @cached_property
    def is_repository(self) -> bool:
        """Return whether the folder has the layout of a release, and is not any folder with YAML in
        it.
        """
        return bool(self.folder) and bool(self.metadata or self.whole_components)

    @cached_property
    def whole_components(self) -> list[File]:
        """The files that are named like complete components files."""
        return [file for file in self._others if "components" in file.name]

    @cached_property
    def installed(self) -> list[Object]:
        """The objects of the components."""
        return [obj for component in self.components for obj in component.objects]

    @cached_property
    def label(self) -> str:
        """Return the value of the provider's label: the most frequent one among its objects, else
        its folder.
        """
        counter = Counter(
            item.labels[PROVIDER_LABEL] for item in self.installed if _is_labelled(item)
        )
        if counter:
            return counter.most_common(1)[0][0]
        above = self.folder[0] if self.folder else ""
        return above if above == CORE_LABEL or _type_of(above) else ""

    @cached_property
    def type(self) -> ProviderType | None:
        """Return the provider type by its label or else by its components file; None if neither has
        one.
        """
        if self.label == CORE_LABEL:
            return ProviderType.CORE
        named = (_type_of(component.name) for component in self.components)
        return _type_of(self.label) or next(
            (provider_type for provider_type in named if provider_type), None
        )

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
                definition_of(item, self.type)
                for item in self.installed
                if item.kind == "CustomResourceDefinition"
            ]
        )

    @cached_property
    def cluster_classes(self) -> list[Object]:
        """All ClusterClasses, in whatever file."""
        files = (*self.templates, *self.classes, *self._others)
        return [item for file in files for item in file.of_kind("ClusterClass", CORE_GROUP)]

    def misnamed(self, kind: str) -> list[File]:
        """Return files with an object of core whose name is neither of template, class nor
        components.
        """
        others = [file for file in self._others if file not in self.components]
        return [file for file in others if file.of_kind(kind, CORE_GROUP)]


def releases_at(path: Path) -> list[Release]:
    """Return the releases at a path: a file, a folder, or each folder below it.

    Raises ConformanceError.
    """
    if not path.exists():
        raise ConformanceError(f"{path} does not exist: name a release's folder, or one file of it")
    if path.is_file():
        return [Release(path.name, (read_file(path),))]
    try:
        releases = [_release(folder) for folder in folders(path)]
    except OSError as error:
        raise ConformanceError(f"{path} cannot be read: {error.strerror or error}") from None
    if not releases:
        raise ConformanceError(f"{path} has no file that ends with .yaml or .yml")
    return releases


def _release(folder: Path) -> Release:
    parts = folder.resolve().parts[-2:]
    return Release("/".join(parts), tuple(map(read_file, yaml_files(folder))), parts)


def _installs(file: File) -> bool:
    return any(obj.kind in ("CustomResourceDefinition", "Deployment") for obj in file.objects)


def _is_labelled(value: Object) -> bool:
    return PROVIDER_LABEL in value.labels


def _type_of(name: str) -> ProviderType | None:
    """Return the provider type that a label or a file name begins with."""
    return next(
        (
            provider_type
            for provider_type in ProviderType
            if name.startswith(f"{provider_type.word}-")
        ),
        None,
    )
