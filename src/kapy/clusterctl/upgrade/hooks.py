"""Runtime hooks that an upgrade of the core provider would take from installed extensions.

A core that serves fewer versions of hooks than the one before names those that it serves in the
annotation HOOK_VERSIONS of its ExtensionConfig CRD; one without it serves what was served before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.components import Components
from kapy.clusterctl.errors import InventoryError
from kapy.clusterctl.migration import storage_version
from kapy.clusterctl.patience import persistently
from kapy.clusterctl.provider import ProviderType
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, Resource

HOOK_VERSIONS: Final = "runtime.cluster.x-k8s.io/hook-versions"
"""Annotation: the apiVersions of hooks that a core calls, separated by commas."""
_EXTENSIONS: Final = Key("", "extensionconfigs.runtime.cluster.x-k8s.io")


async def lost_hooks(client: Client, queued: Iterable[Components]) -> list[str]:
    """What extensions would not be called for any more; a line for each handler."""
    core = next((one for one in queued if one.provider.type is ProviderType.CORE), None)
    served = None if core is None else _served(core.objects)
    if served is None:
        return []
    return [
        f"{Key.of(extension).name}: handler {handler['name']} serves "
        f"{handler['requestHook']['hook']} {handler['requestHook']['apiVersion']}"
        for extension in await extensions(client)
        for handler in (extension.get("status") or {}).get("handlers") or ()
        if handler["requestHook"]["apiVersion"] not in served
    ]


async def check_hooks(client: Client, queued: Iterable[Components]) -> None:
    """Raises InventoryError where an extension would stop working."""
    if lost := await lost_hooks(client, queued):
        raise InventoryError(
            "unable to perform upgrade: the target version of the core provider does not call "
            f"hooks that installed extensions serve ({'; '.join(lost)}). Upgrade the extensions "
            "first, or say --allow-lost-hooks"
        )


def _served(objects: Iterable[Document]) -> frozenset[str] | None:
    """The hook versions that components say they call, None where they do not say."""
    for one in objects:
        if one["kind"] == CRDS.kind and Key.of(one) == _EXTENSIONS:
            text = (one["metadata"].get("annotations") or {}).get(HOOK_VERSIONS)
            return None if text is None else frozenset(part.strip() for part in text.split(","))
    return None


async def extensions(client: Client) -> list[Document]:
    """The ExtensionConfigs of a management cluster."""
    try:
        crd = await persistently(lambda: client.get(CRDS, _EXTENSIONS))
    except NotFound:
        return []
    spec = crd["spec"]
    resource = Resource(
        spec["group"],
        storage_version(crd),
        spec["names"]["plural"],
        spec["names"]["kind"],
        namespaced=False,
    )
    return list((await persistently(lambda: client.list(resource))).items)
