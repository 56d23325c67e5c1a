"""Selection of the components to install, and of their images.

Components of providers that are already installed are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.certificates import cert_manager
from kapy.clusterctl.certificates.choice import Choice, issuer
from kapy.clusterctl.components import Components
from kapy.clusterctl.components.reading import read_components
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import ClusterctlError, ComponentsError, InventoryError
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.inventory import Installed, Inventory, find_installed
from kapy.clusterctl.progress import Progress, no_progress
from kapy.clusterctl.provider import ProviderType, Reference
from kapy.clusterctl.repository import repository_of


async def queue(
    requested: RequestedProviders,
    installed: Sequence[Installed],
    config: Config,
    progress: Progress,
    *,
    substitute: bool = True,
) -> list[Components]:
    """Return the components to install, in order; all are read concurrently. Raises
    ClusterctlErrors.

    Providers that are installed in the same version and namespace, or built into the plane, are
    left out. substitute: replace variables, which need values then.
    """
    wanted = [
        (text, reference, of_type)
        for of_type, text, reference in requested.references()
        if not _built_in(installed, of_type, reference, progress)
    ]
    gather = await bounded_gather(
        partial(
            _read,
            text,
            reference,
            of_type,
            config,
            requested.namespace_of(reference.name, of_type),
            substitute=substitute,
        )
        for text, reference, of_type in wanted
    )
    problems = [str(components) for components in gather if isinstance(components, ClusterctlError)]
    if problems:  # report all problems at once
        raise ComponentsError("\n".join(problems))
    new = [
        components
        for components in gather
        if isinstance(components, Components) and not _is_installed(components, installed)
    ]
    return sorted(new, key=lambda components: components.provider.type.order)


async def _read(
    text: str,
    reference: Reference,
    of_type: ProviderType,
    config: Config,
    namespace: str,
    *,
    substitute: bool,
) -> Components | ClusterctlError:
    try:
        provider = config.provider(reference.name, of_type)
        return await read_components(
            repository_of(provider, config),
            provider,
            config,
            version=reference.version,
            namespace=namespace,
            substitute=substitute,
        )
    except ClusterctlError as error:
        return ComponentsError(
            f'failed to get provider components for the "{text}" provider: {error}'
        )


def _built_in(
    installed: Sequence[Installed], of_type: ProviderType, reference: Reference, progress: Progress
) -> bool:
    """Return whether the provider is built into the plane. Raises InventoryError for another
    version.
    """
    there = [
        provider
        for provider in find_installed(installed, reference.name, of_type)
        if provider.built_in
    ]
    if not there:
        return False
    provider = there[0]
    if reference.version not in ("", provider.version):
        raise InventoryError(
            f"{provider.label} {provider.version} is a part of this management plane, so "
            f"{reference.version} cannot be installed beside it; leave out the version, or use "
            "another management cluster"
        )
    progress(f"Skipping {provider.label} {provider.version}: it is a part of this management plane")
    return True


def _is_installed(components: Components, installed: Sequence[Installed]) -> bool:
    there = find_installed(installed, components.provider.name, components.provider.type)
    return any(
        (item.namespace, item.version) == (components.target_namespace, components.version)
        for item in there
    )


async def list_images(
    client: Client, config: Config, requested: RequestedProviders, *, certificates: Choice = "auto"
) -> list[str]:
    """Names of images, sorted. Nothing is written. Raises ClusterctlErrors, ApiErrors."""
    inventory = Inventory(client)
    await inventory.check_contract(not_installed=True)
    usual = requested.with_defaults(await inventory.installed())
    to_install = await queue(usual, [], config, no_progress, substitute=False)
    images = {image for components in to_install for image in components.images}
    theirs: list[str] = []
    if await issuer(client, config, certificates) == "cert-manager":
        theirs = await cert_manager.images(client, config)
    return sorted([*theirs, *images])
