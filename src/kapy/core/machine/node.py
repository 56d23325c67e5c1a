"""Phase: reconcile the Node of a Machine."""

from __future__ import annotations

from kapy.api.core_v1 import NodeSwapStatus, NodeSystemInfo
from kapy.api.machine_status import MachineNodeReference
from kapy.api.names import Label
from kapy.api.template_changes import revision_of
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.machine.node_metadata import NodeMetadataInput, node_patch
from kapy.core.machine.scope import MachineScope
from kapy.engine.cache import Informer
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import NotConnected
from kapy.remote.nodes import nodes_with


class AmbiguousNode(KapyError):
    """Several Nodes have the Machine's provider ID."""


async def reconcile_node(scope: MachineScope) -> Result:
    """Find the Node by its provider ID, sync its metadata, and record its info.

    Nodes and the connection are watched, so that the Machine is enqueued when a missing Node
    appears.
    """
    machine = scope.machine
    if not machine.spec.provider_id:
        return DONE
    scope.node = find_node(scope, machine.spec.provider_id)
    match scope.node:
        case Unreadable(NotConnected()):
            return DONE
        case Unreadable(error):
            events, result = scope.dependencies.events, str(error)
            events.warning(machine, "Failed to retrieve Node by ProviderID", result)
            raise error
        case Found(node):
            await _sync_node(scope, node)
    return DONE


def find_node(scope: MachineScope, provider_id: str) -> Observed[Document]:
    """Return the Node with a provider ID from the workload cluster's cache."""
    try:
        nodes = watched_nodes(scope)
    except KapyError as error:
        return Unreadable(error)
    results = nodes_with(nodes, provider_id)
    if len(results) > 1:
        message = f"unexpectedly found more than one Node matching the providerID {provider_id}"
        return Unreadable(AmbiguousNode(message))
    return Found(results[0]) if results else Absent()


def watched_nodes(scope: MachineScope) -> Informer[Document]:
    """Return the informer of the Nodes in the Machine's cluster, whose changes enqueue their
    Machines.
    """
    dependencies = scope.dependencies
    keys = dependencies.node_keys
    return dependencies.remote.watch(dependencies.controller, scope.cluster_key, NODES, keys)


async def _sync_node(scope: MachineScope, node: Document) -> None:
    machine, name = scope.machine, node["metadata"]["name"]
    if machine.status.node_ref is None:
        machine.status.node_ref = MachineNodeReference(name=name)
        scope.dependencies.events.normal(machine, "SuccessfulSetNodeRef", name)
    machine.status.node_info = node_info(node)
    inputs = NodeMetadataInput(
        interruptible=is_interruptible(scope),
        outdated=_is_outdated(scope),
        taints=scope.dependencies.gates.machine_taint_propagation,
        synced=scope.dependencies.synced,
    )
    patch = node_patch(node, machine, inputs)
    if not patch:
        return
    client = scope.dependencies.remote.client(scope.cluster_key)
    scope.node = Found(await client.patch(NODES, Key("", name), patch))
    if inputs.interruptible and Label.INTERRUPTIBLE not in (node["metadata"].get("labels") or {}):
        scope.dependencies.events.normal(machine, "SuccessfulSetInterruptibleNodeLabel", name)


def node_info(node: Document) -> NodeSystemInfo:
    """Return `status.nodeInfo` of a Node; missing or invalid values are empty."""
    info = (node.get("status") or {}).get("nodeInfo") or {}

    def text(name: str) -> str:
        value = info.get(name)
        return value if isinstance(value, str) else ""

    swap = info.get("swap")
    capacity = swap.get("capacity") if isinstance(swap, dict) else None
    return NodeSystemInfo(
        architecture=text("architecture"),
        boot_id=text("bootID"),
        container_runtime_version=text("containerRuntimeVersion"),
        kernel_version=text("kernelVersion"),
        kube_proxy_version=text("kubeProxyVersion"),
        kubelet_version=text("kubeletVersion"),
        machine_id=text("machineID"),
        operating_system=text("operatingSystem"),
        os_image=text("osImage"),
        system_uuid=text("systemUUID"),
        swap=NodeSwapStatus(capacity) if isinstance(capacity, int) else None,
    )


def is_interruptible(scope: MachineScope) -> bool:
    """Return whether the infrastructure may terminate the machine at any time."""
    if not isinstance(scope.infrastructure, Found):
        return False
    return bool(InfraMachine.interruptible.if_readable(scope.infrastructure.view))


def _is_outdated(scope: MachineScope) -> bool:
    """Return whether the Machine's set has an old revision: its Node should get no new Pods."""
    if scope.machine_set is None or scope.deployment is None:
        return False
    return revision_of(scope.machine_set) < revision_of(scope.deployment)
