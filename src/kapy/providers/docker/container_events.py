"""Map events of containers to the objects to reconcile."""

from __future__ import annotations

from collections.abc import Mapping

from kapy.api.cluster import Cluster
from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine
from kapy.api.docker_cluster import DockerCluster
from kapy.api.docker_machine import DockerMachine
from kapy.containers import Container
from kapy.kube import Key
from kapy.providers.docker.backend import is_docker
from kapy.providers.docker.containers import CLUSTER_LABEL, LOAD_BALANCER, ROLE_LABEL, provider_id
from kapy.sdk import Controller, Runtime


class ContainerEvents:
    """Enqueues infrastructure objects: that of a cluster when its load balancer starts or ends, and
    that of a machine when its container starts or ends. controllers: the controllers by the kind
    that they reconcile.
    """

    def __init__(self, runtime: Runtime, controllers: Mapping[str, Controller]) -> None:
        self._controllers = controllers
        self._clusters = runtime.cache.informer(Cluster)
        self._infra = {
            kind.RESOURCE.kind: runtime.cache.informer(kind.RESOURCE)
            for kind in (DevCluster, DockerCluster)
        }
        self._machines = {
            kind.RESOURCE.kind: runtime.cache.informer(kind.RESOURCE)
            for kind in (DevMachine, DockerMachine)
        }

    def __call__(self, container: Container | None) -> None:
        """Enqueue the objects of a container. container: None if events were lost."""
        if container is None or container.labels.get(ROLE_LABEL) == LOAD_BALANCER:
            self._wake_clusters(container)
        if container is None or container.labels.get(ROLE_LABEL) != LOAD_BALANCER:
            self._wake_machines(container)

    def _wake_clusters(self, container: Container | None) -> None:
        name = None if container is None else container.labels.get(CLUSTER_LABEL)
        for cluster in self._clusters.list():
            reference = cluster.spec.infrastructure_ref
            if reference is None or name not in (None, cluster.metadata.name):
                continue
            if (infra := self._infra.get(reference.kind)) is None:
                continue
            key = Key(cluster.metadata.namespace, reference.name)
            document = infra.raw(key)
            if document is not None and is_docker(document):
                self._controllers[reference.kind].enqueue(key)

    def _wake_machines(self, container: Container | None) -> None:
        wanted = None if container is None else provider_id(container.name)
        for kind, informer in self._machines.items():
            for document in informer.list():
                spec = document.get("spec") or {}
                if is_docker(document) and wanted in (None, spec.get("providerID")):
                    self._controllers[kind].enqueue(Key.of(document))
