"""What wakes an ExtensionConfig: watches, maps, wiring. No decisions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from kapy.api.extension_config import ExtensionConfig
from kapy.core.extensionconfig.authority import secret_of
from kapy.core.extensionconfig.reconcile import reconcile
from kapy.core.extensionconfig.scope import Tools
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.runtime import Runtime
from kapy.hooks.caller import Caller
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS


def add_to(runtime: Runtime, caller: Caller) -> Controller:
    """Run the ExtensionConfig controller in `runtime`."""
    configs = runtime.cache.informer(ExtensionConfig.RESOURCE)
    tools = Tools(runtime.client, configs, caller, runtime.clock, runtime.random)
    controller = Controller("extensionconfig", partial(reconcile, tools))
    controller.watch(configs, own_meaning)

    naming = partial(_configs_naming, configs)

    def follow_secrets(change: Change) -> None:
        # Nobody's Secrets are read before an ExtensionConfig names one.
        if change.new is not None and secret_of(change.new) is not None:
            controller.watch(runtime.cache.informer(SECRETS, metadata=True), naming)

    configs.subscribe(follow_secrets)
    return runtime.add(controller, configs)


def _configs_naming(configs: Informer[Document], change: Change) -> Iterable[Key]:
    """The ExtensionConfigs that take their authority from a Secret."""
    secret = Key.of(change.document)
    return [Key.of(one) for one in configs.list() if secret_of(one) == secret]


def own_meaning(change: Change) -> Iterable[Key]:
    """An ExtensionConfig that is meant to be another than before."""
    if _meaning(change.old) != _meaning(change.new):
        yield Key.of(change.document)


def _meaning(document: Document | None) -> Any:
    if document is None:
        return None
    metadata = document["metadata"]
    names = ("uid", "labels", "annotations", "deletionTimestamp")
    return [metadata.get(name) for name in names], document["spec"]
