"""The contract of each release series of a provider, from its `metadata.yaml`.

Upstream: `cmd/clusterctl/api/v1alpha3/metadata_type.go` and `metadata_client.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kapy.clusterctl.components import INVENTORY_VERSION
from kapy.clusterctl.errors import MetadataError, RepositoryError
from kapy.clusterctl.repository.releases import METADATA, Repository, semantic
from kapy.kube import yaml
from kapy.kube.version import Version

_MAX_BYTES: Final = 2**31 - 1


@dataclass(frozen=True, order=True)
class ReleaseSeries:
    """All releases of one minor version; ordered by version."""

    major: int
    minor: int
    contract: str

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}"


@dataclass(frozen=True)
class Metadata:
    """The release series of a provider. label: the provider's name in errors."""

    label: str
    series: tuple[ReleaseSeries, ...]

    def series_of(self, version: str) -> ReleaseSeries:
        """Return the series of a version. Raises MetadataError."""
        release = _release(version, self.label)
        for release_series in self.series:
            if (release_series.major, release_series.minor) == (release.major, release.minor):
                return release_series
        series = ", ".join(map(str, sorted(set(self.series))))
        raise MetadataError(
            f"invalid provider metadata: version {version} for the provider {self.label} does not "
            f"match any release series ({METADATA} has {series})"
        )

    def newest(self, contract: str) -> ReleaseSeries | None:
        """Return the newest series that supports a contract."""
        return max(
            (
                release_series
                for release_series in self.series
                if release_series.contract == contract
            ),
            default=None,
        )


async def read_metadata(repository: Repository, label: str, version: str) -> Metadata:
    """Return the metadata of a provider version. Raises MetadataError."""
    try:
        content = await repository.file(version, METADATA)
    except RepositoryError as error:
        raise MetadataError(
            f'failed to read "{METADATA}" from the repository for provider "{label}": {error}'
        ) from error
    return metadata_of(content, label)


def metadata_of(content: bytes, label: str) -> Metadata:
    """Parse the text of a metadata file. Raises MetadataError with all errors."""
    try:
        document = yaml.load(content, METADATA)
    except yaml.YamlError as error:
        raise MetadataError(
            f'error decoding "{METADATA}" for provider "{label}": {error}'
        ) from error
    if mistakes := list(_metadata_errors(document)):
        raise MetadataError(
            f"invalid provider metadata: {'; '.join(mistakes)} ({METADATA} of provider {label})"
        )
    series = document["releaseSeries"]
    return Metadata(
        label,
        tuple(
            ReleaseSeries(item.get("major") or 0, item.get("minor") or 0, item["contract"])
            for item in series
        ),
    )


def _metadata_errors(document: Any) -> Iterator[str]:
    if not isinstance(document, Mapping):
        yield "it is no object with apiVersion, kind and releaseSeries"
        return
    if document.get("apiVersion") != INVENTORY_VERSION:
        yield _type_error("apiVersion", document, INVENTORY_VERSION)
    # Several providers were released without a kind.
    if document.get("kind") not in ("Metadata", "", None):
        yield _type_error("kind", document, "Metadata")
    series = document.get("releaseSeries")
    if not series:
        yield "releaseSeries is empty"
    elif not isinstance(series, list):
        yield "releaseSeries is no list"
    else:
        yield from _series_errors(series)


def _type_error(field: str, document: Mapping[str, Any], expected: str) -> str:
    return f'unexpected {field} "{document.get(field) or ""}" (expected "{expected}")'


def _series_errors(value: list[Any]) -> Iterator[str]:
    contracts: dict[str, Any] = {}
    for place, item in enumerate(value):
        path = f"releaseSeries[{place}]"
        if not isinstance(item, Mapping):
            yield f"{path} is no map of major, minor and contract"
            continue
        for field in ("major", "minor"):
            if not _is_number(item.get(field)):
                yield f"{path}.{field} is {item[field]!r}, and must be a number from 0"
        contract = item.get("contract")
        if not isinstance(contract, str) or not contract:
            yield f"{path}.contract must be an API version of Cluster API, like v1beta2"
        series = (item.get("major") or 0, item.get("minor") or 0)
        if contracts.setdefault(str(series), contract) != contract:
            yield f"{path} says that v{series[0]}.{series[1]} has another contract than before"


def _is_number(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_BYTES


def _release(version: str, label: str) -> Version:
    result = semantic(version)
    if result is None:
        raise MetadataError(
            f'"{version}" is no version of the provider {label}: a version is a semantic version '
            "like v1.14.0"
        )
    return result
