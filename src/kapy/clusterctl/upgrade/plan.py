"""Computes the possible upgrades of a management cluster by contract, and the upgrade that a user
requests.

The user names providers and versions in flags. The core provider leads: all others must support its
contract, or a compatible one. Upstream: `upgrader.go` and `upgrader_info.go` in
`cmd/clusterctl/client/cluster`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import ConfigError, InventoryError, MetadataError
from kapy.clusterctl.inventory import CONTRACT, Installed, compatible, core_of, find_installed
from kapy.clusterctl.metadata import Metadata, ReleaseSeries, read_metadata
from kapy.clusterctl.provider import ProviderType, manifest_label, parse_reference
from kapy.clusterctl.repository import repository_of
from kapy.clusterctl.repository.releases import semantic
from kapy.kube.version import Version

_LOCKSTEP: Final = {
    (ProviderType.CORE, "cluster-api"),
    (ProviderType.BOOTSTRAP, "kubeadm"),
    (ProviderType.CONTROL_PLANE, "kubeadm"),
}
"""Providers that may skip at most three minor versions."""
_OLDEST_CHECKED: Final = (1, 10)
_MAX_STEP: Final = 3


@dataclass(frozen=True)
class Item:
    """A provider and its target version; "" for none."""

    provider: Installed
    next_version: str


@dataclass(frozen=True)
class Plan:
    """An upgrade of a management cluster to the newest versions of a contract."""

    contract: str
    items: tuple[Item, ...]

    @property
    def is_partial(self) -> bool:
        """Whether some provider has no newer version."""
        return any(not item.next_version for item in self.items)


@dataclass(frozen=True)
class Releases:
    """The releases of an installed provider. newer: versions after the installed one, ascending."""

    provider: Installed
    metadata: Metadata
    newer: tuple[Version, ...] = ()

    @property
    def contract(self) -> str:
        """The contract of the installed version."""
        return self.contract_of(_version_of(self.provider.version, self.provider)) or ""

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
        here = _version_of(self.provider.version, self.provider)
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


async def plans(installed: Sequence[Installed], config: Config) -> list[Plan]:
    """Return all possible upgrades, sorted by contract. Raises ClusterctlErrors."""
    core = core_of(installed)
    releases = await _releases(installed, config)
    result = [_plan(releases, contract) for contract in _releases_of(core, releases).contracts()]
    # A change of contract must include all providers.
    current = _releases_of(core, releases).contract
    return [plan for plan in result if plan.contract == current or not plan.is_partial]


async def plan_of(contract: str, installed: Sequence[Installed], config: Config) -> Plan:
    """Return the upgrade to the newest versions of a contract; up-to-date providers are left
    out.
    """
    if contract != CONTRACT:
        raise InventoryError(
            f"current version of clusterctl could only upgrade to {CONTRACT} contract, requested "
            f"{contract}"
        )
    plan = _plan(await _releases(installed, config), contract)
    items = tuple(item for item in plan.items if item.next_version and not item.provider.built_in)
    return Plan(contract, items)


def wanted_versions(
    names: Mapping[ProviderType, Sequence[str]], installed: Sequence[Installed]
) -> dict[str, str]:
    """Return the requested version by instance (`capa-system/infrastructure-aws`).

    Raises ConfigError.
    """
    versions = {}
    for of_type in ProviderType:
        for text in names.get(of_type, ()):
            if text:
                instance, version = _wanted_version(text, of_type, installed)
                versions[instance] = version
    return versions


async def custom_plan(
    versions: Mapping[str, str], installed: Sequence[Installed], config: Config
) -> Plan:
    """Return the upgrade of chosen providers. versions: versions by instance
    (`capa-system/infra…`).

    Raises InventoryError if the result would not work.
    """
    core = core_of(installed)
    by_instance = {item.instance: item for item in installed}
    for instance in versions:
        if instance not in by_instance:
            raise InventoryError(
                f"unable to perform upgrade: the provider {instance} in not part of the "
                f"management cluster; installed: {', '.join(by_instance)}"
            )
        if by_instance[instance].built_in:
            raise InventoryError(
                f"{instance} is a part of this management plane, and is upgraded with kapy itself"
            )
    releases = await _releases(installed, config)
    contract = _contract(_releases_of(core, releases), versions.get(core.instance, core.version))
    if contract != CONTRACT:
        raise InventoryError(
            "current version of clusterctl could only upgrade the core provider to "
            f"{CONTRACT} contract version, requested {contract}"
        )
    for release in releases:
        _check(release, versions, compatible(contract))
    return Plan(
        contract, tuple(Item(by_instance[key], version) for key, version in versions.items())
    )


def check_steps(plan: Plan) -> None:
    """Raises InventoryError if too many minor versions would be skipped."""
    for item in plan.items:
        provider = item.provider
        if not item.next_version or (provider.type, provider.name) not in _LOCKSTEP:
            continue
        current = _version_of(provider.version, provider)
        target = _version_of(item.next_version, provider)
        if (current.major, current.minor) < _OLDEST_CHECKED:
            continue
        if target.minor > current.minor + _MAX_STEP:
            raise InventoryError(
                f"upgrade for {provider.instance} provider can't skip more than {_MAX_STEP} "
                f"versions; upgrade to v{current.major}.{current.minor + _MAX_STEP} first"
            )


def _wanted_version(
    text: str, of_type: ProviderType, installed: Sequence[Installed]
) -> tuple[str, str]:
    form = (
        f'invalid provider name "{text}". Provider name should be in the form '
        "namespace/provider:version or provider:version"
    )
    namespace, slash, rest = text.lower().rpartition("/")
    if (slash and (not namespace or "/" in namespace)) or (not slash and ":" not in rest):
        raise ConfigError(form)
    name, version = parse_reference(rest if slash else text)
    if not version:
        raise ConfigError(f"{form} and version cannot be empty")
    if not slash:
        namespace = _namespace(find_installed(installed, name, of_type))
    return f"{namespace}/{manifest_label(name, of_type)}", version


def _namespace(instances: Sequence[Installed]) -> str:
    """Return the namespace of a provider, "" if it is ambiguous or unknown."""
    namespaces = {provider.namespace for provider in instances}
    return namespaces.pop() if len(namespaces) == 1 else ""


async def _releases(installed: Sequence[Installed], config: Config) -> list[Releases]:
    return await bounded_gather(partial(_read_releases, provider, config) for provider in installed)


async def _read_releases(provider: Installed, config: Config) -> Releases:
    """Return the releases in a provider's repository. Raises RepositoryError, MetadataError,
    InventoryError.
    """
    current = _version_of(provider.version, provider)
    if provider.built_in:  # built-in providers have no repository
        series = ReleaseSeries(current.major, current.minor, CONTRACT)
        return Releases(provider, Metadata(provider.label, (series,)))
    repository = repository_of(config.provider(provider.name, provider.type), config)
    tags = {_version_of(tag, provider): tag for tag in await repository.versions()}
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


def _releases_of(provider: Installed, releases: Sequence[Releases]) -> Releases:
    return next(release for release in releases if release.provider == provider)


def _plan(releases: Sequence[Releases], contract: str) -> Plan:
    allowed = compatible(contract)
    return Plan(
        contract, tuple(Item(release.provider, release.latest(allowed)) for release in releases)
    )


def _contract(releases: Releases, version: str) -> str:
    contract = releases.contract_of(_version_of(version, releases.provider))
    if contract is None:
        raise InventoryError(
            f"invalid target version: version {version} for the provider "
            f"{releases.provider.instance} "
            "does not match any release series"
        )
    return contract


def _check(releases: Releases, versions: Mapping[str, str], allowed: Sequence[str]) -> None:
    provider = releases.provider
    target = versions.get(provider.instance)
    contract = _contract(releases, target or provider.version)
    if contract in allowed:
        return
    if target:
        raise InventoryError(
            f"unable to perform upgrade: the target version for the provider {provider.instance} "
            f"implements the {contract} contract version, while the core provider supports "
            f"{', '.join(allowed)} contract versions"
        )
    raise InventoryError(
        f"unable to perform upgrade: the provider {provider.instance} implements the {contract} "
        "contract version, while the core provider is getting updated to a version that supports "
        f"{', '.join(allowed)} contract versions. Please include the {provider.instance} provider "
        "in the upgrade"
    )


def _version_of(text: str, provider: Installed) -> Version:
    """Return a version of a provider. Raises InventoryError if the text is not a version."""
    version = semantic(text)
    if version is None:
        raise InventoryError(
            f'failed to parse version "{text}" for the {provider.instance} provider: a version is '
            "a semantic version like v1.14.0"
        )
    return version
