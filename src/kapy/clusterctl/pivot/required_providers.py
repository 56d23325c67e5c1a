"""Computes the providers that a pivot installs, from two inventories. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.install.requested_providers import NONE, RequestedProviders
from kapy.clusterctl.inventory import Installed, find_installed
from kapy.clusterctl.provider import ProviderType
from kapy.kube.version import InvalidVersion, Version, parse_tolerant


@dataclass(frozen=True)
class RequiredProviders:
    """The providers of a pivot. missing: providers to install in the target. there: providers of
    the target, with the version there. unused: built-in providers of the source plane that no
    object of it needs.
    """

    missing: tuple[Installed, ...]
    there: tuple[Installed, ...]
    unused: tuple[Installed, ...]

    @property
    def requested(self) -> RequestedProviders:
        """The providers to install, without the usual ones that `init` would add."""
        names: dict[ProviderType, list[str]] = {
            ProviderType.BOOTSTRAP: [NONE],
            ProviderType.CONTROL_PLANE: [NONE],
        }
        for provider in self.missing:
            names.setdefault(provider.type, []).append(f"{provider.name}:{provider.version}")
        namespaces = {
            provider.label: provider.namespace for provider in self.missing if not provider.built_in
        }
        return RequestedProviders(names, namespaces=namespaces)

    @property
    def labels(self) -> frozenset[str]:
        """The providers that must run in the target before any object moves."""
        return frozenset(provider.label for provider in (*self.missing, *self.there))


def required_providers(
    source: Sequence[Installed], target: Sequence[Installed], used: Collection[str]
) -> RequiredProviders:
    """Return the providers that the target needs. used: labels of providers that have objects.

    Raises MoveError if the target has an older version of a provider.
    """
    missing, there, unused = list[Installed](), list[Installed](), list[Installed]()
    for provider in source:
        same = find_installed(target, provider.name, provider.type)
        if same:
            there += same
        elif (
            provider.built_in
            and provider.type is not ProviderType.CORE
            and provider.label not in used
        ):
            unused.append(provider)
        else:
            missing.append(provider)
    problems = list(_older_providers(source, target))
    if problems:
        raise MoveError(
            f"{'; '.join(problems)}; `kapy upgrade apply` with the kubeconfig of that cluster "
            "upgrades it there"
        )
    return RequiredProviders(tuple(missing), tuple(there), tuple(unused))


def _older_providers(source: Iterable[Installed], target: Sequence[Installed]) -> Iterator[str]:
    for provider in source:
        for other in find_installed(target, provider.name, provider.type):
            if _version(other) < _version(provider):
                yield (
                    f"{provider.label} is {provider.version} here and {other.version} in the "
                    "cluster: an "
                    "older version may not understand its objects"
                )


def _version(provider: Installed) -> Version:
    try:
        return parse_tolerant(provider.version)
    except InvalidVersion as error:
        raise MoveError(
            f'the Provider object {provider.instance} has the version "{provider.version}", which '
            f"is none: {error}; correct it"
        ) from None
