"""Warns the author of an ExtensionConfig about deprecated hooks that the extension serves.

A new object does not list its handlers, so the extension is called; it has `TIMEOUT` seconds,
because a client waits. If it does not answer, the condition reports the deprecations after
discovery.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from kapy.api.extension_config import ExtensionConfig, ExtensionHandler
from kapy.api.names import Annotation
from kapy.api.validation.extension_config import longest_timeout
from kapy.client.client import Client
from kapy.core.extensionconfig.reconcile import bundle_of, registered_handlers
from kapy.hooks.call import Calls, discover
from kapy.hooks.catalog import deprecations, full_catalog
from kapy.hooks.transport import HookTransport
from kapy.kube.errors import KapyError

TIMEOUT: Final = 2
"""Seconds that an extension has to tell its handlers while somebody waits for the answer to a
write: API servers wait ten for all webhooks of a request together."""


async def deprecation_warnings(
    new: ExtensionConfig,
    old: ExtensionConfig | None,
    client: Client,
    post: Callable[[], HookTransport] | None,
) -> list[str]:
    """Return a sentence for each handler of a deprecated hook version.

    post: connects to extensions; None to use only the status.
    """
    catalog = full_catalog()
    if all(hook.deprecation is None for hook in catalog):
        return []
    handlers: Sequence[ExtensionHandler] = new.status.handlers
    if post is not None and _is_another_server(new, old):
        handlers = await _discover_handlers(new, client, post()) or handlers
    return deprecations(handlers, catalog)


def _is_another_server(new: ExtensionConfig, old: ExtensionConfig | None) -> bool:
    return old is None or old.spec.client_config != new.spec.client_config


async def _discover_handlers(
    config: ExtensionConfig, client: Client, post: HookTransport
) -> list[ExtensionHandler]:
    """Return the extension's handlers; none if it does not answer in time."""
    seconds = min(longest_timeout(config) or TIMEOUT, TIMEOUT)
    calls = Calls(post)
    try:
        async with asyncio.timeout(seconds):
            trusting = await _with_ca(config, client)
            return registered_handlers(
                config, await discover(trusting, full_catalog(), calls, seconds)
            )
    except (KapyError, TimeoutError):
        return []
    finally:
        await calls.aclose()


async def _with_ca(config: ExtensionConfig, client: Client) -> ExtensionConfig:
    """Return the config with the CA that its controller will inject. Raises NoAuthority."""
    name = config.metadata.annotations.get(Annotation.INJECT_CA_FROM_SECRET)
    if name is None:
        return config
    trusted = replace(config.spec.client_config, ca_bundle=await bundle_of(client, name))
    return replace(config, spec=replace(config.spec, client_config=trusted))
