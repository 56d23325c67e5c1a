"""Delete the templates and the health check of a deleted MachineDeployment.

It is removed first; its MachineSets follow, and keep their templates until then.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import Finalizer
from kapy.contract.cluster_objects import ClusterObjects, cluster_of
from kapy.contract.external import External
from kapy.core.topology.errors import name_failed_step
from kapy.core.topology.owned import is_owned
from kapy.core.topology.templates.finalizing import add_finalizer, remove_finalizer
from kapy.core.topology.templates.unpaused import map_to_owner, of_unpaused
from kapy.core.topology.templates.unused import (
    Dependencies,
    delete_unused_templates,
    is_deleting,
    is_paused,
    sets_of,
)
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.errors import NotFound

NAME = "topology/machinedeployment"


def add_to(runtime: Runtime, objects: ClusterObjects, external: External) -> Controller:
    """Add the controller of MachineDeployments' templates to a runtime."""
    dependencies = Dependencies(runtime.client, external, objects)
    controller = Controller(NAME, partial(reconcile, dependencies), concurrency=25)
    controller.watch(objects.deployments, map_to_owner)
    clusters = runtime.cache.informer(objects.clusters.resource)
    controller.watch(clusters, of_unpaused(objects.deployments_of))
    return runtime.add(controller, objects.deployments)


async def reconcile(dependencies: Dependencies, key: Key) -> Result:
    """Hold a MachineDeployment until its unused templates are deleted."""
    document = dependencies.fleet.deployments.raw(key)
    cluster = None if document is None else cluster_of(document)
    if document is None or cluster is None or not is_owned(document):
        return DONE
    resource, finalizer = MachineDeployment.RESOURCE, Finalizer.MACHINE_DEPLOYMENT_TOPOLOGY
    if await add_finalizer(dependencies.client, resource, document, finalizer):
        return DONE
    if not is_deleting(document) or is_paused(document, dependencies.fleet.clusters.raw(cluster)):
        return DONE
    if finalizer not in (document["metadata"].get("finalizers") or ()):
        return DONE
    await delete_unused_templates(
        dependencies, document, sets_of(dependencies.fleet, cluster, key.name)
    )
    with name_failed_step(f"failed to delete MachineHealthCheck {key}"), suppress(NotFound):
        await dependencies.client.delete(MachineHealthCheck, key)  # it has the same name
    await remove_finalizer(dependencies.client, resource, document, finalizer)
    return DONE
