"""Finds the objects of providers by their labels, in any kind that a server has.

Objects of the kinds that a provider defines are not part of it and are not read: the provider and
its conversion webhook may be gone already. Upstream: `ListResources` of
`cmd/clusterctl/client/cluster/proxy.go`; this module finds all providers at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.components import CLUSTERCTL_LABEL, PROVIDER_LABEL
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import MethodNotAllowed, NotFound, ServerError
from kapy.kube.names import CRDS, GroupKind, Resource, split_api_version

_UNAVAILABLE: Final = 503


@dataclass(frozen=True)
class Labelled:
    """An object with a provider's labels, and the resource that serves it."""

    resource: Resource
    document: Document

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def key(self) -> Key:
        return Key.of(self.document)

    @property
    def provider(self) -> str:
        """The label of the provider to which the object belongs."""
        return str(self.document["metadata"]["labels"][PROVIDER_LABEL])


async def components_in(client: Client, providers: Iterable[str]) -> list[Labelled]:
    """Return all objects that belong to providers of these labels, in all namespaces. Raises
    ApiErrors.
    """
    selector = f"{CLUSTERCTL_LABEL}=,{PROVIDER_LABEL} in ({','.join(sorted(providers))})"
    return await labelled_objects(client, selector)


async def labelled_objects(
    client: Client, selector: str, *, ignored: Collection[str] = ()
) -> list[Labelled]:
    """Return all objects that match a label selector, except those of kinds that providers define.

    ignored: further API groups to skip.
    """
    crds = await retry(lambda: client.list(CRDS, labels=PROVIDER_LABEL))
    names = [
        (labelled["spec"]["group"], labelled["spec"]["names"]["kind"]) for labelled in crds.items
    ]
    excluded = {GroupKind(group, kind) for group, kind in names}
    resources = [
        labelled
        for labelled in await _resources(client)
        if labelled.group_kind not in excluded and labelled.group not in ignored
    ]
    gather = await bounded_gather(
        partial(_list, client, labelled, selector) for labelled in resources
    )
    return [labelled for some in gather for labelled in some]


async def _list(client: Client, resource: Resource, selector: str) -> list[Labelled]:
    try:
        listed = await retry(lambda: client.list(resource, labels=selector))
    except (NotFound, MethodNotAllowed):
        return []  # no longer served
    return [Labelled(resource, item) for item in listed.items]


async def _resources(client: Client) -> list[Resource]:
    """Return the resources that can be listed and deleted, each in the server's preferred
    version.
    """
    groups = (await retry(lambda: client.raw("GET", "/apis")))["groups"]
    versions = ["v1"] + [
        version
        for group in groups
        for version in dict.fromkeys(
            [
                group["preferredVersion"]["groupVersion"],
                *(item["groupVersion"] for item in group["versions"]),
            ]
        )
    ]
    served = await bounded_gather(
        partial(_served_resources, client, version) for version in versions
    )
    best: dict[tuple[str, str], Resource] = {}
    for resource in (item for some in served for item in some):
        best.setdefault((resource.group, resource.plural), resource)
    return list(best.values())


async def _served_resources(client: Client, api_version: str) -> list[Resource]:
    group, version = split_api_version(api_version)
    root = f"/apis/{api_version}" if group else f"/api/{version}"
    listed: Document = {}
    with suppress(NotFound):
        try:
            listed = await retry(lambda: client.raw("GET", root))
        except ServerError as error:
            # An aggregated API whose server does not answer has no components.
            if error.status().get("code") != _UNAVAILABLE:
                raise
    return [
        Resource(group, version, resource["name"], resource["kind"], resource["namespaced"])
        for resource in listed.get("resources") or ()
        if "/" not in resource["name"] and {"list", "delete"} <= set(resource["verbs"])
    ]
