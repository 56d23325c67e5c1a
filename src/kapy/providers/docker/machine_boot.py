"""Runs boot data once in a running container, and reports the result in a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kapy.api.condition import Condition
from kapy.api.names import Reason
from kapy.containers import EngineError
from kapy.kube import Key
from kapy.kube.boot import BadBootData, for_containers
from kapy.kube.duration import parse
from kapy.providers.docker import machine_conditions as told
from kapy.providers.docker.backend import machine_spec
from kapy.providers.docker.host import Host
from kapy.providers.docker.node_container import (
    BootFailed,
    boot_operations,
    has_begun,
    running_boot_operations,
)
from kapy.providers.docker.node_images import node_image
from kapy.providers.docker.tasks import Operation, Tasks
from kapy.sdk import MachineContext, Runtime
from kapy.sdk.boot import boot_plan
from kapy.sdk.workload_clusters import WorkloadClusters

BOOTSTRAP: Final = "bootstrap"
"""The name of the task."""
BOOTSTRAP_TIMEOUT: Final = 300.0

Order = MachineContext[Any]


class MachineBoot:
    """Runs boot data in containers."""

    def __init__(
        self, runtime: Runtime, host: Host, tasks: Tasks, workload: WorkloadClusters
    ) -> None:
        self._host = host
        self._tasks = tasks
        self._workload = workload
        self._events = runtime.events

    async def condition(self, context: Order, name: str) -> Condition:
        """Return the condition of a machine's boot data, and start its execution if possible."""
        if context.machine is not None and context.machine.status.node_ref is not None:
            return told.BOOTSTRAPPED
        task = self._tasks.get(context.uid, BOOTSTRAP)
        if task is None:
            try:
                operations = await self._operations(context, name)
            except BadBootData as error:
                return told.not_bootstrapped(Reason.FAILED, str(error))
            if operations is None:
                return told.WAITING_FOR_DATA
            timeout = machine_spec(context.object).bootstrap_timeout
            seconds = parse(timeout).total_seconds() if timeout else BOOTSTRAP_TIMEOUT
            task = self._tasks.start(owner_of(context), BOOTSTRAP, operations, seconds)
        if task.is_running:
            return told.not_bootstrapped(Reason.NOT_READY, str(task))
        if task.error is None:
            if context.control_plane:
                self._workload.trigger_probe(context.cluster)
            return told.BOOTSTRAPPED
        if isinstance(task.error, EngineError):
            # As after a restart of this program, operations start again unless kubeadm has begun.
            self._tasks.forget(context.uid, BOOTSTRAP)
            return told.not_bootstrapped(Reason.NOT_READY, str(task))
        if isinstance(task.error, BootFailed):
            message = f"{task.description}\nERROR: {task.error}"
            return told.not_bootstrapped(Reason.FAILED, message)
        return told.not_bootstrapped(Reason.NOT_COMPLETED, str(task))

    async def _operations(self, context: Order, name: str) -> Sequence[Operation] | None:
        """Return the operations that run boot data, or only wait for its end if an earlier program
        began to run it. None while there is no data."""
        engine = self._host.engine
        if await has_begun(engine, name):
            return running_boot_operations(engine, name)
        if not context.bootstrap_data:
            return None
        image = node_image(context.version, machine_spec(context.object).custom_image)
        rootless = (await engine.info()).is_rootless
        plan = await boot_plan(
            context.bootstrap_data,
            context.bootstrap_format,
            instance={"local_hostname": name, "instance_id": name},
            change=lambda plan: for_containers(
                plan, private_cgroups=image.has_private_cgroups, user_namespace=rootless
            ),
        )
        if plan.ignored:
            events = self._events.for_component(
                f"{context.object.RESOURCE.kind.lower()}-controller"
            )
            events.warning(context.object, told.BOOT_DATA_IGNORED, told.ignored(plan.ignored))
        return boot_operations(engine, name, plan)


def owner_of(context: Order) -> tuple[str, Key, str]:
    """Return the key by which the tasks of a machine are found."""
    return (context.object.RESOURCE.kind, context.key, context.uid)
