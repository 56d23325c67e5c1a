"""Calls runtime extensions, if the RuntimeSDK gate is open.

`extensions(runtime, post)` watches the ExtensionConfigs. Its clients are passed to the controllers
of topologies and ClusterClasses, which know nothing of calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kapy.api.extension_config import ExtensionConfig
from kapy.apps.extensions import lifecycle, variables
from kapy.apps.extensions.in_place import InPlace
from kapy.apps.extensions.lifecycle import Lifecycle
from kapy.apps.extensions.patches import Patches
from kapy.apps.extensions.variables import Variables
from kapy.engine.runtime import Runtime
from kapy.hooks.call_stream import ObservableTransport
from kapy.hooks.caller import Caller
from kapy.hooks.catalog import full_catalog
from kapy.hooks.registry import Registry
from kapy.hooks.transport import HookTransport
from kapy.kube import Key
from kapy.kube.names import NAMESPACES


@dataclass(frozen=True, slots=True)
class Extensions:
    """The caller of runtime extensions of a program, and the clients that use it."""

    caller: Caller
    in_place: InPlace
    lifecycle: Lifecycle
    patches: Patches
    variables: Variables
    calls: ObservableTransport

    def wake(self, *, clusters: Callable[[Key], None], classes: Callable[[Key], None]) -> None:
        """Set the callback for extensions that become available."""
        self.caller.subscribe(lifecycle.KIND, clusters)
        self.caller.subscribe(variables.KIND, classes)


def extensions(runtime: Runtime, post: HookTransport, *, max_timeout: int) -> Extensions:
    """Call the extensions that are registered on a runtime's server.

    max_timeout: the maximum seconds of any handler.
    """
    catalog, registry = full_catalog(), Registry(longest=max_timeout)
    # Subscribed before the controllers: when a change enqueues them, the registry has it already.
    configs = runtime.cache.informer(ExtensionConfig.RESOURCE)
    configs.subscribe(registry.observe)
    namespaces = runtime.cache.informer(NAMESPACES)
    watched = ObservableTransport(post, registry, runtime.clock)
    caller = Caller(registry, catalog, namespaces, watched, random=runtime.random)
    runtime.metrics.add(caller.metrics)
    in_place = InPlace(caller)
    configs.subscribe(in_place.on_config_change)
    return Extensions(
        caller,
        in_place,
        Lifecycle(caller, catalog),
        Patches(caller),
        Variables(caller),
        watched,
    )
