"""The watches of the control plane controller."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import CONTROL_PLANE_GROUP, Label
from kapy.kube import Document, Key
from kapy.kube.names import GroupKind
from kapy.providers.kubeadm.controlplane.adoption import is_adoptable
from kapy.providers.kubeadm.controlplane.dependencies import (
    BY_CLUSTER,
    CONDITIONS_GRACE,
    CertificateExpiry,
    Dependencies,
    MachineUpdates,
)
from kapy.providers.kubeadm.controlplane.etcd import EtcdDial
from kapy.providers.kubeadm.controlplane.reconcile import KubeadmControlPlaneReconciler
from kapy.remote.cluster_cache import ClusterCache
from kapy.remote.secrets import has_purpose_suffix
from kapy.sdk import Controller, Runtime
from kapy.sdk.certificates import ClusterCertificates, Kubeconfigs
from kapy.sdk.contracts import External
from kapy.sdk.controllers import (
    AGGREGATE_DEBOUNCE,
    STATUS_DEBOUNCE,
    Change,
    own_key,
    owner_keys,
    unblocking_only,
)
from kapy.sdk.machine_control_plane import InfrastructureTemplates, MachineFactory

_KIND = KubeadmControlPlane.RESOURCE.kind
_OWNER = GroupKind(CONTROL_PLANE_GROUP, _KIND)


def add_to(
    runtime: Runtime,
    remote: ClusterCache,
    *,
    etcd_dial: EtcdDial,
    certificate_expiry: CertificateExpiry | None = None,
    grace: timedelta = CONDITIONS_GRACE,
    concurrency: int = 10,
    updates: MachineUpdates | None = None,
) -> Controller:
    """Run the kubeadm control plane provider in `runtime`. etcd_dial: connects to the etcd beside
    an API server. certificate_expiry: reads the expiry of an API server's certificate; without it
    no rollout happens before the expiry. grace: the time for which the last known health is shown
    after the connection to a workload cluster was lost. updates: decides which Machines can be
    updated in place; None disables in-place updates.
    """
    external = External(runtime.client, runtime.cache)
    certificates = ClusterCertificates.of(runtime)
    dependencies = Dependencies(
        runtime=runtime,
        remote=remote,
        certificates=certificates,
        kubeconfigs=Kubeconfigs(runtime, certificates),
        external=external,
        etcd_dial=etcd_dial,
        recorder=runtime.events.for_component("kubeadmcontrolplane-controller"),
        certificate_expiry=certificate_expiry,
        factory=MachineFactory(
            runtime, external, KubeadmControlPlane.RESOURCE, KubeadmConfig.RESOURCE
        ),
        grace=grace,
        updates=updates,
    )
    cache = runtime.cache
    for resource in (Machine.RESOURCE, MachinePool.RESOURCE):
        cache.informer(resource).add_index(BY_CLUSTER, _cluster_of)
    controller = Controller(
        "kubeadmcontrolplane",
        KubeadmControlPlaneReconciler(dependencies).reconcile,
        concurrency=concurrency,
    )
    dependencies.controller = controller
    wake = _Mappers(runtime)
    control_planes, machines = cache.informer(KubeadmControlPlane), cache.informer(Machine)
    noting, result = dependencies.steady_states.count_changes, dependencies.steady_states.increment
    controller.watch(control_planes, noting(unblocking_only(own_key)), debounce=STATUS_DEBOUNCE)
    controller.watch(control_planes, noting(own_key), debounce=AGGREGATE_DEBOUNCE)
    controller.watch(machines, noting(unblocking_only(wake.of_machine)), debounce=STATUS_DEBOUNCE)
    controller.watch(machines, noting(wake.of_machine), debounce=AGGREGATE_DEBOUNCE)
    controller.watch(cache.informer(KubeadmConfig), noting(wake.of_config))
    controller.watch(cache.informer(MachinePool), noting(wake.of_pool))
    controller.watch(cache.informer(Cluster), noting(wake.of_cluster))
    controller.watch(remote.secrets, noting(wake.of_secret))
    external.wake(controller, noting(InfrastructureTemplates(control_planes)))
    cache.informer(Cluster).subscribe(partial(_forget_kubeconfig, dependencies))
    remote.subscribe(lambda cluster: _enqueue(controller, result(wake.of_key(cluster))))
    return runtime.add(controller, control_planes)


class _Mappers:
    """Maps changed objects to the control planes to reconcile."""

    def __init__(self, runtime: Runtime) -> None:
        self._clusters = runtime.cache.informer(Cluster.RESOURCE)
        self._control_planes = runtime.cache.informer(KubeadmControlPlane.RESOURCE)
        self._owners = owner_keys(_OWNER)

    def of_key(self, cluster: Key) -> Iterable[Key]:
        document = self._clusters.raw(cluster)
        return _control_plane_of(document) if document is not None else ()

    def of_cluster(self, change: Change) -> Iterable[Key]:
        old, new = change.old, change.new
        if old is not None and new is not None and _relevant_fields(old) == _relevant_fields(new):
            return ()
        return _control_plane_of(change.document)

    def of_machine(self, change: Change) -> Iterable[Key]:
        """Map a Machine to its owner. A deleted worker is mapped to the control plane whose
        deletion waits for it, and an unowned Machine to the one that can adopt it.
        """
        yield from self._owners(change)
        document = change.document
        is_nobodys = _is_of_control_plane(document) and is_adoptable(document)
        if is_nobodys:
            yield from self._of_cluster_of(document)
        elif change.new is None:
            yield from self._deleted_with(document)

    def of_config(self, change: Change) -> Iterable[Key]:
        """Map a KubeadmConfig of a control plane Machine to the control plane if, after its boot
        data was created, its spec was changed or it lost an annotation.
        """
        old, new = change.old, change.new
        if old is None or new is None or not _is_of_control_plane(new):
            return ()
        initialization = (old.get("status") or {}).get("initialization") or {}
        if not initialization.get("dataSecretCreated"):
            return ()
        annotations = new["metadata"].get("annotations") or {}
        former = old["metadata"].get("annotations") or {}
        if old.get("spec") == new.get("spec") and former.items() <= annotations.items():
            return ()
        return self._of_label(new)

    def of_pool(self, change: Change) -> Iterable[Key]:
        """Map a deleted MachinePool to the control plane, whose deletion may wait for the last
        pool."""
        return self._deleted_with(change.document) if change.new is None else ()

    def _deleted_with(self, document: Document) -> Iterable[Key]:
        """Return the control plane of an object's cluster if it is being deleted."""
        for key in self._of_cluster_of(document):
            control_plane = self._control_planes.raw(key)
            if control_plane is None or control_plane["metadata"].get("deletionTimestamp"):
                yield key

    def _of_cluster_of(self, document: Document) -> Iterable[Key]:
        namespace, name = document["metadata"]["namespace"], document["spec"]["clusterName"]
        return self.of_key(Key(namespace, name))

    def of_secret(self, change: Change) -> Iterable[Key]:
        """Map a certificate or kubeconfig that was created, deleted or replaced."""
        metadata, old, new = change.document["metadata"], change.old, change.new
        if not has_purpose_suffix(metadata["name"]):
            return ()
        if old is not None and new is not None and old.get("data") == new.get("data"):
            return ()
        return self._of_label(change.document)

    def _of_label(self, document: Document) -> Iterable[Key]:
        metadata = document["metadata"]
        name = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME, "")
        return self.of_key(Key(metadata["namespace"], name))


def _enqueue(controller: Controller, keys: Iterable[Key]) -> None:
    for key in keys:
        controller.enqueue(key)


def _forget_kubeconfig(dependencies: Dependencies, change: Change) -> None:
    if change.new is None:
        dependencies.cache.kubeconfigs.pop(Key.of(change.document), None)


def _control_plane_of(cluster: Document) -> Iterable[Key]:
    reference = cluster["spec"].get("controlPlaneRef") or {}
    if reference.get("kind") == _KIND:
        yield Key(cluster["metadata"]["namespace"], reference["name"])


def _is_of_control_plane(machine: Document) -> bool:
    return Label.CONTROL_PLANE in (machine["metadata"].get("labels") or {})


def _cluster_of(document: Document) -> Iterable[str]:
    """The key of the cluster that a Machine or MachinePool is labelled with."""
    metadata = document["metadata"]
    name = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME)
    return (str(Key(metadata["namespace"], name)),) if name else ()


def _relevant_fields(cluster: Document) -> Any:
    """Return the fields of a Cluster that affect its control plane."""
    status = cluster.get("status") or {}
    infrastructure = (status.get("initialization") or {}).get("infrastructureProvisioned")
    return (
        cluster.get("spec"),
        infrastructure,
        status.get("failureDomains"),
        cluster["metadata"].get("annotations"),
    )
