"""Reads the current state of a cluster: the objects that a topology created, and whether worker
groups are still upgrading.

A worker group is upgrading while any of its machines runs another Kubernetes version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.contract.control_plane import ControlPlane
from kapy.contract.external import External
from kapy.contract.templates import SUFFIX
from kapy.core.topology.errors import CannotReconcile, name_failed_step
from kapy.core.topology.scope import Dependencies, Workloads
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.kube.names import NODES, GroupKind, split_api_version
from kapy.kube.selectors import selector_of
from kapy.remote.cluster_cache import NotConnected
from kapy.topology.blueprint import Blueprint
from kapy.topology.state import (
    ClusterState,
    ControlPlaneState,
    MachineDeploymentState,
    MachinePoolState,
)


async def current_state(
    dependencies: Dependencies, blueprint: Blueprint, cluster: Cluster
) -> ClusterState:
    """Return all objects of the cluster's topology. Raises CannotReconcile."""
    reader = _StateReader(dependencies, blueprint, cluster)
    return ClusterState(
        cluster=cluster,
        infrastructure_cluster=await reader.infrastructure(),
        control_plane=await reader.control_plane(),
        machine_deployments=await reader.machine_deployments(),
        machine_pools=await reader.machine_pools(),
    )


class _StateReader:
    def __init__(self, dependencies: Dependencies, blueprint: Blueprint, cluster: Cluster) -> None:
        self._dependencies = dependencies
        self._blueprint = blueprint
        self._cluster = cluster
        self._namespace = cluster.metadata.namespace

    async def infrastructure(self) -> Document | None:
        ref, template = (
            self._cluster.spec.infrastructure_ref,
            self._blueprint.infrastructure_cluster_template,
        )
        if ref is None:
            return None
        with name_failed_step(f"failed to read {ref.kind} {self._namespace}/{ref.name}"):
            document = await self._referenced_object(ref, template, is_template=False)
        _check_owned(document, f"Cluster {self._cluster.key}")
        return document

    async def control_plane(self) -> ControlPlaneState:
        ref, of_class = self._cluster.spec.control_plane_ref, self._blueprint.control_plane
        if ref is None:
            return ControlPlaneState()
        with name_failed_step(f"failed to read {ref.kind} {self._namespace}/{ref.name}"):
            document = await self._referenced_object(ref, of_class.template, is_template=False)
        _check_owned(document, f"Cluster {self._cluster.key}")
        if of_class.infrastructure_machine_template is None:
            return ControlPlaneState(document)
        who = f"{document['kind']} {Key.of(document)}"
        with name_failed_step(f"failed to get InfrastructureMachineTemplate for {who}"):
            view = ControlPlane(document, await self._dependencies.external.contract(document))
            template_ref = ControlPlane.infrastructure_ref.require(view)
            template = await self._referenced_object(
                template_ref, of_class.infrastructure_machine_template
            )
        _check_owned(template, who)
        return ControlPlaneState(document, template, self._health_check(Key.of(document)))

    async def machine_deployments(self) -> dict[str, MachineDeploymentState]:
        topology, result = self._blueprint.topology, dict[str, MachineDeploymentState]()
        classes = {item.name: item.class_ for item in topology.workers.machine_deployments}
        objects = self._dependencies.fleet
        for document in objects.deployments_of(self._cluster.key):
            if not is_owned(document):
                continue
            name = _topology_name(document, Label.TOPOLOGY_DEPLOYMENT_NAME, result)
            deployment = read(document, MachineDeployment)
            state = MachineDeploymentState(
                deployment, machine_health_check=self._health_check(deployment.key)
            )
            result[name] = state
            if deployment.deleting:
                continue  # its templates may be deleted already
            bootstrap, infrastructure = await self._owned_parts(
                document, classes.get(name), self._blueprint.machine_deployments, is_template=True
            )
            state.bootstrap_template = bootstrap
            state.infrastructure_machine_template = infrastructure
            machines = objects.machines_of(self._cluster.key)
            state.is_upgrading = is_deployment_upgrading(document, machines)
        return result

    async def machine_pools(self) -> dict[str, MachinePoolState]:
        topology, result = self._blueprint.topology, dict[str, MachinePoolState]()
        classes = {
            pool_topology.name: pool_topology.class_
            for pool_topology in topology.workers.machine_pools
        }
        for document in self._dependencies.fleet.pools_of(self._cluster.key):
            if not is_owned(document):
                continue
            name = _topology_name(document, Label.TOPOLOGY_POOL_NAME, result)
            pool = read(document, MachinePool)
            state = result[name] = MachinePoolState(pool)
            if pool.deleting:
                continue  # its objects may be deleted already
            bootstrap, infrastructure = await self._owned_parts(
                document, classes.get(name), self._blueprint.machine_pools, is_template=False
            )
            state.bootstrap_object = bootstrap
            state.infrastructure_machine_pool_object = infrastructure
            state.is_upgrading = _is_pool_upgrading(
                pool, self._dependencies.remote, self._cluster.key
            )
        return result

    async def _owned_parts(
        self,
        document: Document,
        class_: str | None,
        classes: Mapping[str, Any],
        *,
        is_template: bool,
    ) -> tuple[Document, Document]:
        """Return the bootstrap and infrastructure objects of a group of workers."""
        who = f"{document['kind']} {Key.of(document)}"
        blueprint = None
        if class_ is not None:
            blueprint = classes.get(class_)
            if blueprint is None:
                raise CannotReconcile(
                    f"failed to find {document['kind']} class {class_} in ClusterClass"
                )
        spec = document["spec"]["template"]["spec"]
        parts = []
        for what, ref, template in (
            (
                "Bootstrap",
                (spec.get("bootstrap") or {}).get("configRef"),
                blueprint and blueprint.bootstrap_template,
            ),
            (
                "Infrastructure",
                spec.get("infrastructureRef"),
                blueprint and blueprint.infrastructure_template,
            ),
        ):
            if not ref:
                raise CannotReconcile(f"{who} does not have a reference to its {what}")
            with name_failed_step(f"{who} {what} reference could not be retrieved"):
                result = await self._referenced_object(
                    _typed_reference(ref), template, is_template=is_template
                )
            _check_owned(result, who)
            parts.append(result)
        return parts[0], parts[1]

    async def _referenced_object(
        self,
        ref: ContractVersionedObjectReference,
        of_class: Document | None,
        *,
        is_template: bool = True,
    ) -> Document:
        """Return the object in the version of the class's template, if it is of its kind."""
        external, key = self._dependencies.external, Key(self._namespace, ref.name)
        api_version = None
        if of_class is not None:
            group, _ = split_api_version(of_class["apiVersion"])
            kind = of_class["kind"] if is_template else of_class["kind"].removesuffix(SUFFIX)
            if (group, kind) == (ref.api_group, ref.kind):
                api_version = of_class["apiVersion"]
        if api_version is None:
            api_version = await _newest(external, ref)
        return await external.get_version(api_version, ref.kind, key)

    def _health_check(self, key: Key) -> MachineHealthCheck | None:
        """Return the health check of an object; it has the object's name."""
        document = self._dependencies.health_checks.raw(key)
        return None if document is None else read(document, MachineHealthCheck)


async def _newest(external: External, ref: ContractVersionedObjectReference) -> str:
    where = await external.resolve(GroupKind(ref.api_group, ref.kind))
    return where.resource.api_version


def _typed_reference(ref: Document) -> ContractVersionedObjectReference:
    return ContractVersionedObjectReference(
        api_group=ref.get("apiGroup", ""), kind=ref.get("kind", ""), name=ref.get("name", "")
    )


def _check_owned(document: Document, referrer: str) -> None:
    if not is_owned(document):
        who = f"{document['kind']} {Key.of(document)}"
        raise CannotReconcile(f"{who} referenced from {referrer} is not topology owned")


def _topology_name(document: Document, label: str, existing: Mapping[str, object]) -> str:
    """Return the topology name of a group of workers. Raises CannotReconcile for duplicates."""
    who = f"{document['kind']} {Key.of(document)}"
    name: str = document["metadata"]["labels"].get(label, "")
    if not name:
        raise CannotReconcile(f"failed to find label {label} in {who}")
    if name in existing:
        raise CannotReconcile(f"duplicate {who} found for label {label}: {name}")
    return name


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


def _is_pool_upgrading(pool: MachinePool, remote: Workloads, cluster: Key) -> bool:
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


def is_owned(document: Document) -> bool:
    """Return whether a topology created the object."""
    return Label.TOPOLOGY_OWNED in (document["metadata"].get("labels") or {})
