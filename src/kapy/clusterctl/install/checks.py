"""Checks before an installation: one instance of each provider, compatible contracts, and names of
CRDs.

Upstream: `Validate` of `cmd/clusterctl/client/cluster/installer.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.components import Components
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import ComponentsError, InventoryError, MetadataError
from kapy.clusterctl.inventory import (
    CONTRACT,
    Installed,
    compatible,
    core_of,
    find_installed,
    installed_of,
)
from kapy.clusterctl.metadata import read_metadata
from kapy.clusterctl.repository import repository_of
from kapy.contract.resolve import crd_name
from kapy.kube import Document
from kapy.kube.names import CRDS

UNCHECKED_NAME: Final = "clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check"
"""Annotation of CRDs that core objects do not refer to; their names are not checked."""


async def check(
    to_install: Sequence[Components], installed: Sequence[Installed], config: Config
) -> None:
    """Raises InventoryError, ComponentsError, MetadataError, RepositoryError.

    It requires one instance of each provider, contracts compatible with the core provider's, and
    the CRD names that core derives from the kinds.
    """
    after = list(installed)
    for components in to_install:
        _check_new(components, after)
        after.append(installed_of(components.inventory_object))
    await _check_contracts(to_install, core_of(after), config)
    for components in to_install:
        _check_names(components.objects)


def _check_new(components: Components, installed: Iterable[Installed]) -> None:
    instances = find_installed(installed, components.provider.name, components.provider.type)
    if instances:
        label, places = (
            components.provider.label,
            ", ".join(instance.namespace for instance in instances),
        )
        raise InventoryError(
            f'installing provider "{label}" can lead to a non functioning management cluster: '
            f'there is already an instance of the "{label}" provider installed in the "{places}" '
            f"namespace ({', '.join(instance.version for instance in instances)}); `upgrade apply` "
            "changes its version, `delete` takes it away"
        )


async def _check_contracts(
    to_install: Sequence[Components], core: Installed, config: Config
) -> None:
    installations = [core, *(installed_of(provider.inventory_object) for provider in to_install)]
    contracts = await bounded_gather(
        partial(_contract_of, provider, config) for provider in installations
    )
    for provider, contract in zip(installations, contracts, strict=True):
        if contract not in compatible(CONTRACT):
            raise InventoryError(
                "current version of clusterctl is only compatible with providers implementing the "
                f"{', '.join(compatible(CONTRACT))} contract versions, detected contract version "
                f"{contract} for provider {provider.label}"
            )
    allowed = compatible(contracts[0])
    for provider, contract in zip(installations, contracts, strict=True):
        if contract not in allowed:
            raise InventoryError(
                f'installing provider "{provider.label}" could lead to a non functioning '
                "management cluster: the target version for the provider implements the "
                f"{contract} contract version, while the core provider is compatible with "
                f"{', '.join(allowed)} "
                "contract versions; choose another version of either"
            )


def _check_names(objects: Iterable[Document]) -> None:
    for obj in objects:
        annotations = obj["metadata"].get("annotations") or {}
        if obj["kind"] != CRDS.kind or UNCHECKED_NAME in annotations:
            continue
        spec, name = obj["spec"], obj["metadata"]["name"]
        correct = crd_name(spec["group"], spec["names"]["kind"])
        if name != correct:
            raise ComponentsError(
                f'CRD name "{name}" is invalid for a CRD referenced in a core Cluster API CRD, it '
                f'should be "{correct}". If it is not referenced there, the annotation '
                f"{UNCHECKED_NAME} says so"
            )


async def _contract_of(provider: Installed, config: Config) -> str:
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
