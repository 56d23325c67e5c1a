"""Finds machines by name, with the objects that consoles need."""

from __future__ import annotations

from kapy.api.machine import Machine
from kapy.client.client import Client
from kapy.client.kinds import Kinds
from kapy.clusterctl.errors import ClusterctlError
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.sdk.console import MachineTarget


class NoMachine(ClusterctlError):
    """There is no such Machine, or it has no infrastructure object."""


async def machine_target(client: Client, key: Key) -> MachineTarget:
    """Return a Machine and its infrastructure object. Raises NoMachine, ApiError."""
    try:
        machine = await client.get(Machine.RESOURCE, key)
    except NotFound:
        raise NoMachine(
            f"there is no Machine {key.name} in namespace {key.namespace}; "
            "`kubectl get machines -A` lists the Machines that there are"
        ) from None
    return await target_of(client, machine)


async def target_of(client: Client, machine: Document) -> MachineTarget:
    """Return a Machine with its infrastructure object. Raises NoMachine, ApiError."""
    key = Key.of(machine)
    reference = (machine.get("spec") or {}).get("infrastructureRef") or {}
    group, kind = str(reference.get("apiGroup", "")), str(reference.get("kind", ""))
    resource = await Kinds(client).preferred(group, kind)
    if resource is None:
        raise NoMachine(
            f"Machine {key} has infrastructure of kind {kind} ({group}), which the management "
            "cluster does not serve: install its provider"
        )
    try:
        infra = await client.get(resource, Key(key.namespace, str(reference.get("name", ""))))
    except NotFound:
        raise NoMachine(
            f"{kind} {reference.get('name')}, the infrastructure of Machine {key}, is not there"
        ) from None
    return MachineTarget(machine=machine, infra=infra)
