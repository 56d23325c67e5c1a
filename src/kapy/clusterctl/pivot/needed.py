"""Computes the providers that a pivot installs, from two inventories. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.install.asked import NONE, Asked
from kapy.clusterctl.inventory import Installed, named
from kapy.clusterctl.provider import ProviderType
from kapy.kube.version import InvalidVersion, Version, parse_tolerant


@dataclass(frozen=True)
class Needed:
    """missing: providers to install. there: providers that the target has, with its version.
    unused: built-in providers of the source plane that no object of it needs."""

    missing: tuple[Installed, ...]
    there: tuple[Installed, ...]
    unused: tuple[Installed, ...]

    @property
    def asked(self) -> Asked:
        """The providers to install, without the usual ones that `init` would add."""
        names: dict[ProviderType, list[str]] = {
            ProviderType.BOOTSTRAP: [NONE],
            ProviderType.CONTROL_PLANE: [NONE],
        }
        for one in self.missing:
            names.setdefault(one.type, []).append(f"{one.name}:{one.version}")
        namespaces = {one.label: one.namespace for one in self.missing if not one.built_in}
        return Asked(names, namespaces=namespaces)

    @property
    def labels(self) -> frozenset[str]:
        """The providers that must run in the target before any object moves."""
        return frozenset(one.label for one in (*self.missing, *self.there))


def needed(
    source: Sequence[Installed], target: Sequence[Installed], used: Collection[str]
) -> Needed:
    """The providers that the target needs. used: labels of providers that have objects.

    Raises MoveError if the target has an older version of a provider.
    """
    missing, there, unused = list[Installed](), list[Installed](), list[Installed]()
    for one in source:
        same = named(target, one.name, one.type)
        if same:
            there += same
        elif one.built_in and one.type is not ProviderType.CORE and one.label not in used:
            unused.append(one)
        else:
            missing.append(one)
    problems = list(_older(source, target))
    if problems:
        raise MoveError(
            f"{'; '.join(problems)}; `kapy upgrade apply` with the kubeconfig of that cluster "
            "upgrades it there"
        )
    return Needed(tuple(missing), tuple(there), tuple(unused))


def _older(source: Iterable[Installed], target: Sequence[Installed]) -> Iterator[str]:
    for one in source:
        for other in named(target, one.name, one.type):
            if _version(other) < _version(one):
                yield (
                    f"{one.label} is {one.version} here and {other.version} in the cluster: an "
                    "older version may not understand its objects"
                )


def _version(one: Installed) -> Version:
    try:
        return parse_tolerant(one.version)
    except InvalidVersion as error:
        raise MoveError(
            f'the Provider object {one.instance} has the version "{one.version}", which is none: '
            f"{error}; correct it"
        ) from None
