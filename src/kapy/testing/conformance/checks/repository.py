"""Checks of the folder of a release and its metadata.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from kapy.clusterctl.components import INVENTORY_VERSION
from kapy.clusterctl.errors import MetadataError
from kapy.clusterctl.metadata import Metadata, metadata_of
from kapy.clusterctl.provider import ProviderType
from kapy.kube import yaml
from kapy.kube.nested import value_at
from kapy.testing.conformance.checks.check import CannotTell, Check, fault
from kapy.testing.conformance.checks.definitions import mains_of
from kapy.testing.conformance.definitions import Definition, Role
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.files import METADATA, File
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.release import Release

_NO_FOLDER: Final = "it is no folder with a metadata.yaml or a components file"


def _repositories(release: Release) -> list[Release]:
    return [release] if release.is_repository else []


def _repository(release: Release) -> Iterator[Finding]:
    if release.metadata is None:
        yield Finding(METADATA, "", "", "there is no such file", "publish it with every release")
    if not release.components:
        there = ", ".join(file.name for file in release.files)
        word = release.type.components_file if release.type else "<type>-components.yaml"
        remedy = "publish it with every release"
        yield Finding(word, "", "", f"there is no components file, only {there}", remedy)


REPOSITORY: Final = Check(_repositories, _repository, _NO_FOLDER)


def _of_infrastructure(release: Release) -> list[Release]:
    folders = _repositories(release)
    return [folder for folder in folders if folder.type is ProviderType.INFRASTRUCTURE]


def _templates(release: Release) -> Iterator[Finding]:
    if not release.templates:
        remedy = "publish a cluster-template.yaml"
        yield Finding("cluster-template.yaml", "", "", "there is no cluster template", remedy)


TEMPLATES: Final = Check(
    _of_infrastructure, _templates, "it is no folder of an infrastructure provider's release"
)


def _in_repositories(release: Release) -> list[Release]:
    return [release] if release.is_repository and release.label == release.folder[0] else []


def _folder(release: Release) -> Iterator[Finding]:
    if not release.version:
        yield Finding(
            "/".join(release.folder),
            "",
            "",
            f'"{release.folder[-1]}" is no semantic version',
            "call the folder as the release, like v1.2.3",
        )


VERSION_FOLDER: Final = Check(
    _in_repositories, _folder, "the folder above is not called as the provider"
)


def _documents(release: Release) -> list[tuple[File, Any]]:
    file = release.metadata
    if file is None:
        return []
    try:
        return [(file, yaml.load(file.text.encode("utf-8", "surrogateescape"), file.name))]
    except yaml.YamlError as error:
        raise ConformanceError(str(error)) from None


def _expected_value(field: str, wanted: str) -> Callable[[tuple[File, Any]], Iterator[Finding]]:
    return partial(_unexpected_findings, field, wanted)


def _unexpected_findings(field: str, wanted: str, judged: tuple[File, Any]) -> Iterator[Finding]:
    file, document = judged
    result = value_at(document, (field,))
    if result != wanted:
        text = f"is {result}" if result else "is missing"
        yield Finding(file.name, "", field, text, f"set it to {wanted}")


_NO_METADATA: Final = "there is no metadata.yaml"
METADATA_VERSION: Final = Check(
    _documents, _expected_value("apiVersion", INVENTORY_VERSION), _NO_METADATA
)
METADATA_KIND: Final = Check(_documents, _expected_value("kind", "Metadata"), _NO_METADATA)


def _series(judged: tuple[File, Any]) -> Iterator[Finding]:
    file, document = judged
    try:
        _metadata_with(document, file.name)
    except MetadataError as error:
        text = str(error).removeprefix("invalid provider metadata: ").rpartition(" (")[0]
        remedy = "give each series major, minor and the contract that it keeps"
        yield Finding(file.name, "", "releaseSeries", text, remedy)


def _metadata_with(document: Any, label: str) -> Metadata:
    """Parse the release series of a file, whatever else is wrong with it. Raises MetadataError."""
    series = value_at(document, ("releaseSeries",))
    head = {"apiVersion": INVENTORY_VERSION, "releaseSeries": series}
    return metadata_of(yaml.dump(head).encode(), label)


RELEASE_SERIES: Final = Check(_documents, _series, _NO_METADATA)


def _with_metadata(release: Release) -> list[tuple[Release, Metadata]]:
    for file, document in _documents(release):
        if not release.version:
            raise CannotTell("the folder is not called as a version: nobody knows the release")
        try:
            return [(release, _metadata_with(document, release.label))]
        except MetadataError:
            raise CannotTell(f"the series in {file.name} cannot be read") from None
    return []


def _in_series(judged: tuple[Release, Metadata]) -> Iterator[Finding]:
    release, metadata = judged
    try:
        metadata.series_of(release.version)
    except MetadataError:
        series = ", ".join(map(str, sorted(metadata.series)))
        yield Finding(
            METADATA,
            "",
            "releaseSeries",
            f"has {series}, and not that of {release.version}",
            "add the series of the release, with its contract",
        )


RELEASE_IN_SERIES: Final = Check(_with_metadata, _in_series, _NO_METADATA)


def contract(role: Role) -> Check[tuple[Definition, str]]:
    """Check that CRDs declare the contract that metadata.yaml lists for the release."""
    return Check(
        partial(_declared_contracts, role),
        _undeclared_findings,
        "there is no metadata.yaml, or no CRD of such a kind with a label for a contract",
    )


def _declared_contracts(role: Role, release: Release) -> Iterator[tuple[Definition, str]]:
    labelled = [definition for definition in mains_of(role)(release) if definition.contract_labels]
    if not labelled:
        return
    for _, metadata in _with_metadata(release):
        try:
            wanted = metadata.series_of(release.version).contract
        except MetadataError:
            raise CannotTell(f"{METADATA} has no series of {release.version}") from None
        yield from ((definition, wanted) for definition in labelled)


def _undeclared_findings(judged: tuple[Definition, str]) -> Iterator[Finding]:
    definition, wanted = judged
    label = f"cluster.x-k8s.io/{wanted}"
    if label not in definition.contract_labels:
        yield fault(
            definition.object,
            "metadata.labels",
            f"{METADATA} says {wanted}, the labels {', '.join(definition.contract_labels)}",
            f"let both say the same: add the label {label}, or correct {METADATA}",
        )
