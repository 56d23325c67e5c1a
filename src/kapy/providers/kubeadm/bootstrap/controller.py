"""The watches of the bootstrap controller."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import ConditionType, Label
from kapy.kube import Document, Key
from kapy.providers.kubeadm.bootstrap.control_plane import ControlPlanes
from kapy.providers.kubeadm.bootstrap.reconcile import KubeadmConfigReconciler
from kapy.providers.kubeadm.bootstrap.scope import TOKEN_LIFE, Dependencies
from kapy.providers.kubeadm.bootstrap.tokens import Tokens
from kapy.remote.cluster_cache import ClusterCache
from kapy.sdk import Controller, Runtime
from kapy.sdk.boot import BootstrapSecrets, InitLock
from kapy.sdk.certificates import ClusterCertificates
from kapy.sdk.controllers import (
    AGGREGATE_DEBOUNCE,
    STATUS_DEBOUNCE,
    Change,
    own_key,
    unblocking_only,
)

_BY_CLUSTER = "kubeadmconfigs-by-cluster"


def add_to(
    runtime: Runtime,
    remote: ClusterCache,
    *,
    token_life: timedelta = TOKEN_LIFE,
    concurrency: int = 10,
) -> Controller:
    """Run the kubeadm bootstrap provider in `runtime`."""
    dependencies = Dependencies(
        runtime,
        remote,
        ClusterCertificates.of(runtime),
        InitLock.of(runtime),
        Tokens(token_life),
        BootstrapSecrets(runtime),
        ControlPlanes.of(runtime).version,
    )
    controller = Controller(
        "kubeadmconfig", KubeadmConfigReconciler(dependencies).reconcile, concurrency=concurrency
    )
    cache = runtime.cache
    configs = cache.informer(KubeadmConfig.RESOURCE)
    configs.add_index(_BY_CLUSTER, _cluster_of)

    def of_cluster(cluster: Key) -> Iterable[Key]:
        return configs.keys_by_index(_BY_CLUSTER, str(cluster))

    def of_changed_cluster(change: Change) -> Iterable[Key]:
        same = change.old is not None and change.new is not None
        if same and _relevant_fields(change.old) == _relevant_fields(change.new):
            return ()
        return of_cluster(Key.of(change.document))

    def of_machine(change: Change) -> Iterable[Key]:
        document = change.document
        if change.new is None:
            if Label.CONTROL_PLANE not in (document["metadata"].get("labels") or {}):
                return ()
            # It may have held the init lock.
            cluster = Key(document["metadata"]["namespace"], document["spec"]["clusterName"])
            return of_cluster(cluster)
        if change.old is not None and _machine_fields(change.old) == _machine_fields(document):
            return ()
        return _config_of(document["spec"], document)

    def of_pool(change: Change) -> Iterable[Key]:
        document = change.document
        if change.old is not None and _pool_fields(change.old) == _pool_fields(document):
            return ()
        return _config_of(document["spec"]["template"]["spec"], document)

    controller.watch(configs, unblocking_only(own_key), debounce=STATUS_DEBOUNCE)
    controller.watch(configs, own_key, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(cache.informer(Machine), of_machine, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(cache.informer(MachinePool), of_pool, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(cache.informer(Cluster), of_changed_cluster)
    remote.subscribe(lambda cluster: _enqueue(controller, of_cluster(cluster)))
    return runtime.add(controller, configs)


def _enqueue(controller: Controller, keys: Iterable[Key]) -> None:
    for key in keys:
        controller.enqueue(key)


def _config_of(spec: Document, of: Document) -> Iterable[Key]:
    """The KubeadmConfig that a machine spec of `of` names."""
    reference = (spec.get("bootstrap") or {}).get("configRef") or {}
    if reference.get("kind") == KubeadmConfig.RESOURCE.kind:
        yield Key(of["metadata"]["namespace"], reference["name"])


def _cluster_of(config: Document) -> Iterable[str]:
    metadata = config["metadata"]
    name = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME)
    return (str(Key(metadata["namespace"], name)),) if name else ()


def _relevant_fields(cluster: Document | None) -> Any:
    """Return the fields of a Cluster that affect a KubeadmConfig."""
    assert cluster is not None
    status = cluster.get("status") or {}
    initialized = [
        condition["status"]
        for condition in status.get("conditions") or []
        if condition["type"] == ConditionType.CONTROL_PLANE_INITIALIZED
    ]
    infrastructure = (status.get("initialization") or {}).get("infrastructureProvisioned")
    return cluster.get("spec"), initialized, infrastructure


def _machine_fields(machine: Document) -> Any:
    """Return the fields of a Machine that affect its KubeadmConfig."""
    return machine["spec"], (machine.get("status") or {}).get("nodeRef")


def _pool_fields(pool: Document) -> Any:
    """Return the fields of a MachinePool that affect its KubeadmConfig."""
    return pool["spec"], (pool.get("status") or {}).get("nodeRefs")
