"""The components of a provider, as `generate provider` prints them.

Upstream: `cmd/clusterctl/client/generate_provider.go`.
"""

from __future__ import annotations

from typing import Final

from kapy.clusterctl.components import Components
from kapy.clusterctl.components.reading import read_components
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import MetadataError
from kapy.clusterctl.metadata import read_metadata
from kapy.clusterctl.provider import Provider
from kapy.clusterctl.repository import repository_of

CONTRACTS: Final = ("v1beta1", "v1beta2")
"""The Cluster API contracts that providers may support."""


async def generate_components(
    provider: Provider,
    version: str,
    config: Config,
    *,
    namespace: str = "",
    substitute: bool = True,
) -> Components:
    """Return the components of a version ("": the default one) that supports a contract kapy knows.

    Raises ClusterctlError.
    """
    repository = repository_of(provider, config)
    version = version or await repository.default_version()
    metadata = await read_metadata(repository, provider.label, version)
    contract = metadata.series_of(version).contract
    if contract not in CONTRACTS:
        raise MetadataError(
            "current version of clusterctl is only compatible with provider implementing "
            f"{', '.join(CONTRACTS)} contract versions, detected {contract} for provider "
            f"{provider.name}"
        )
    return await read_components(
        repository, provider, config, version=version, namespace=namespace, substitute=substitute
    )
