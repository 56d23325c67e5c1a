"""Compute the plan: the writes that change the current state into the desired state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_pool import MachinePool
from kapy.contract.control_plane import ControlPlane
from kapy.core.topology.errors import name_failed_step
from kapy.core.topology.intent import undecided_endpoint_paths
from kapy.core.topology.planning import Parts, Plan, Planned, PlannedDeletion
from kapy.core.topology.scope import Dependencies
from kapy.engine.cache import Informer
from kapy.kube import Document
from kapy.kube.meta import Object, to_document
from kapy.kube.model import encode
from kapy.kube.names import Resource
from kapy.kube.nested import with_values
from kapy.kube.patch.merge_patch import difference
from kapy.topology.blueprint import Blueprint
from kapy.topology.names import control_plane_prefix, next_name, worker_prefix
from kapy.topology.state import ClusterState, MachineDeploymentState, MachinePoolState
from kapy.topology.upgrade_tracker import UpgradeTracker


async def plan_of(
    dependencies: Dependencies,
    blueprint: Blueprint,
    current: ClusterState,
    desired: ClusterState,
    upgrades: UpgradeTracker,
) -> Plan:
    """Return the plan of all writes. Nothing is written before it is complete. Raises
    CannotReconcile if the server refuses a part of it, and the client's errors.

    Objects that wait for their turn in an upgrade are not in the plan.
    """
    maker = _PlanBuilder(dependencies, blueprint, current, desired, upgrades)
    return Plan(
        infrastructure=await maker.infrastructure(),
        control_plane=await maker.control_plane(),
        cluster=cluster_patch(current.cluster, desired.cluster),
        deployments=await maker.deployments(),
        pools=await maker.pools(),
        deletions=maker.deletions(),
    )


def cluster_patch(current: Cluster, desired: Cluster) -> Document:
    """Return the merge patch of the Cluster: its references, labels and annotations; {} without a
    change.
    """
    before, after = (
        {
            "metadata": {
                "labels": cluster.metadata.labels,
                "annotations": cluster.metadata.annotations,
            },
            "spec": {
                name: encode(ref)
                for name, ref in (
                    ("infrastructureRef", cluster.spec.infrastructure_ref),
                    ("controlPlaneRef", cluster.spec.control_plane_ref),
                )
                if ref is not None
            },
        }
        for cluster in (current, desired)
    )
    return difference(before, after)


class _PlanBuilder:
    """Computes the parts of one plan."""

    def __init__(
        self,
        dependencies: Dependencies,
        blueprint: Blueprint,
        current: ClusterState,
        desired: ClusterState,
        upgrades: UpgradeTracker,
    ) -> None:
        self._dependencies = dependencies
        self._planner = dependencies.planner
        self._blueprint = blueprint
        self._current = current
        self._desired = desired
        self._upgrades = upgrades
        self._cluster = current.cluster

    async def infrastructure(self) -> Planned:
        desired = self._desired.infrastructure_cluster
        assert desired is not None
        unsaid = undecided_endpoint_paths(desired)
        return await self._planner.object(self._current.infrastructure_cluster, desired, *unsaid)

    async def control_plane(self) -> Parts:
        current, desired = self._current.control_plane, self._desired.control_plane
        parts = Parts(
            health_check=await self._health_check(
                current.machine_health_check, desired.machine_health_check
            )
        )
        if self._upgrades.control_plane.pending:
            return parts  # written now, it would roll out its machines twice
        wanted = desired.object
        assert wanted is not None
        if desired.infrastructure_machine_template is not None:
            template = await self._planner.template(
                current.infrastructure_machine_template,
                desired.infrastructure_machine_template,
                self._next_name(control_plane_prefix(self._cluster.metadata.name)),
            )
            parts.dependencies.append(template)
            path = ControlPlane.infrastructure_ref.path(self._blueprint.control_plane.contract)
            name = template.intent["metadata"]["name"]
            wanted = with_values(wanted, {(*path.split("."), "name"): name})
        unsaid = undecided_endpoint_paths(wanted)
        parts.object = await self._planner.object(current.object, wanted, *unsaid)
        return parts

    async def deployments(self) -> dict[str, Parts]:
        result = {}
        for name, desired in self._desired.machine_deployments.items():
            current = self._current.machine_deployments.get(name)
            if current is None:
                if name not in self._upgrades.machine_deployments.pending_create:
                    with name_failed_step("failed to create MachineDeployment"):
                        result[name] = await self._deployment(name, None, desired)
                continue
            who = f"MachineDeployment {current.object.key}"
            with name_failed_step(f"failed to reconcile {who}"):
                result[name] = await self._deployment(name, current, desired)
        return result

    async def _deployment(
        self, name: str, current: MachineDeploymentState | None, desired: MachineDeploymentState
    ) -> Parts:
        parts = Parts(
            health_check=await self._health_check(
                current.machine_health_check if current else None, desired.machine_health_check
            )
        )
        waiting = self._upgrades.machine_deployments.pending
        if current and (current.object.deleting or current.object.metadata.name in waiting):
            return parts
        next_ = self._next_name(worker_prefix(self._cluster.metadata.name, name))
        assert desired.infrastructure_machine_template is not None
        assert desired.bootstrap_template is not None
        infrastructure = await self._planner.template(
            current.infrastructure_machine_template if current else None,
            desired.infrastructure_machine_template,
            next_,
        )
        bootstrap = await self._planner.template(
            current.bootstrap_template if current else None,
            desired.bootstrap_template,
            next_,
            any_kind=True,
        )
        parts.dependencies = [infrastructure, bootstrap]
        wanted = with_values(
            to_document(desired.object),
            {
                _INFRASTRUCTURE_NAME: infrastructure.intent["metadata"]["name"],
                _BOOTSTRAP_NAME: bootstrap.intent["metadata"]["name"],
            },
        )
        there = _raw(self._dependencies.fleet.deployments, current.object if current else None)
        parts.object = await self._planner.own(MachineDeployment.RESOURCE, there, wanted)
        return parts

    async def pools(self) -> dict[str, Parts]:
        result = {}
        for name, desired in self._desired.machine_pools.items():
            current = self._current.machine_pools.get(name)
            if current is None:
                if name not in self._upgrades.machine_pools.pending_create:
                    with name_failed_step("failed to create MachinePool"):
                        result[name] = await self._pool(None, desired)
                continue
            waiting = self._upgrades.machine_pools.pending
            if current.object.deleting or current.object.metadata.name in waiting:
                continue
            with name_failed_step(f"failed to reconcile MachinePool {current.object.key}"):
                result[name] = await self._pool(current, desired)
        return result

    async def _pool(self, current: MachinePoolState | None, desired: MachinePoolState) -> Parts:
        infrastructure, bootstrap = (
            desired.infrastructure_machine_pool_object,
            desired.bootstrap_object,
        )
        assert infrastructure is not None
        assert bootstrap is not None
        there = _raw(self._dependencies.fleet.pools, current.object if current else None)
        return Parts(
            dependencies=[
                await self._planner.object(
                    current.infrastructure_machine_pool_object if current else None, infrastructure
                ),
                await self._planner.object(
                    current.bootstrap_object if current else None, bootstrap
                ),
            ],
            object=await self._planner.own(
                MachinePool.RESOURCE, there, to_document(desired.object)
            ),
        )

    def deletions(self) -> list[Parts]:
        """Return the workers that were removed from the topology, with their health checks."""
        objects, desired = self._dependencies.fleet, self._desired
        return [
            Parts(
                object=_deletion(
                    MachineDeployment.RESOURCE, objects.deployments, deployment.object
                ),
                health_check=self._health_check_deletion(deployment.machine_health_check),
            )
            for name, deployment in self._current.machine_deployments.items()
            if name not in desired.machine_deployments
        ] + [
            Parts(object=_deletion(MachinePool.RESOURCE, objects.pools, pool.object))
            for name, pool in self._current.machine_pools.items()
            if name not in desired.machine_pools
        ]

    async def _health_check(
        self, current: MachineHealthCheck | None, desired: MachineHealthCheck | None
    ) -> Planned | PlannedDeletion | None:
        if desired is None:
            return self._health_check_deletion(current)
        there = _raw(self._dependencies.health_checks, current)
        return await self._planner.own(MachineHealthCheck.RESOURCE, there, to_document(desired))

    def _health_check_deletion(self, current: MachineHealthCheck | None) -> PlannedDeletion | None:
        if current is None:
            return None
        return _deletion(MachineHealthCheck.RESOURCE, self._dependencies.health_checks, current)

    def _next_name(self, prefix: str) -> Callable[[str, Document], str]:
        return partial(next_name, prefix, self._cluster)


def _raw(informer: Informer[Document], of: Object | None) -> Document | None:
    return None if of is None else informer.raw(of.key)


def _deletion(
    resource: Resource, informer: Informer[Document], of: Object
) -> PlannedDeletion | None:
    """Return the deletion of an object, unless it is in deletion already."""
    document = None if of.deleting else _raw(informer, of)
    return None if document is None else PlannedDeletion(resource, document)


_TEMPLATE: Final = ("spec", "template", "spec")
_INFRASTRUCTURE_NAME: Final = (*_TEMPLATE, "infrastructureRef", "name")
_BOOTSTRAP_NAME: Final = (*_TEMPLATE, "bootstrap", "configRef", "name")
