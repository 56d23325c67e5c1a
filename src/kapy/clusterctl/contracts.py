"""The contract of an installed provider, from the metadata of its release."""

from __future__ import annotations

from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import MetadataError
from kapy.clusterctl.inventory import CONTRACT, Installed
from kapy.clusterctl.metadata import read_metadata
from kapy.clusterctl.repository import repository_of


async def contract_of(provider: Installed, config: Config) -> str:
    """Return the contract of the installed version. Raises MetadataError, RepositoryError,
    ConfigError.
    """
    if provider.built_in:
        return CONTRACT
    repository = repository_of(config.provider(provider.name, provider.type), config)
    try:
        metadata = await read_metadata(repository, provider.label, provider.version)
    except MetadataError as error:
        raise MetadataError(
            f'failed to fetch metadata for provider "{provider.label}" (version '
            f"{provider.version}). Check that the release tag exists and the repository URL is "
            f"correct: {error}"
        ) from error
    return metadata.series_of(provider.version).contract
