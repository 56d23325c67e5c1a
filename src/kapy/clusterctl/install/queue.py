"""The components to install: those of all requested providers that are not installed yet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.components import Components
from kapy.clusterctl.components.reading import read_components
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import ClusterctlError, ComponentsError, InventoryError
from kapy.clusterctl.install.asked import Asked
from kapy.clusterctl.inventory import Installed, named
from kapy.clusterctl.progress import Say
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.provider_reference import Reference
from kapy.clusterctl.repository import repository_of


async def queue(
    asked: Asked,
    installed: Sequence[Installed],
    config: Config,
    say: Say,
    *,
    substitute: bool = True,
) -> list[Components]:
    """The components to install, in order; all are read concurrently. Raises ClusterctlErrors.

    Providers that are installed in the same version and namespace, or built into the plane, are
    left out. substitute: replace variables, which need values then.
    """
    wanted = [
        (text, reference, of_type)
        for of_type, text, reference in asked.references()
        if not _built_in(installed, of_type, reference, say)
    ]
    found = await bounded_gather(
        partial(
            _read,
            text,
            reference,
            of_type,
            config,
            asked.namespace_of(reference.name, of_type),
            substitute=substitute,
        )
        for text, reference, of_type in wanted
    )
    problems = [str(one) for one in found if isinstance(one, ClusterctlError)]
    if problems:  # told together: nobody wants to run this once for each
        raise ComponentsError("\n".join(problems))
    new = [one for one in found if isinstance(one, Components) and not _is_there(one, installed)]
    return sorted(new, key=lambda one: one.provider.type.order)


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
    installed: Sequence[Installed], of_type: ProviderType, reference: Reference, say: Say
) -> bool:
    """Whether the provider is built into the plane. Raises InventoryError for another version."""
    there = [one for one in named(installed, reference.name, of_type) if one.built_in]
    if not there:
        return False
    one = there[0]
    if reference.version not in ("", one.version):
        raise InventoryError(
            f"{one.label} {one.version} is a part of this management plane, so "
            f"{reference.version} cannot be installed beside it; leave out the version, or use "
            "another management cluster"
        )
    say(f"Skipping {one.label} {one.version}: it is a part of this management plane")
    return True


def _is_there(one: Components, installed: Sequence[Installed]) -> bool:
    there = named(installed, one.provider.name, one.provider.type)
    return any(
        (each.namespace, each.version) == (one.target_namespace, one.version) for each in there
    )
