"""Finds runtime hooks that installed extensions would lose by an upgrade of the core provider.

The hooks of a release are in its OpenAPI document, which upstream publishes as a release file. A
core without that file can list its hook versions in the annotation HOOK_VERSIONS of its
ExtensionConfig CRD. Without either, a deprecated hook counts as lost after the last release for
which its deprecation guarantees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.components import Components
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import FileMissing, InventoryError
from kapy.clusterctl.migration import storage_version
from kapy.clusterctl.provider import ProviderType, text_of
from kapy.clusterctl.repository import repository_of
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key, yaml
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, Resource, split_api_version
from kapy.kube.yaml import YamlError

OPENAPI: Final = "runtime-sdk-openapi.yaml"
"""The file of a core release that describes its hooks."""
HOOK_VERSIONS: Final = "runtime.cluster.x-k8s.io/hook-versions"
"""Annotation: the apiVersions of hooks that a core calls, separated by commas."""
_GROUP: Final = "hooks.runtime.cluster.x-k8s.io"
_EXTENSIONS: Final = Key("", "extensionconfigs.runtime.cluster.x-k8s.io")
Calls = Callable[[str, str], bool]
"""Whether a release calls the hook of an apiVersion and a name."""


async def lost_hooks(client: Client, to_install: Iterable[Components], config: Config) -> list[str]:
    """Return the handlers of extensions that would no longer be called; a line for each."""
    core = next(
        (components for components in to_install if components.provider.type is ProviderType.CORE),
        None,
    )
    if core is None:
        return []
    handlers = [
        (Key.of(extension).name, handler["name"], handler["requestHook"])
        for extension in await extensions(client)
        for handler in (extension.get("status") or {}).get("handlers") or ()
        # Hooks of other groups are called by other programs.
        if split_api_version(handler["requestHook"]["apiVersion"])[0] == _GROUP
    ]
    if not handlers:
        return []
    calls = await _calls_of(core, config)
    return [
        f"{extension}: handler {name} serves {request['hook']} {request['apiVersion']}"
        for extension, name, request in handlers
        if not calls(request["apiVersion"], request["hook"])
    ]


async def check_hooks(client: Client, to_install: Iterable[Components], config: Config) -> None:
    """Raises InventoryError if an extension would stop working."""
    if lost := await lost_hooks(client, to_install, config):
        raise InventoryError(
            "unable to perform upgrade: the target version of the core provider does not call "
            f"hooks that installed extensions serve ({'; '.join(lost)}). Upgrade the extensions "
            "first, or say --allow-lost-hooks"
        )


async def _calls_of(core: Components, config: Config) -> Calls:
    try:
        repository = repository_of(core.provider, config)
        text = await text_of(repository, core.version, OPENAPI, core.provider.label)
    except FileMissing:
        versions = _annotated_hooks(core.objects)
        if versions is None:
            return _released_calls(core.version)
        return lambda api_version, _: api_version in versions
    paths = _paths(text)
    return lambda api_version, hook: f"/{api_version}/{hook.lower()}" in paths


def _released_calls(release: str) -> Calls:
    """Return the hooks that a later release still calls by its deprecation policy."""
    from kapy.hooks import catalog  # all hooks: most management clusters need none

    own_catalog = catalog.own_catalog()

    def calls(api_version: str, name: str) -> bool:
        hook = own_catalog.get(api_version, name)
        return hook is None or not catalog.is_over(hook, release)

    return calls


def _paths(text: str) -> frozenset[str]:
    """Return the paths of an OpenAPI document, without handler names. Raises InventoryError."""
    try:
        paths = yaml.load(text)["paths"]
        return frozenset(path.removesuffix("/{name}") for path in paths)
    except (YamlError, KeyError, TypeError, AttributeError) as error:
        raise InventoryError(
            f"cannot tell which hooks the target version calls: {OPENAPI} of the release is no "
            f"OpenAPI document ({error}). Say --allow-lost-hooks to upgrade without knowing"
        ) from None


def _annotated_hooks(objects: Iterable[Document]) -> frozenset[str] | None:
    """Return the hook versions that the components list, None if they list none."""
    for obj in objects:
        if obj["kind"] == CRDS.kind and Key.of(obj) == _EXTENSIONS:
            text = (obj["metadata"].get("annotations") or {}).get(HOOK_VERSIONS)
            return None if text is None else frozenset(part.strip() for part in text.split(","))
    return None


async def extensions(client: Client) -> list[Document]:
    """Return the ExtensionConfigs of a management cluster."""
    try:
        crd = await retry(lambda: client.get(CRDS, _EXTENSIONS))
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
    return list((await retry(lambda: client.list(resource))).items)
