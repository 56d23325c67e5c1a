"""Runs one Pod that is bound to the agent's Node: from its volumes to the end of its containers."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, NotFound, Unreachable
from kapy.kube.names import PODS
from kapy.node_agent.container_loop import ContainerLoop
from kapy.node_agent.container_state import ContainerState, Policy
from kapy.node_agent.full_disk import DISK_FULL, is_disk_full
from kapy.node_agent.host import Host
from kapy.node_agent.lifecycle_hooks import stop_container
from kapy.node_agent.pod_folder import PodFolder
from kapy.node_agent.pod_inputs import FAILURES, PodInputs
from kapy.node_agent.runtime import ContainerConfig, Exit, Runtime
from kapy.node_agent.status_reporter import STOPPED, StatusReporter
from kapy.node_agent.supported import unsupported_fields


class Signal:
    """Wakes all waiters; a notification between two waits of the same waiter is not lost."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        """Wake all waiters."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the next notification."""
        await self._event.wait()


_log = logging.getLogger(__name__)

REFRESH_SECONDS: Final = 30.0
"""The interval between looks at tokens. A timer: a token expires with time."""
RETRY_SECONDS: Final = 2.0
ADMIT_SECONDS: Final = 5.0
"""The interval between looks for a runtime. A timer: a container engine does not tell that it is
there."""
FAILED: Final = "ContainerCannotRun"
"""The reason of a waiting container whose agent failed."""
MAX_STOP_SECONDS: Final = 10.0
"""Seconds that containers have to end when the agent itself does."""


class PodWorker:
    """The worker of one Pod. `run` ends when the Pod and all of its processes, containers and files
    are gone."""

    def __init__(self, pod: Document, host: Host) -> None:
        self._pod = pod
        self._host = host
        self.folder = PodFolder(host.folder, pod)
        self._news = Signal()
        self._deleted = asyncio.Event()
        self._reporter = StatusReporter(pod, host)
        self._inputs = PodInputs(pod, host, self.folder)
        self.initial = self._reporter.initial
        self.containers = self._reporter.containers
        self.runtime: Runtime | None = None

    @property
    def pod(self) -> Document:
        """The last known state of the Pod."""
        return self._pod

    @property
    def key(self) -> Key:
        return Key.of(self._pod)

    @property
    def uid(self) -> str:
        return str(self._pod["metadata"]["uid"])

    def update(self, pod: Document | None) -> None:
        """Store a new state of the Pod; None means that it was deleted."""
        if pod is not None:
            self._pod = self._reporter.pod = self._inputs.pod = pod
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            self._deleted.set()

    def notify(self) -> None:
        """Handle a change of an object that the Pod refers to."""
        self._news.notify()

    async def run(self) -> None:
        """Run the Pod until it is deleted; when cancelled, stop its containers and keep the Pod."""
        self.update(self._pod)
        async with asyncio.TaskGroup() as group:
            reporting = group.create_task(self._reporter.run())
            life = group.create_task(self._run())
            try:
                await self._deleted.wait()
                seconds = self._grace()
            except asyncio.CancelledError:
                life.cancel()
                with suppress(TimeoutError):  # the engine does not answer
                    async with asyncio.timeout(MAX_STOP_SECONDS + 2):
                        await self._stop(min(self._grace(), MAX_STOP_SECONDS))
                reporting.cancel()
                await self._report_stopped()
                raise
            life.cancel()
            await asyncio.wait([life])
            await self._stop(seconds)
            reporting.cancel()
        await self._remove()

    async def delete(self, *, within: float) -> None:
        """Wait until the Pod is deleted, at most so many seconds."""
        self.update(self._pod)
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._deleted.wait()

    async def fail(self, error: Exception, pause: float) -> None:
        """Stop the containers after an internal error of the agent, and report it in the status."""
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        with suppress(Exception):  # the same error may occur again
            async with asyncio.timeout(MAX_STOP_SECONDS + 2):
                await self._stop(min(self._grace(), MAX_STOP_SECONDS))
        for item in self._reporter.states:
            if item.ended is None:
                item.set_waiting(
                    FAILED,
                    f"the node agent failed ({type(cause).__name__}: {cause}) and tries it again "
                    f"in {pause:.0f} s; this is a defect of kapy: `kapy logs` has the details",
                )
        await self._reporter.write()

    def _grace(self) -> float:
        meta = self._pod["metadata"]
        seconds = meta.get("deletionGracePeriodSeconds")
        if seconds is None:
            seconds = self._pod["spec"].get("terminationGracePeriodSeconds")
        return float(30 if seconds is None else seconds)

    async def _stop(self, seconds: float) -> None:
        """Stop all containers. seconds: the grace period."""
        async with asyncio.TaskGroup() as group:
            for item in self._reporter.states:
                if item.running is not None:
                    group.create_task(stop_container(item.container, item.running, seconds))

    async def _report_stopped(self) -> None:
        """Write a status that stays true while no agent runs the Pod."""
        for item in self.containers:
            if item.ended is None:
                item.set_waiting(STOPPED, "the plane that ran it was stopped, and starts it again")
        await self._reporter.write()

    async def _remove(self) -> None:
        """Finish the Pod's deletion, and delete its files."""
        if self.runtime is not None:
            await self.runtime.forget(self._pod)
        await asyncio.get_running_loop().run_in_executor(None, self.folder.remove)
        options: Document = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": self.uid},
        }
        path = PODS.path(self.key.namespace, self.key.name)
        while True:
            try:
                await self._host.client.raw("DELETE", path, body=options)
                return
            except NotFound:
                return
            except ApiError as error:
                if error.code == 409:  # another Pod has this name by now
                    return
                _log.warning("pod %s cannot be deleted: %s", self.key, error)
            except Unreachable as error:
                _log.warning("pod %s cannot be deleted: %s", self.key, error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _run(self) -> None:
        """Run the containers with a runtime, and switch when a preferred one can run the Pod (a
        program in place of its image)."""
        while True:
            runtime = self.runtime = await self._admit()
            async with asyncio.TaskGroup() as group:
                living = group.create_task(self._run_with(runtime))
                other = group.create_task(self._wait_for_runtime_change(runtime))
                await asyncio.wait([living, other], return_when=asyncio.FIRST_COMPLETED)
                replaced = other.done()
                living.cancel()
                other.cancel()
            if not replaced:
                return
            await self._stop(self._grace())
            await runtime.forget(self._pod)

    async def _wait_for_runtime_change(self, runtime: Runtime) -> None:
        """Wait until a preferred runtime accepts the Pod."""
        earlier = list(itertools.takewhile(lambda item: item is not runtime, self._host.runtimes))
        while True:
            await self._news.wait()
            for item in earlier:
                if not await item.refusal(self._pod):
                    return

    async def _run_with(self, runtime: Runtime) -> None:
        if runtime.other_users:
            self._inputs.share()
        await self._prepare()
        policy: Policy = self._pod["spec"].get("restartPolicy") or "Always"
        async with asyncio.TaskGroup() as group:
            fresh = group.create_task(self._refresh_regularly())
            before: Policy = "OnFailure" if policy == "Always" else policy
            initialized = await self._is_initialized(runtime)
            for state in self.initial:
                if initialized:
                    state.set_terminated(Exit(0, "Completed", self._host.clock()), for_good=True)
                    continue
                await self._loop(state, runtime, before).run()
                if state.ended is None or state.ended.code:
                    for item in self.containers:
                        item.set_waiting("PodInitializing")
                    fresh.cancel()
                    return
            for state in self.containers:
                group.create_task(self._loop(state, runtime, policy).run())

    async def _is_initialized(self, runtime: Runtime) -> bool:
        """Return whether the first container runs, as an earlier agent has started it: then the
        init containers had ended, and do not run again beside it.
        """
        first = self.containers[0]
        if not self.initial or not first.ran:
            return False
        return await self._loop(first, runtime, "Always").is_running()

    def _loop(self, state: ContainerState, runtime: Runtime, policy: Policy) -> ContainerLoop:
        async def configure(restarts: int) -> ContainerConfig:
            result = await self._inputs.configuration(state, runtime, restarts)
            self._reporter.address = self._inputs.address
            return result

        return ContainerLoop(
            self._pod, state, runtime, configure, self._news.wait, policy, self.folder.path
        )

    async def _admit(self) -> Runtime:
        """Return the runtime of the Pod; waits until one accepts it."""
        wrong = unsupported_fields(self._pod)
        if wrong:
            self._reporter.wait(
                "UnsupportedField", f"this node does not support {', '.join(wrong)}"
            )
            await asyncio.get_running_loop().create_future()
        while True:
            refusals = []
            for runtime in self._host.runtimes:
                refusal = await runtime.refusal(self._pod)
                if not refusal:
                    return runtime
                refusals.append(refusal)
            self._reporter.wait("NoRuntime", _remedy(self._pod, refusals))
            await self._wait_for_change(ADMIT_SECONDS)

    async def _prepare(self) -> None:
        """Prepare the volumes; wait for their sources."""
        await self._inputs.read()
        while True:
            try:
                await self._inputs.refresh()
                return
            except FAILURES as error:
                reason = DISK_FULL if is_disk_full(error) else "ContainerCreating"
                self._reporter.wait(reason, self._inputs.reason(error))
            await self._wait_for_change(RETRY_SECONDS)

    async def _refresh_regularly(self) -> None:
        """Keep volumes and tokens up to date."""
        while True:
            await self._wait_for_change(REFRESH_SECONDS)
            trouble = ""
            try:
                await self._inputs.refresh()
            except FAILURES as error:
                _log.warning("volumes of pod %s: %s", self.key, error)
                if expired := self._inputs.expired:
                    trouble = f"{expired} and cannot be renewed: {self._inputs.reason(error)}"
            self._reporter.doubt(trouble)

    async def _wait_for_change(self, seconds: float) -> None:
        """Wait for a notification, or for so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return


def _remedy(pod: Document, refusals: Sequence[str]) -> str:
    labels = pod["metadata"].get("labels") or {}
    name = labels.get("cluster.x-k8s.io/provider") or "TYPE-NAME"
    reason = "; ".join(refusals)
    return (
        f"nothing runs this Pod here: {reason}; or run the program of its container with "
        f"`kapy run provider {name} -- PATH`, or `kapy init --run {name}=PATH`"
    )
