"""Execute a plan: infrastructure, control plane, the Cluster itself, then its workers.

New objects have an owner before the Cluster itself owns them: the shim, a Secret. If the Cluster is
deleted before it refers to its infrastructure and control plane, they are deleted with the shim,
which the Cluster owns from the beginning.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress

from kapy.api.cluster import Cluster
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import SECRET_TYPE
from kapy.client.client import Client
from kapy.contract.control_plane import ControlPlane
from kapy.contract.templates import SUFFIX
from kapy.core.topology.errors import CannotReconcile, creation_error
from kapy.core.topology.intent import MANAGER
from kapy.core.topology.planning import Parts, Plan, Planned, PlannedDeletion
from kapy.core.topology.scope import Dependencies
from kapy.kube import Document, Key
from kapy.kube.errors import REFUSED, AlreadyExists, ApiError, KapyError, NotFound
from kapy.kube.meta import owner_reference, read
from kapy.kube.model import encode
from kapy.kube.names import SECRETS
from kapy.kube.nested import value_at
from kapy.topology.names import shim_name
from kapy.topology.state import ClusterState

log = logging.getLogger(__name__)

CREATED, UPDATED, DELETED = "TopologyCreate", "TopologyUpdate", "TopologyDelete"
_CLUSTER_VERSION = tuple(ControlPlane.version.path().split("."))
_WORKERS_VERSION = ("spec", "template", "spec", "version")


class Writer:
    """Executes one plan, and records events of the Cluster."""

    def __init__(self, dependencies: Dependencies, current: ClusterState) -> None:
        self._dependencies = dependencies
        self._client = dependencies.client
        self._current = current
        self._cluster = current.cluster

    async def write(self, plan: Plan) -> None:
        """Execute the plan of one Cluster. Raises CannotReconcile and the client's errors.
        Dependencies of a refused object are deleted; other results stay and are found by the next
        reconcile.
        """
        await _release_shim(self._client, self._current)
        control_plane = plan.control_plane.object
        assert not isinstance(control_plane, PlannedDeletion)
        await _own_new_objects(self._client, self._cluster, plan.infrastructure, control_plane)
        await self._apply(plan.infrastructure)
        failure = await self._control_plane(plan)
        await self._write_cluster(plan.cluster)
        if failure is not None:
            raise failure
        for part in (*plan.deployments.values(), *plan.pools.values()):
            await self._workers(part)
        for part in plan.deletions:
            await self._workers(part)

    async def _control_plane(self, plan: Plan) -> KapyError | None:
        """Write the control plane; return its error if the Cluster still has to refer to its new
        infrastructure.
        """
        try:
            await self._health_check(plan.control_plane)
            await self._parts(plan.control_plane, _CLUSTER_VERSION)
        except KapyError as error:
            if not plan.infrastructure.creates:
                raise
            if self._current.control_plane.object is None:
                plan.cluster.get("spec", {}).pop("controlPlaneRef", None)
            return error
        for dependency in plan.control_plane.dependencies:
            if dependency.replaces is not None:
                await self._delete_replaced(dependency)
        return None

    async def _workers(self, parts: Parts) -> None:
        """Write one MachineDeployment or MachinePool with its dependencies and its health check. A
        health check is written after its object is created, but before it is changed.
        """
        new = isinstance(parts.object, Planned) and parts.object.creates
        if not new:
            await self._health_check(parts)
        await self._parts(parts, _WORKERS_VERSION)
        if new:
            await self._health_check(parts)

    async def _parts(self, parts: Parts, version: tuple[str, ...]) -> None:
        if isinstance(parts.object, PlannedDeletion):
            await self._delete(parts.object, self._cluster)
            return
        result: list[Planned] = []
        try:
            for dependency in parts.dependencies:
                await self._apply(dependency)
                if dependency.creates:
                    result.append(dependency)
            if parts.object is not None:
                await self._apply(parts.object, version)
        except KapyError as error:
            if isinstance(error.__cause__ or error, REFUSED):
                await self._clean_up(result)
            raise

    async def _health_check(self, parts: Parts) -> None:
        check = parts.health_check
        if isinstance(check, PlannedDeletion):
            await self._delete(check, read(check.document, MachineHealthCheck))
        elif check is not None and check.is_change:
            written = await self._write(check)
            word, reason = ("Created", CREATED) if check.creates else ("Updated", UPDATED)
            self._dependencies.events.normal(
                read(written, MachineHealthCheck), reason, f"{word} {_object_name(written)}"
            )

    async def _apply(self, planned: Planned, version: tuple[str, ...] | None = None) -> None:
        if not planned.is_change:
            return
        written = await self._write(planned)
        if planned.creates:
            text, reason = f"Created {_object_name(written)}", CREATED
            if planned.replaces is not None:
                replaced = planned.replaces["metadata"]["name"]
                text += f' as a replacement for "{replaced}" (template rotation)'
        else:
            text, reason = (
                f"Updated {_object_name(written)}{_event_text(planned, version)}",
                UPDATED,
            )
        self._dependencies.events.normal(self._cluster, reason, text)

    async def _write(self, planned: Planned) -> Document:
        client, resource, intent = self._client, planned.resource, planned.intent
        try:
            return await client.apply(resource, intent, field_manager=MANAGER)
        except ApiError as error:
            if planned.creates:
                raise creation_error(intent, error) from error
            who = f"{intent['kind']} {Key.of(intent)}"
            raise CannotReconcile(f"failed to patch {who}: {error}") from error

    async def _write_cluster(self, patch: Document) -> None:
        if not patch.get("metadata") and not patch.get("spec"):
            return
        await self._client.patch(Cluster.RESOURCE, self._cluster.key, patch)
        text = f'Updated Cluster "{self._cluster.key}"'
        self._dependencies.events.normal(self._cluster, UPDATED, text)

    async def _delete(self, doomed: PlannedDeletion, about: Cluster | MachineHealthCheck) -> None:
        metadata = doomed.document["metadata"]
        with suppress(NotFound):
            await self._client.delete(doomed.resource, Key.of(doomed.document), uid=metadata["uid"])
        self._dependencies.events.normal(about, DELETED, f"Deleted {_object_name(doomed.document)}")

    async def _delete_replaced(self, planned: Planned) -> None:
        """Delete the control plane's former template, which has no other users. (A worker template
        is deleted with the last MachineSet that uses it.)
        """
        replaced = planned.replaces
        assert replaced is not None
        try:
            await self._client.delete(
                planned.resource, Key.of(replaced), uid=replaced["metadata"]["uid"]
            )
        except NotFound:
            return
        except KapyError as error:
            who = f"{replaced['kind']} {Key.of(replaced)}"
            raise CannotReconcile(f"failed to delete old {who}: {error}") from error

    async def _clean_up(self, created: Iterable[Planned]) -> None:
        """Delete created objects; those that cannot be deleted now are deleted with the Cluster."""
        for planned in created:
            try:
                await self._client.delete(planned.resource, Key.of(planned.intent))
            except NotFound:
                continue
            except KapyError as error:
                log.warning(
                    "%s %s is left behind: %s",
                    planned.intent["kind"],
                    Key.of(planned.intent),
                    error,
                )


def _object_name(document: Document) -> str:
    return f'{document["kind"]} "{Key.of(document)}"'


def _event_text(planned: Planned, version: tuple[str, ...] | None) -> str:
    if planned.intent["kind"].endswith(SUFFIX):
        return " (metadata changes)"  # a changed spec would create another template
    if version is None:
        return ""
    before, after = value_at(planned.current, version), value_at(planned.intent, version)
    if not before or not after or before == after:
        return ""
    return f" with version change from {before} to {after}"


async def _own_new_objects(client: Client, cluster: Cluster, *planned: Planned | None) -> None:
    """Make the shim an owner of the objects to be created."""
    new = [element for element in planned if element is not None and element.creates]
    if not new:
        return
    owner = encode(owner_reference(await _shim(client, cluster)))
    for item in new:
        metadata = item.intent["metadata"]
        owners = [*(metadata.get("ownerReferences") or ()), owner]
        item.intent = {**item.intent, "metadata": {**metadata, "ownerReferences": owners}}


async def _release_shim(client: Client, current: ClusterState) -> None:
    """Delete the shim once the Cluster owns everything."""
    infrastructure, control_plane = current.infrastructure_cluster, current.control_plane.object
    if infrastructure is None or control_plane is None:
        return
    cluster = current.cluster
    name, both = shim_name(cluster.metadata.name), (infrastructure, control_plane)
    if not any(_has_owner(item, "Secret", name) for item in both):
        return
    if all(_has_owner(item, "Cluster", cluster.metadata.name) for item in both):
        try:
            await client.delete(SECRETS, Key(cluster.metadata.namespace, name))
        except NotFound:
            return


async def _shim(client: Client, cluster: Cluster) -> Document:
    key = Key(cluster.metadata.namespace, shim_name(cluster.metadata.name))
    shim: Document = {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "ownerReferences": [encode(owner_reference(cluster))],
        },
        "type": SECRET_TYPE,
    }
    try:
        return await client.create(SECRETS, shim)
    except AlreadyExists:
        return await client.get(SECRETS, key)


def _has_owner(document: Document, kind: str, name: str) -> bool:
    owners = document["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == kind and owner["name"] == name for owner in owners)
