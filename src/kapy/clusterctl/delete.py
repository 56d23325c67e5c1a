"""Deletes providers from a management cluster.

Upstream: `cmd/clusterctl/client/delete.go` and `client/cluster/components.go`. A provider's
Provider object is deleted last, so that an interrupted deletion can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.certificates.injection import WEBHOOKS
from kapy.clusterctl.components import CLUSTERCTL_LABEL, PROVIDER_LABEL
from kapy.clusterctl.components.namespace import NOT_NAMESPACED
from kapy.clusterctl.errors import InventoryError
from kapy.clusterctl.inventory import PROVIDERS, Installed, Inventory, named
from kapy.clusterctl.labelled import Labelled, components_in
from kapy.clusterctl.progress import Say, of_provider
from kapy.clusterctl.provider import ProviderType, manifest_label
from kapy.clusterctl.provider_reference import parse_reference
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, NAMESPACES, Resource


@dataclass(frozen=True)
class Deletion:
    """The providers to delete. names: `aws` or `aws:v2.11.0` by type. everything: all providers."""

    names: Mapping[ProviderType, Sequence[str]] = field(default_factory=dict)
    everything: bool = False
    include_namespace: bool = False
    include_crds: bool = False


async def delete(client: Client, asked: Deletion, *, say: Say) -> None:
    """Delete providers. Raises InventoryError, ConfigError and ApiErrors."""
    inventory = Inventory(client)
    installed = await inventory.installed()
    installed += await _unrecorded(client, installed, asked)
    # Where the CRDs were deleted already, it was a deletion that did not end.
    await inventory.check_contract(not_installed=bool(installed))
    await inventory.ensure()
    providers = _chosen(installed, asked, say)
    if asked.include_crds:
        await _check_no_objects(client, providers, say)
    if not providers:
        return
    found = await components_in(client, {one.label for one in providers})
    for one in providers:
        say("Deleting", Provider=of_provider(one), providerVersion=one.version)
        await remove(client, one, found, asked)


async def remove(
    client: Client,
    provider: Installed,
    components: Iterable[Labelled],
    asked: Deletion,
    *,
    keep: Callable[[Labelled], bool] = lambda _: False,
) -> None:
    """Delete one provider: first its webhooks, then other objects, then CRDs, then its Provider
    object.

    keep: a predicate of objects that stay.
    """
    own = [one for one in components if one.provider == provider.label and not keep(one)]
    chosen = [one for one in own if _goes(one, provider, asked)]
    # What is in a namespace that is deleted goes with it.
    ending = {one.key.name for one in chosen if one.kind == NAMESPACES.kind}
    for some in _in_order([one for one in chosen if one.key.namespace not in ending]):
        await bounded_gather(partial(_gone, client, one.resource, one.key) for one in some)


async def _unrecorded(
    client: Client, installed: Sequence[Installed], asked: Deletion
) -> list[Installed]:
    """Requested providers that are not in the inventory but have objects: their installation was
    interrupted."""
    missing = {
        manifest_label(name, of_type): (name, of_type)
        for of_type, texts in asked.names.items()
        for name in (parse_reference(text)[0] for text in texts if text)
        if not named(installed, name, of_type)
    }
    if not missing:
        return []
    found = await components_in(client, missing)
    namespaces: dict[str, str] = {}
    for one in found:
        namespace = one.key.name if one.kind == NAMESPACES.kind else one.key.namespace
        namespaces[one.provider] = namespaces.get(one.provider) or namespace
    providers = {
        label: Installed(*missing[label], "", namespace) for label, namespace in namespaces.items()
    }
    left = {one.provider for one in found if _goes(one, providers[one.provider], asked)}
    return [one for label, one in providers.items() if label in left]


def _in_order(chosen: Sequence[Labelled]) -> list[list[Labelled]]:
    steps: list[list[Labelled]] = [[], [], [], []]
    for one in chosen:
        last = one.kind in ("Namespace", PROVIDERS.kind)
        crd = one.kind == CRDS.kind
        steps[0 if one.kind in WEBHOOKS else 3 if last else 2 if crd else 1].append(one)
    return steps


def _goes(one: Labelled, provider: Installed, asked: Deletion) -> bool:
    key = one.key
    if one.kind == CRDS.kind:
        return asked.include_crds
    if one.kind == NAMESPACES.kind:
        return asked.include_namespace and key.name == provider.namespace
    if one.kind in WEBHOOKS:
        return True
    if one.kind in NOT_NAMESPACED:  # its name says whose it is; RBAC of no instance stays
        return key.name.startswith(f"{provider.namespace}-")
    return key.namespace in ("", provider.namespace)


async def _gone(client: Client, resource: Resource, key: Key) -> None:
    with suppress(NotFound):  # it went with what owned it
        await retry(lambda: client.delete(resource, key))


def _chosen(installed: Sequence[Installed], asked: Deletion, say: Say) -> list[Installed]:
    if asked.everything:
        for one in installed:
            if one.built_in:
                say(f"Keeping {one.label}: it is a part of this management plane")
        return [one for one in installed if not one.built_in]
    return [
        _named(installed, name, of_type)
        for of_type in ProviderType
        for name in asked.names.get(of_type, ())
        if name
    ]


def _named(installed: Sequence[Installed], text: str, of_type: ProviderType) -> Installed:
    name, version = parse_reference(text)
    found = named(installed, name, of_type)
    if len(found) != 1:
        there = ", ".join(one.label for one in installed) or "none"
        raise InventoryError(
            f'failed to identify the namespace for the "{name}" provider; installed: {there}'
        )
    one = found[0]
    if one.built_in:
        raise InventoryError(
            f"{one.label} is a part of this management plane and cannot be deleted; the plane "
            "ends with `kapy down`"
        )
    if one.version and version not in ("", one.version):
        raise InventoryError(
            f'failed to identify the provider "{name}" with version "{version}"; installed: '
            f"{one.version}"
        )
    return one


async def _check_no_objects(client: Client, providers: Sequence[Installed], say: Say) -> None:
    """Raises InventoryError if objects of the providers' kinds exist."""
    for one in providers:
        say("Checking for CRs", Provider=of_provider(one), providerVersion=one.version)
    found = await bounded_gather(partial(_objects_of, client, one) for one in providers)
    if problems := [one for one in found if one]:
        raise InventoryError("; ".join(problems))


async def _objects_of(client: Client, provider: Installed) -> str:
    """The reason for which a provider's CRDs cannot be deleted, "" if there is none."""
    selector = f"{CLUSTERCTL_LABEL}=,{PROVIDER_LABEL}={provider.label}"
    crds = (await retry(lambda: client.list(CRDS, labels=selector))).items
    counts = await bounded_gather(partial(_count, client, one) for one in crds)
    kinds = [
        f"{count} {crd['spec']['names']['kind']}"
        for crd, count in zip(crds, counts, strict=True)
        if count
    ]
    if not kinds:
        return ""
    return (
        f'found existing objects for provider CRDs "{provider.label}": [{", ".join(kinds)}]. '
        "Please delete these objects first before running clusterctl delete with --include-crd"
    )


async def _count(client: Client, crd: Document) -> int:
    spec = crd["spec"]
    stored = next(one["name"] for one in spec["versions"] if one["storage"])
    names = spec["names"]
    resource = Resource(spec["group"], stored, names["plural"], names["kind"])
    try:
        return len((await retry(lambda: client.list(resource))).items)
    except NotFound:
        return 0  # its deletion began already
