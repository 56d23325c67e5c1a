"""The available versions of an installed provider, and the contract of each.

Upstream: `cmd/clusterctl/client/cluster/upgrader_info.go`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import InventoryError, MetadataError
from kapy.clusterctl.inventory import CONTRACT, Installed
from kapy.clusterctl.metadata import Metadata, ReleaseSeries, read_metadata
from kapy.clusterctl.repository import repository_of
from kapy.clusterctl.repository.releases import semantic
from kapy.kube.version import Version


@dataclass(frozen=True)
class Releases:
    """The releases of an installed provider. newer: versions after the installed one, ascending."""

    provider: Installed
    metadata: Metadata
    newer: tuple[Version, ...] = ()

    @property
    def contract(self) -> str:
        """The contract of the installed version."""
        return self.contract_of(version_of(self.provider.version, self.provider)) or ""

    def contract_of(self, version: Version) -> str | None:
        """Return the contract of a version, None if no release series includes it."""
        place = version.major, version.minor
        return next(
            (
                release_series.contract
                for release_series in self.metadata.series
                if (release_series.major, release_series.minor) == place
            ),
            None,
        )

    def contracts(self) -> list[str]:
        """Return the contracts of the installed release series and of later ones, sorted."""
        here = version_of(self.provider.version, self.provider)
        series = self.metadata.series
        since = [
            release_series
            for release_series in series
            if (release_series.major, release_series.minor) >= (here.major, here.minor)
        ]
        return sorted({release_series.contract for release_series in since})

    def latest(self, contracts: Collection[str]) -> str:
        """Return the newest version of one of these contracts, without pre-releases; "" for
        none.
        """
        released = [version for version in self.newer if not version.pre]
        result = [version for version in released if self.contract_of(version) in contracts]
        return f"v{max(result)}" if result else ""


async def releases_of(provider: Installed, config: Config) -> Releases:
    """Return the releases in a provider's repository. Raises RepositoryError, MetadataError,
    InventoryError.
    """
    current = version_of(provider.version, provider)
    if provider.built_in:  # built-in providers have no repository
        series = ReleaseSeries(current.major, current.minor, CONTRACT)
        return Releases(provider, Metadata(provider.label, (series,)))
    repository = repository_of(config.provider(provider.name, provider.type), config)
    tags = {version_of(tag, provider): tag for tag in await repository.versions()}
    if not tags:
        raise InventoryError(
            f"failed to get available versions for the {provider.instance} provider; its "
            "repository has none"
        )
    metadata = await read_metadata(repository, provider.label, tags[max(tags)])
    newer = tuple(sorted(tag for tag in tags if tag > current))
    releases = Releases(provider, metadata, newer)
    for version in (current, *newer):
        if releases.contract_of(version) is None:
            which = "the current version" if version == current else "one of the available versions"
            raise MetadataError(
                f"invalid provider metadata: version v{version} ({which}) for the provider "
                f"{provider.instance} does not match any release series; the metadata.yaml of "
                f"{tags[max(tags)]} has to name it"
            )
    return releases


def version_of(text: str, provider: Installed) -> Version:
    """Return a version of a provider. Raises InventoryError if the text is not a version."""
    version = semantic(text)
    if version is None:
        raise InventoryError(
            f'failed to parse version "{text}" for the {provider.instance} provider: a version is '
            "a semantic version like v1.14.0"
        )
    return version
