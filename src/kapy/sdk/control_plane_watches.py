"""The watches of control planes: their Cluster, its Secrets, and its machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.contract.predicates import unblocking_only
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller, Mapper, own_key
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS, Resource
from kapy.remote.secrets import has_purpose_suffix
from kapy.sdk.bootstrap_secrets import LABELLED
from kapy.sdk.changes import cluster_of, is_update

BY_CLUSTER: Final = "sdk/machines-of-cluster"
_BY_TEMPLATE: Final = "sdk/control-planes-of-template"


class ControlPlaneWatches:
    """Maps changes around clusters to their control planes of one kind."""

    def __init__(self, runtime: Runtime, resource: Resource) -> None:
        cache = runtime.cache
        self._resource = resource
        self._objects = cache.informer(resource)
        self._clusters = cache.informer(Cluster.RESOURCE)
        self._machines = [cache.informer(item) for item in (Machine.RESOURCE, MachinePool.RESOURCE)]
        self._secrets = cache.informer(SECRETS, labels=LABELLED)

    def attach(
        self, controller: Controller, wrap: Callable[[Mapper], Mapper] = lambda keys: keys
    ) -> None:
        """Add the watches to a controller. wrap: wraps their mappers."""
        controller.watch(self._objects, unblocking_only(own_key), debounce=STATUS_DEBOUNCE)
        controller.watch(self._objects, wrap(own_key), debounce=AGGREGATE_DEBOUNCE)
        controller.watch(self._clusters, wrap(self.of_cluster), debounce=STATUS_DEBOUNCE)
        controller.watch(self._secrets, wrap(self.of_secret), debounce=STATUS_DEBOUNCE)
        for machines in self._machines:
            machines.add_index(BY_CLUSTER, cluster_of)
            controller.watch(machines, wrap(self.of_deleted))

    def of_cluster(self, change: Change) -> Iterable[Key]:
        """Map a relevant change of a Cluster to its control plane."""
        return () if is_update(change, _relevant_fields) else self._of(change.document)

    def of_secret(self, change: Change) -> Iterable[Key]:
        """Map a changed certificate or kubeconfig Secret to the control plane."""
        if has_purpose_suffix(change.document["metadata"]["name"]):
            yield from self._of_label(change.document)

    def of_deleted(self, change: Change) -> Iterable[Key]:
        """Map a deleted worker to the control plane, whose deletion may wait for it."""
        if change.new is None:
            yield from self._of_label(change.document)

    def workers(self, cluster: Key) -> list[str]:
        """Return the kinds and names of the cluster's worker Machines and MachinePools."""
        result = (
            item for kind in self._machines for item in kind.list_by_index(BY_CLUSTER, str(cluster))
        )
        return sorted(
            f"{item['kind']} {item['metadata']['name']}"
            for item in result
            if Label.CONTROL_PLANE not in (item["metadata"].get("labels") or {})
        )

    def _of_label(self, document: Document) -> Iterable[Key]:
        metadata = document["metadata"]
        name = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME, "")
        cluster = self._clusters.raw(Key(metadata["namespace"], name))
        return () if cluster is None else self._of(cluster)

    def _of(self, cluster: Document) -> Iterable[Key]:
        reference = (cluster.get("spec") or {}).get("controlPlaneRef") or {}
        wanted = (self._resource.group, self._resource.kind)
        if (reference.get("apiGroup"), reference.get("kind")) == wanted:
            yield Key(cluster["metadata"]["namespace"], reference["name"])


class InfrastructureTemplates:
    """Maps a new infrastructure template to the control planes that clone it.

    Such a control plane waits for the template. Later changes are ignored, because a template's
    spec is immutable.
    """

    def __init__(self, control_planes: Informer[Any]) -> None:
        self._control_planes = control_planes
        control_planes.add_index(_BY_TEMPLATE, _template_of)

    def __call__(self, change: Change) -> Iterable[Key]:
        document = change.document
        if change.old is not None or not document["kind"].endswith("Template"):
            return ()
        value = _template_text(Key.of(document), document["kind"])
        return self._control_planes.keys_by_index(_BY_TEMPLATE, value)


def _template_of(control_plane: Document) -> Iterable[str]:
    spec = (control_plane.get("spec") or {}).get("machineTemplate") or {}
    reference = (spec.get("spec") or {}).get("infrastructureRef") or {}
    if name := reference.get("name"):
        namespace = control_plane["metadata"].get("namespace", "")
        yield _template_text(Key(namespace, name), reference.get("kind", ""))


def _template_text(key: Key, kind: str) -> str:
    return f"{kind} {key}"


def _relevant_fields(cluster: Document) -> Any:
    """Return the fields of a Cluster that its control plane depends on."""
    status = cluster.get("status") or {}
    infrastructure = (status.get("initialization") or {}).get("infrastructureProvisioned")
    annotations = cluster["metadata"].get("annotations")
    return cluster.get("spec"), infrastructure, status.get("failureDomains"), annotations
