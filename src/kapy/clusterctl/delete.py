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
from kapy.clusterctl.inventory import PROVIDERS, Installed, Inventory, find_installed
from kapy.clusterctl.labelled import Labelled, components_in
from kapy.clusterctl.progress import Progress, of_provider
from kapy.clusterctl.provider import ProviderType, manifest_label, parse_reference
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


async def delete(client: Client, request: Deletion, *, progress: Progress) -> None:
    """Delete the requested providers. Raises InventoryError, ConfigError and ApiErrors."""
    inventory = Inventory(client)
    installed = await inventory.installed()
    installed += await _unrecorded_providers(client, installed, request)
    # If the CRDs are gone already, an earlier deletion was interrupted.
    await inventory.check_contract(not_installed=bool(installed))
    await inventory.ensure()
    providers = _choose(installed, request, progress)
    if request.include_crds:
        await _check_no_objects(client, providers, progress)
    if not providers:
        return
    components = await components_in(client, {provider.label for provider in providers})
    for provider in providers:
        progress("Deleting", Provider=of_provider(provider), providerVersion=provider.version)
        await remove(client, provider, components, request)


async def remove(
    client: Client,
    provider: Installed,
    components: Iterable[Labelled],
    request: Deletion,
    *,
    keep: Callable[[Labelled], bool] = lambda _: False,
) -> None:
    """Delete one provider: first its webhooks, then other objects, then CRDs, then its Provider
    object.

    keep: returns whether an object is kept.
    """
    own = [
        labelled
        for labelled in components
        if labelled.provider == provider.label and not keep(labelled)
    ]
    chosen = [labelled for labelled in own if _is_deleted(labelled, provider, request)]
    # The deletion of a namespace deletes the objects in it.
    ending = {labelled.key.name for labelled in chosen if labelled.kind == NAMESPACES.kind}
    for some in _deletion_order(
        [labelled for labelled in chosen if labelled.key.namespace not in ending]
    ):
        await bounded_gather(
            partial(_wait_until_deleted, client, labelled.resource, labelled.key)
            for labelled in some
        )


async def _unrecorded_providers(
    client: Client, installed: Sequence[Installed], request: Deletion
) -> list[Installed]:
    """Requested providers that are not in the inventory but have objects: their installation was
    interrupted."""
    missing = {
        manifest_label(name, of_type): (name, of_type)
        for of_type, texts in request.names.items()
        for name in (parse_reference(text)[0] for text in texts if text)
        if not find_installed(installed, name, of_type)
    }
    if not missing:
        return []
    components = await components_in(client, missing)
    namespaces: dict[str, str] = {}
    for provider in components:
        namespace = (
            provider.key.name if provider.kind == NAMESPACES.kind else provider.key.namespace
        )
        namespaces[provider.provider] = namespaces.get(provider.provider) or namespace
    providers = {
        label: Installed(*missing[label], "", namespace) for label, namespace in namespaces.items()
    }
    labels = {
        provider.provider
        for provider in components
        if _is_deleted(provider, providers[provider.provider], request)
    }
    return [provider for label, provider in providers.items() if label in labels]


def _deletion_order(objects: Sequence[Labelled]) -> list[list[Labelled]]:
    steps: list[list[Labelled]] = [[], [], [], []]
    for labelled in objects:
        last = labelled.kind in ("Namespace", PROVIDERS.kind)
        crd = labelled.kind == CRDS.kind
        steps[0 if labelled.kind in WEBHOOKS else 3 if last else 2 if crd else 1].append(labelled)
    return steps


def _is_deleted(labelled: Labelled, provider: Installed, request: Deletion) -> bool:
    key = labelled.key
    if labelled.kind == CRDS.kind:
        return request.include_crds
    if labelled.kind == NAMESPACES.kind:
        return request.include_namespace and key.name == provider.namespace
    if labelled.kind in WEBHOOKS:
        return True
    if labelled.kind in NOT_NAMESPACED:  # cluster-scoped: the name prefix tells the instance
        return key.name.startswith(f"{provider.namespace}-")
    return key.namespace in ("", provider.namespace)


async def _wait_until_deleted(client: Client, resource: Resource, key: Key) -> None:
    with suppress(NotFound):  # it was garbage-collected with its owner
        await retry(lambda: client.delete(resource, key))


def _choose(
    installed: Sequence[Installed], request: Deletion, progress: Progress
) -> list[Installed]:
    if request.everything:
        for provider in installed:
            if provider.built_in:
                progress(f"Keeping {provider.label}: it is a part of this management plane")
        return [provider for provider in installed if not provider.built_in]
    return [
        _find_installed(installed, name, of_type)
        for of_type in ProviderType
        for name in request.names.get(of_type, ())
        if name
    ]


def _find_installed(installed: Sequence[Installed], text: str, of_type: ProviderType) -> Installed:
    name, version = parse_reference(text)
    result = find_installed(installed, name, of_type)
    if len(result) != 1:
        there = ", ".join(provider.label for provider in installed) or "none"
        raise InventoryError(
            f'failed to identify the namespace for the "{name}" provider; installed: {there}'
        )
    provider = result[0]
    if provider.built_in:
        raise InventoryError(
            f"{provider.label} is a part of this management plane and cannot be deleted; the plane "
            "ends with `kapy down`"
        )
    if provider.version and version not in ("", provider.version):
        raise InventoryError(
            f'failed to identify the provider "{name}" with version "{version}"; installed: '
            f"{provider.version}"
        )
    return provider


async def _check_no_objects(
    client: Client, providers: Sequence[Installed], progress: Progress
) -> None:
    """Raises InventoryError if objects of the providers' kinds exist."""
    for provider in providers:
        progress(
            "Checking for CRs", Provider=of_provider(provider), providerVersion=provider.version
        )
    gather = await bounded_gather(
        partial(_objects_of, client, installed) for installed in providers
    )
    if problems := [item for item in gather if item]:
        raise InventoryError("; ".join(problems))


async def _objects_of(client: Client, provider: Installed) -> str:
    """Return the reason for which a provider's CRDs cannot be deleted, "" if there is none."""
    selector = f"{CLUSTERCTL_LABEL}=,{PROVIDER_LABEL}={provider.label}"
    crds = (await retry(lambda: client.list(CRDS, labels=selector))).items
    counts = await bounded_gather(partial(_count, client, crd) for crd in crds)
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
    stored = next(version["name"] for version in spec["versions"] if version["storage"])
    names = spec["names"]
    resource = Resource(spec["group"], stored, names["plural"], names["kind"])
    try:
        return len((await retry(lambda: client.list(resource))).items)
    except NotFound:
        return 0  # it is in deletion already
