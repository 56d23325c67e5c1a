"""Find the MachinePool of a Machine, for providers of pool machines."""

from __future__ import annotations

from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import CLUSTER_GROUP
from kapy.engine.cache import Informer
from kapy.engine.failure import NotYet
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.meta import controller_of
from kapy.kube.names import split_api_version


class Pools:
    """Looks up the MachinePools of Machines. MachinePools are watched once a machine of a pool
    exists.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known: Informer[MachinePool] | None = None

    def of(self, machine: Machine) -> MachinePool | None:
        """Return the pool of the Machine, None if it has none. Raises NotYet."""
        owner = controller_of(machine)
        if owner is None or owner.kind != MachinePool.RESOURCE.kind:
            return None
        if split_api_version(owner.api_version)[0] != CLUSTER_GROUP:
            return None
        if self._known is None:
            self._known = self._runtime.cache.informer(MachinePool)
        pool = self._known.get(Key(machine.metadata.namespace, owner.name))
        if pool is None:
            raise NotYet(f"MachinePool {machine.metadata.namespace}/{owner.name} is not there")
        return pool
