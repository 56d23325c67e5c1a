"""Check whether a worker group is still upgrading, i.e. any of its machines runs another Kubernetes
version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from kapy.api.machine_pool import MachinePool
from kapy.core.topology.errors import CannotReconcile
from kapy.kube import Document, Key
from kapy.kube.names import NODES, Resource
from kapy.kube.selectors import selector_of
from kapy.remote.cluster_cache import NotConnected


def is_deployment_upgrading(deployment: Document, machines: Iterable[Document]) -> bool:
    """Return whether a Machine of a MachineDeployment, or its Node, has another version than the
    MachineDeployment.

    machines: all Machines of the cluster. Raises CannotReconcile for a Machine without a version.
    """
    version = deployment["spec"]["template"]["spec"].get("version")
    if not version:
        return False
    name = deployment["metadata"]["name"]
    selector = selector_of(deployment["spec"]["selector"])
    for machine in machines:
        if not selector.selects(machine):
            continue
        has = machine["spec"].get("version")
        if not has:
            raise CannotReconcile(
                f"failed to check if MachineDeployment {name} is upgrading: Machine "
                f"{machine['metadata']['name']} has no version"
            )
        runs = ((machine.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion")
        if has != version or (runs and runs != version):
            return True
    return False


class Nodes(Protocol):
    """The Nodes of a workload cluster, as an informer has them."""

    def raw(self, key: Key) -> Document | None:
        """Return one Node, None if it does not exist."""
        ...


class Workloads(Protocol):
    """The part of `ClusterCache` that the topology controller uses."""

    def informer(self, cluster: Key, resource: Resource) -> Nodes:
        """Return the informer of a resource in a workload cluster. Raises NotConnected."""
        ...

    def subscribe(self, handler: Callable[[Key], None]) -> Callable[[], None]:
        """Call the handler with a cluster when its connection changes."""
        ...


def is_pool_upgrading(pool: MachinePool, remote: Workloads, cluster: Key) -> bool:
    """Return whether a Node of a MachinePool has another version than the pool. Raises
    CannotReconcile while that is unknown; the connection enqueues the Cluster.
    """
    version, refs = pool.spec.template.spec.version, pool.status.node_refs
    if not version or not refs:
        return False
    problem = f"failed to check if MachinePool {pool.metadata.name} is upgrading"
    try:
        nodes = remote.informer(cluster, NODES)
    except NotConnected as error:
        raise CannotReconcile(f"{problem}: {error}") from error
    for ref in refs:
        node = nodes.raw(Key("", ref.name))
        if node is None:
            raise CannotReconcile(f"{problem}: failed to get Node {ref.name}")
        if node["status"]["nodeInfo"]["kubeletVersion"] != version:
            return True
    return False
