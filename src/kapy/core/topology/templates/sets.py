"""Delete the templates of a deleted MachineSet, unless its MachineDeployment or another set uses
them.
"""

from __future__ import annotations

from functools import partial

from kapy.api.machine_set import MachineSet
from kapy.api.names import CLUSTER_GROUP, Finalizer
from kapy.contract.cluster_objects import ClusterObjects, cluster_of
from kapy.contract.external import External, owner_keys
from kapy.core.topology.errors import CannotReconcile
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
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import GroupKind

NAME = "topology/machineset"


def add_to(runtime: Runtime, objects: ClusterObjects, external: External) -> Controller:
    """Add the controller of MachineSets' templates to a runtime."""
    dependencies = Dependencies(runtime.client, external, objects)
    controller = Controller(NAME, partial(reconcile, dependencies), concurrency=25)
    controller.watch(objects.machine_sets, map_to_owner)
    clusters = runtime.cache.informer(objects.clusters.resource)
    controller.watch(clusters, of_unpaused(objects.machine_sets_of))
    return runtime.add(controller, objects.machine_sets)


async def reconcile(dependencies: Dependencies, key: Key) -> Result:
    """Hold a MachineSet until its unused templates are deleted."""
    objects = dependencies.fleet
    document = objects.machine_sets.raw(key)
    cluster = None if document is None else cluster_of(document)
    if document is None or cluster is None or not is_owned(document):
        return DONE
    resource, finalizer = MachineSet.RESOURCE, Finalizer.MACHINE_SET_TOPOLOGY
    if await add_finalizer(dependencies.client, resource, document, finalizer):
        return DONE
    if not is_deleting(document) or is_paused(document, objects.clusters.raw(cluster)):
        return DONE
    if finalizer not in (document["metadata"].get("finalizers") or ()):
        return DONE
    owner = _deployment_of(document)
    users = sets_of(objects, cluster, owner.name)
    deployment = objects.deployments.raw(owner)
    await delete_unused_templates(
        dependencies, document, users if deployment is None else [*users, deployment]
    )
    await remove_finalizer(dependencies.client, resource, document, finalizer)
    return DONE


_owner_keys = owner_keys(GroupKind(CLUSTER_GROUP, "MachineDeployment"))


def _deployment_of(machine_set: Document) -> Key:
    """Return the owner, which may be gone already. Raises CannotReconcile."""
    for key in _owner_keys(Change(None, machine_set)):
        return key
    raise CannotReconcile(
        f"could not calculate MachineDeployment name for MachineSet {Key.of(machine_set)}: it has "
        "no owner of that kind"
    )
