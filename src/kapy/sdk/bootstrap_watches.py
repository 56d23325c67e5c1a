"""The watches of bootstrap configurations: Machines and MachinePools, their Cluster, its
Secrets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.contract.predicates import unblocking_only
from kapy.engine.cache import Change
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller, own_key
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS, Resource
from kapy.remote.secrets import has_purpose_suffix
from kapy.sdk.bootstrap_secrets import LABELLED
from kapy.sdk.changes import cluster_of, is_update, machine_spec_of, start_conditions

BY_CLUSTER: Final = "sdk/bootstrap-cluster"


class BootstrapWatches:
    """Maps relevant changes around machines to their bootstrap configurations."""

    def __init__(self, runtime: Runtime, resource: Resource) -> None:
        cache = runtime.cache
        self._resource = resource
        self._configs = cache.informer(resource)
        self._owners = [cache.informer(item) for item in (Machine.RESOURCE, MachinePool.RESOURCE)]
        self._clusters = cache.informer(Cluster.RESOURCE)
        self._secrets = cache.informer(SECRETS, labels=LABELLED)

    def attach(self, controller: Controller) -> None:
        """Add the watches to a controller."""
        self._configs.add_index(BY_CLUSTER, cluster_of)
        controller.watch(self._configs, unblocking_only(own_key), debounce=STATUS_DEBOUNCE)
        controller.watch(self._configs, own_key, debounce=AGGREGATE_DEBOUNCE)
        for owners in self._owners:
            controller.watch(owners, self.of_owner, debounce=STATUS_DEBOUNCE)
        controller.watch(self._clusters, self.of_cluster, debounce=STATUS_DEBOUNCE)
        controller.watch(self._secrets, self.of_secret, debounce=STATUS_DEBOUNCE)

    def of_owner(self, change: Change) -> Iterable[Key]:
        """Map a Machine or MachinePool whose desired state or Node changed to its configuration. A
        deleted Machine is mapped to all configurations of the cluster, because it may have been the
        first.
        """
        document = change.document
        if change.new is None and Label.CONTROL_PLANE in (document["metadata"].get("labels") or {}):
            namespace, cluster = document["metadata"]["namespace"], document["spec"]["clusterName"]
            yield from self._of(str(Key(namespace, cluster)))
        if is_update(change, _boot_state):
            return
        reference = (machine_spec_of(document).get("bootstrap") or {}).get("configRef") or {}
        wanted = (self._resource.group, self._resource.kind)
        if (reference.get("apiGroup"), reference.get("kind")) == wanted:
            yield Key(document["metadata"]["namespace"], reference["name"])

    def of_cluster(self, change: Change) -> Iterable[Key]:
        """Map a Cluster to its configurations if it was paused, resumed, or reached a milestone."""
        return () if is_update(change, _steps) else self._of(str(Key.of(change.document)))

    def of_secret(self, change: Change) -> Iterable[Key]:
        """Map a Secret that was deleted or changed its owner to its configuration. A new
        certificate is mapped to all configurations of the cluster.
        """
        key = Key.of(change.document)
        if change.old is not None:
            if self._configs.raw(key) is not None and not is_update(change, _owners):
                yield key
        elif has_purpose_suffix(key.name):
            for cluster in cluster_of(change.document):
                yield from self._of(cluster)

    def _of(self, cluster: str) -> list[Key]:
        return list(self._configs.keys_by_index(BY_CLUSTER, cluster))


def _boot_state(owner: Document) -> Any:
    status = owner.get("status") or {}
    return (
        owner.get("spec"),
        owner["metadata"].get("labels"),
        status.get("nodeRef"),
        status.get("nodeRefs"),
    )


def _owners(secret: Document) -> Any:
    return secret["metadata"].get("ownerReferences")


def _steps(cluster: Document) -> Any:
    return start_conditions(cluster), (cluster.get("spec") or {}).get("controlPlaneEndpoint")
