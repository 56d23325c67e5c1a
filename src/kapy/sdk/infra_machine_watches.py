"""The watches of infrastructure machines: their owner, Cluster and bootstrap data.

A Machine owns the infrastructure of one machine, a MachinePool that of many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.contract.predicates import unblocking_only
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller, Mapper, own_key
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.sdk.changes import cluster_of, desired_state, is_update, machine_spec_of, start_conditions

BY_CLUSTER: Final = "sdk/cluster"
BY_INFRA: Final = "sdk/infra-cluster"
BY_BOOTSTRAP_DATA: Final = "sdk/bootstrap-data"


class InfraMachineWatches:
    """Maps relevant changes around machines to their infrastructure.

    owners: MachinePools or Machines, which own objects of the resource. serves: selects this
    provider's objects; changes of others enqueue nothing.
    """

    def __init__(
        self,
        runtime: Runtime,
        resource: Resource,
        secrets: Informer[Document],
        owners: Resource = Machine.RESOURCE,
        serves: Callable[[Document], bool] | None = None,
    ) -> None:
        self._serves = serves
        self._resource = resource
        self._infra = runtime.cache.informer(resource)
        self._machines = runtime.cache.informer(owners)
        self._clusters = runtime.cache.informer(Cluster.RESOURCE)
        self._secrets = secrets

    def attach(self, controller: Controller) -> None:
        """Add the watches to a controller."""
        self._infra.add_index(BY_CLUSTER, cluster_of)
        self._clusters.add_index(BY_INFRA, _infra_of)
        self._machines.add_index(BY_BOOTSTRAP_DATA, _bootstrap_data_of)
        controller.watch(
            self._infra, self._serving(unblocking_only(own_key)), debounce=STATUS_DEBOUNCE
        )
        controller.watch(self._infra, self._serving(own_key), debounce=AGGREGATE_DEBOUNCE)
        controller.watch(self._machines, self._serving(self.of_machine), debounce=STATUS_DEBOUNCE)
        controller.watch(
            self._clusters, self._serving(self.of_cluster), debounce=AGGREGATE_DEBOUNCE
        )
        controller.watch(self._secrets, self._serving(self.of_secret))

    def _serving(self, mapper: Mapper) -> Mapper:
        serves, infra = self._serves, self._infra
        if serves is None:
            return mapper

        def keys(change: Change) -> Iterable[Key]:
            for key in mapper(change):
                document = infra.raw(key)
                if document is None or serves(document):
                    yield key

        return keys

    def of_machine(self, change: Change) -> Iterable[Key]:
        """Map a Machine whose desired state changed to its infrastructure."""
        if is_update(change, desired_state):
            return ()
        return self._infra_of(change.document)

    def of_cluster(self, change: Change) -> Iterable[Key]:
        """Map a Cluster whose pause or readiness changed to its machines."""
        if is_update(change, start_conditions):
            return ()
        cluster = Key.of(change.document)
        return self._infra.keys_by_index(BY_CLUSTER, str(cluster))

    def of_infra_cluster(self, infra: Key) -> Iterable[Key]:
        """Return the machines of the Cluster whose infrastructure has this key."""
        clusters = self._clusters.keys_by_index(BY_INFRA, str(infra))
        return [
            item for key in clusters for item in self._infra.keys_by_index(BY_CLUSTER, str(key))
        ]

    def of_secret(self, change: Change) -> Iterable[Key]:
        """Map a new Secret to the machines that boot with it (it never changes)."""
        if change.old is not None:
            return ()
        secret = Key.of(change.document)
        machines = self._machines.list_by_index(BY_BOOTSTRAP_DATA, str(secret))
        return [key for machine in machines for key in self._infra_of(machine)]

    def _infra_of(self, machine: Document) -> Iterable[Key]:
        reference = machine_spec_of(machine).get("infrastructureRef") or {}
        wanted = (self._resource.group, self._resource.kind)
        if (reference.get("apiGroup"), reference.get("kind")) != wanted:
            return ()
        return (Key(machine["metadata"]["namespace"], reference["name"]),)


def _infra_of(cluster: Document) -> Iterable[str]:
    reference = (cluster.get("spec") or {}).get("infrastructureRef")
    return (str(Key(cluster["metadata"]["namespace"], reference["name"])),) if reference else ()


def _bootstrap_data_of(machine: Document) -> Iterable[str]:
    name = (machine_spec_of(machine).get("bootstrap") or {}).get("dataSecretName")
    return (str(Key(machine["metadata"]["namespace"], name)),) if name else ()
