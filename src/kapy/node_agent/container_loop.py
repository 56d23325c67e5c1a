"""The lifecycle of one container: start, probes, restarts, and its end with the Pod."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from kapy.kube import Document
from kapy.node_agent.container_state import Backoff, ContainerState, Policy, restarts
from kapy.node_agent.full_disk import DISK_FULL, disk_trouble, full_disk, is_disk_full
from kapy.node_agent.lifecycle_hooks import run_post_start, stop_container
from kapy.node_agent.log_files import termination_message
from kapy.node_agent.probes import Probe
from kapy.node_agent.runtime import ContainerConfig, Exit, Running, Runtime, StartFailed
from kapy.node_agent.sources import MissingSource

_log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 1.0
"""The interval between looks at the file that a program was started from. A timer: files cannot be
watched in a portable way."""

PULL_FAILED: Final = "ErrImagePull"
IMAGE_PULL_BACKOFF: Final = "ImagePullBackOff"

Configure = Callable[[int], Awaitable[ContainerConfig]]
"""The configuration of the container at its start of this number. Raises MissingSource, OSError,
StartFailed."""


class ContainerLoop:
    """One container of a Pod. on_change: set when the inputs of its Pod have changed. folder: the
    agent's folder of the Pod."""

    def __init__(
        self,
        pod: Document,
        state: ContainerState,
        runtime: Runtime,
        configure: Configure,
        on_change: Callable[[], Awaitable[None]],
        policy: Policy,
        folder: Path,
    ) -> None:
        self._pod = pod
        self._state = state
        self._runtime = runtime
        self._configure = configure
        self._changed = on_change
        self._policy = policy
        self._folder = folder
        self._backoff = Backoff()
        self._probes = {
            name: Probe(state.container, state.container[name])
            for name in ("startupProbe", "livenessProbe", "readinessProbe")
            if state.container.get(name)
        }
        self._stopped = ""
        """The reason for which the agent itself ended the container."""
        self._anew = False
        """Whether the agent ended it to start it again at once."""
        self._fresh = False
        """Whether this agent has started it, so that its postStart hook is to be run."""
        self._log: Path | None = None

    async def run(self) -> None:
        """Run until the container has ended for good."""
        running = await self._find()
        if running is None and self._state.ran:
            self._state.restarts += 1
        while True:
            self._fresh = running is None
            if running is None:
                running = await self._start()
            self._state.set_running(running)
            exit_ = await self._watch(running)
            again = restarts(self._policy, exit_.code) or bool(self._stopped)
            ran = (exit_.at - running.started).total_seconds()
            running = None
            self._state.set_terminated(exit_, for_good=not again)
            if not again:
                return
            await self._pause(exit_, ran)
            self._state.restarts += 1

    async def is_running(self) -> bool:
        """Return whether it runs, as an earlier agent has started it."""
        return await self._find() is not None

    async def _find(self) -> Running | None:
        try:
            config = await self._configure(self._state.restarts)
            self._log = config.log
            return await self._runtime.find(config)
        except (MissingSource, OSError, StartFailed):
            return None

    async def _start(self) -> Running:
        """Start the container; wait for missing inputs such as a Secret."""
        while True:
            try:
                config = await self._configure(self._state.restarts)
                self._log = config.log
                return await self._runtime.start(config)
            except MissingSource as error:
                self._state.set_waiting("CreateContainerConfigError", str(error))
                await self._changed()
            except (StartFailed, OSError) as error:
                reason = error.reason if isinstance(error, StartFailed) else "CreateContainerError"
                message = error.strerror if isinstance(error, OSError) else str(error)
                if is_disk_full(error):
                    reason, message = DISK_FULL, full_disk(self._folder)
                self._state.set_waiting(reason, str(message or error))
                pause = self._backoff.pause(0.0)
                if pause and reason == PULL_FAILED:
                    self._state.set_waiting(
                        IMAGE_PULL_BACKOFF, f"back-off {pause:g}s pulling image: {error}"
                    )
                await self._retry(pause or 1.0)

    async def _retry(self, pause: float) -> None:
        """Wait for a change, or so many seconds (a timer, because the host sends no events)."""
        try:
            async with asyncio.timeout(pause):
                await self._changed()
        except TimeoutError:
            return

    async def _pause(self, exit_: Exit, ran: float) -> None:
        """Wait before the next start, if it is not the first."""
        stopped, anew = self._stopped, self._anew
        self._stopped, self._anew = "", False
        pause = 0.0 if anew else self._backoff.pause(ran)
        if not pause:
            return
        how = stopped or exit_.message or f"it ended with code {exit_.code}"
        line = exit_.said or (termination_message(self._log) if self._log is not None else "")
        said = f"; its last words: {line}" if line else ""
        if full := disk_trouble(self._folder):  # a full disk may be the cause, and leaves no log
            said += f"; {full}"
        self._state.set_waiting(
            "CrashLoopBackOff",
            f"back-off {pause:g}s restarting failed container={self._state.name}: {how}{said}",
        )
        await asyncio.sleep(pause)

    async def _watch(self, running: Running) -> Exit:
        """Probe the container until it ends."""
        seconds = float(self._pod["spec"].get("terminationGracePeriodSeconds") or 30)
        async with asyncio.TaskGroup() as group:
            health = group.create_task(self._probe(running, seconds))
            exit_ = await running.ended()
            health.cancel()
        return exit_

    async def _probe(self, running: Running, seconds: float) -> None:
        """Store the probe results; stop the container if it must be restarted."""
        if self._fresh and (why := await run_post_start(self._state.container, running)):
            self._stopped = why
            await stop_container(self._state.container, running, seconds)
            return
        if "startupProbe" not in self._probes:
            self._state.set_health(started=True, ready="readinessProbe" not in self._probes)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch_configuration(running, seconds))
            if "startupProbe" in self._probes:
                await self._liveness(running, "startupProbe", seconds, until_well=True)
                self._state.set_health(started=True, ready="readinessProbe" not in self._probes)
            for name in ("livenessProbe", "readinessProbe"):
                if name in self._probes:
                    group.create_task(self._run_probe(running, name, seconds))

    async def _run_probe(self, running: Running, name: str, seconds: float) -> None:
        if name == "livenessProbe":
            await self._liveness(running, name, seconds, until_well=False)
        else:
            await self._readiness(running)

    async def _liveness(
        self, running: Running, name: str, seconds: float, *, until_well: bool
    ) -> None:
        """Stop the container when a probe has failed too often in a row."""
        probe, failed = self._probes[name], 0
        await asyncio.sleep(probe.delay)
        while True:
            outcome = await probe.run(running)
            failed = 0 if outcome.well else failed + 1
            if outcome.well and until_well:
                return
            if failed >= probe.failures:
                self._stopped = f"{name} failed: {outcome.message}"
                _log.warning("container %s: %s", self._state.name, self._stopped)
                await stop_container(self._state.container, running, seconds)
                return
            await asyncio.sleep(probe.period)

    async def _readiness(self, running: Running) -> None:
        probe, run, ready = self._probes["readinessProbe"], 0, False
        await asyncio.sleep(probe.delay)
        while True:
            well = (await probe.run(running)).well
            run = run + 1 if well != ready else 0
            if run >= (probe.successes if well else probe.failures):
                ready, run = well, 0
            self._state.set_health(started=True, ready=ready)
            await asyncio.sleep(probe.period if ready else min(probe.period, 1.0))

    async def _watch_configuration(self, running: Running, seconds: float) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self._state.set_trouble(running.trouble())
            self._state.set_ports(running.ports)  # a program may bind at any time
            reason = running.outdated()
            if reason:
                self._stopped, self._anew = reason, True
                _log.info("container %s is started anew: %s", self._state.name, reason)
                await stop_container(self._state.container, running, seconds)
                return
