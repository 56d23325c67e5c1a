"""The page of providers and extensions: version, contract, health, latency and failures of
hooks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kapy.clusterctl.describe.source import CLUSTERS
from kapy.clusterctl.inventory import PROVIDERS, installed_of
from kapy.clusterctl.provider import ProviderType
from kapy.hooks.call_tallies import CallTally, call_tallies
from kapy.hooks.inspection import HandlerRow, list_handlers
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, KapyError, NotFound
from kapy.kube.names import CRDS, Resource
from kapy.ui.documents import count_at, name_of, part, text_at
from kapy.ui.page import PageContext
from kapy.ui.viewers import Viewer
from kapy.ui.web import WebResponse

DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
PROVIDER_LABEL: Final = "cluster.x-k8s.io/provider"
CONTRACT_PREFIX: Final = "cluster.x-k8s.io/v1"
MAX_REASON: Final = 300
"""Characters of a refusal."""


class ProviderRow(NamedTuple):
    """An installed provider as a row of a table. contracts: the contract versions of its CRDs.
    health: ready and wanted Pods by Deployment. built_in: whether it runs in the process of the
    plane.
    """

    type: str
    label: str
    version: str
    namespace: str
    contracts: Sequence[str]
    health: Sequence[tuple[str, int, int]]
    built_in: bool


async def show_providers(context: PageContext) -> WebResponse:
    """Return the page of the installed providers and extensions."""
    viewer, problems = context.viewer, dict[str, str]()
    providers = await _providers(viewer, problems)
    handlers: Sequence[HandlerRow] = ()
    try:
        handlers = await list_handlers(viewer.client)
    except ApiError as error:
        if not isinstance(error, NotFound):
            problems["extensions"] = str(error)[:MAX_REASON]
    return await context.page(
        "providers.html",
        title="Providers and extensions",
        providers=providers,
        handlers=handlers,
        tallies=await _tallies(viewer, problems),
        problems=problems,
    )


async def _providers(viewer: Viewer, problems: dict[str, str]) -> list[ProviderRow]:
    listed = await _list(viewer, PROVIDERS, problems)
    crds = await _list(viewer, CRDS, problems)
    deployments = await _list(viewer, DEPLOYMENTS, problems)
    rows = []
    for document in listed:
        try:
            provider = installed_of(document)
        except KapyError as error:
            problems[document["metadata"]["name"]] = str(error)
            continue
        own = [item for item in deployments if _is_of(item, provider.label, provider.namespace)]
        contracts, health = _contracts(crds, provider.label, provider.type), list(map(_health, own))
        place = (provider.type.value, provider.label, provider.version, provider.namespace)
        rows.append(ProviderRow(*place, contracts, health, provider.built_in))
    return sorted(rows)


async def _list(viewer: Viewer, resource: Resource, problems: dict[str, str]) -> Sequence[Document]:
    try:
        return (await viewer.client.list(resource)).items
    except NotFound:
        return ()
    except ApiError as error:
        problems[resource.plural] = str(error)[:MAX_REASON]
        return ()


def _contracts(crds: Sequence[Document], label: str, type_: ProviderType) -> list[str]:
    """Return the contract versions of a provider: those of the labels of its CRDs, or, of the core
    provider, the served versions of Cluster.
    """
    versions = set[str]()
    for crd in crds:
        labels = part(crd, "metadata", "labels")
        if type_ is ProviderType.CORE and Key.of(crd).name == CLUSTERS.group_resource:
            served = (item["name"] for item in crd["spec"]["versions"] if item.get("served"))
            versions.update(served)
        elif labels.get(PROVIDER_LABEL) == label:
            names = (name for name in labels if name.startswith(CONTRACT_PREFIX))
            versions.update(name.rpartition("/")[2] for name in names)
    return sorted(versions)


def _is_of(deployment: Document, label: str, namespace: str) -> bool:
    own = text_at(deployment, "metadata", "labels", PROVIDER_LABEL)
    return (text_at(deployment, "metadata", "namespace"), own) == (namespace, label)


def _health(deployment: Document) -> tuple[str, int, int]:
    wanted = part(deployment, "spec").get("replicas", 1)
    return name_of(deployment), count_at(deployment, "status", "availableReplicas"), wanted


async def _tallies(viewer: Viewer, problems: dict[str, str]) -> list[tuple[str, str, CallTally]]:
    """Calls by host and hook, from the plane's metrics; none if the viewer may not read them."""
    try:
        tallies = await call_tallies(viewer.client)
    except KapyError as error:
        problems["hook calls"] = str(error)
        return []
    return [(host, hook, tally) for (host, hook), tally in sorted(tallies.items())]
