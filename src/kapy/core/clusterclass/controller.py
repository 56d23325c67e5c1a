"""The watches, mappers and wiring of the ClusterClass controller."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from kapy.api.cluster_class import ClusterClass
from kapy.api.extension_config import ExtensionConfig
from kapy.contract.classes import of_template
from kapy.contract.external import External
from kapy.core.clusterclass.reconcile import ClusterClassReconciler, Dependencies
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller, own_key
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.topology.discovery import VariableDiscovery
from kapy.topology.hooks import registered_handlers


def add_to(runtime: Runtime, *, discovery: VariableDiscovery | None = None) -> Controller:
    """Add the ClusterClass controller to a runtime.

    discovery: gets the variables of extensions; None if the feature gate RuntimeSDK is off.
    """
    classes = runtime.cache.informer(ClusterClass.RESOURCE)
    external = External(runtime.client, runtime.cache)
    dependencies = Dependencies(runtime.client, external, classes, runtime.clock, discovery)
    controller = Controller("clusterclass", ClusterClassReconciler(dependencies).reconcile)
    controller.watch(classes, own_key)
    if discovery is not None:
        configs = runtime.cache.informer(ExtensionConfig.RESOURCE)
        controller.watch(configs, partial(_of_extension, classes))
    external.wake(controller, of_template(runtime.cache))
    return runtime.add(controller, classes)


def _of_extension(classes: Informer[Document], change: Change) -> Iterable[Key]:
    """Return the classes whose patches get variables from an extension."""
    if registered_handlers(change.old) == registered_handlers(change.new):
        return
    ending = f".{change.document['metadata']['name']}"
    for item in classes.list():
        patches = item["spec"].get("patches") or ()
        named = (
            (patch.get("external") or {}).get("discoverVariablesExtension") for patch in patches
        )
        if any((name or "").endswith(ending) for name in named):
            yield Key.of(item)
