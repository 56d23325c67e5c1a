"""What wakes a ClusterClass: watches, maps, wiring. No decisions."""

from __future__ import annotations

from functools import partial

from kapy.api.cluster_class import ClusterClass
from kapy.contract.classes import of_template
from kapy.contract.external import External
from kapy.core.clusterclass.reconcile import reconcile
from kapy.core.clusterclass.scope import Tools
from kapy.engine.controller import Controller, own_key
from kapy.engine.runtime import Runtime
from kapy.topology.discovery import VariableDiscovery


def add_to(runtime: Runtime, *, discovery: VariableDiscovery | None = None) -> Controller:
    """Run the ClusterClass controller in `runtime`.

    discovery: asks extensions for their variables, None while the RuntimeSDK gate is closed.
    """
    classes = runtime.cache.informer(ClusterClass.RESOURCE)
    external = External(runtime.client, runtime.cache)
    tools = Tools(runtime.client, external, classes, runtime.clock, discovery)
    controller = Controller("clusterclass", partial(reconcile, tools))
    controller.watch(classes, own_key)
    external.wake(controller, of_template(runtime.cache))
    return runtime.add(controller, classes)
