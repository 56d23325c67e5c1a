"""The watches, mappers and wiring of the ExtensionConfig controller."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from kapy.api.extension_config import ExtensionConfig
from kapy.core.extensionconfig.reconcile import Dependencies, ExtensionConfigReconciler, secret_of
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.runtime import Runtime
from kapy.hooks.caller import Caller
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS


def add_to(runtime: Runtime, caller: Caller) -> Controller:
    """Add the ExtensionConfig controller to a runtime."""
    configs = runtime.cache.informer(ExtensionConfig.RESOURCE)
    dependencies = Dependencies(runtime.client, configs, caller, runtime.clock, runtime.random)
    controller = Controller("extensionconfig", ExtensionConfigReconciler(dependencies).reconcile)
    controller.watch(configs, on_spec_change)

    naming = partial(_configs_naming, configs)

    def follow_secrets(change: Change) -> None:
        # Secrets are only watched once an ExtensionConfig names one.
        if change.new is not None and secret_of(change.new) is not None:
            controller.watch(runtime.cache.informer(SECRETS, metadata=True), naming)

    configs.subscribe(follow_secrets)
    return runtime.add(controller, configs)


def _configs_naming(configs: Informer[Document], change: Change) -> Iterable[Key]:
    """Return the ExtensionConfigs whose annotation names a Secret."""
    secret = Key.of(change.document)
    return [Key.of(item) for item in configs.list() if secret_of(item) == secret]


def on_spec_change(change: Change) -> Iterable[Key]:
    """Map an ExtensionConfig whose spec or relevant metadata changed."""
    if _spec_of(change.old) != _spec_of(change.new):
        yield Key.of(change.document)


def _spec_of(document: Document | None) -> Any:
    if document is None:
        return None
    metadata = document["metadata"]
    names = ("uid", "labels", "annotations", "deletionTimestamp")
    return [metadata.get(name) for name in names], document["spec"]
