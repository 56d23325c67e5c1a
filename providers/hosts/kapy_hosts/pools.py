"""The provider of HostMachinePools, whose machines are HostMachines."""

from __future__ import annotations

from typing import ClassVar

from msgspec import convert, to_builtins

from kapy.sdk import (
    Document,
    InfraMachinePoolProvider,
    MachinePoolContext,
    PoolInstance,
    PoolMachines,
    PoolProvisioned,
    Released,
    Waiting,
    conditions,
    pool_result,
)
from kapy_hosts.kinds import HostMachine, HostMachinePool

Context = MachinePoolContext[HostMachinePool]


class Pools(InfraMachinePoolProvider[HostMachinePool]):
    """Reconciles HostMachinePools. A machine is replaced if its template has changed."""

    machine_kind: ClassVar[str] = HostMachine.RESOURCE.kind

    def __init__(self, machines: PoolMachines) -> None:
        self._machines = machines

    async def reconcile_normal(self, context: Context) -> PoolProvisioned | Waiting:
        wanted: Document = to_builtins(context.object.spec.template)
        wanted.pop("providerID", None)

        def is_current(document: Document) -> bool:
            there = to_builtins(convert(document, HostMachine).spec)
            there.pop("providerID", None)
            return bool(there == wanted)

        documents = await self._machines.ensure(context, lambda: {"spec": wanted}, is_current)
        machines = [convert(document, HostMachine) for document in documents]
        name = f"hosts-pool://{context.key.namespace}/{context.key.name}"
        return pool_result(
            context, [_instance(machine) for machine in machines], provider_id=context.object.spec.provider_id or name
        )

    async def reconcile_delete(self, context: Context) -> Released | Waiting:
        return await self._machines.delete(context)


def _instance(machine: HostMachine) -> PoolInstance:
    return PoolInstance(
        addresses=machine.status.addresses,
        instance_name=machine.metadata.name,
        provider_id=machine.spec.provider_id or None,
        ready=conditions.is_true(machine.status.conditions, "Ready"),
    )
