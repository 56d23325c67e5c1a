"""Logs, ports, commands and streams of an agent's Pods, for the API server's subresources."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

from kapy._aio.byte_streams import ByteStream, Channel
from kapy.apiserver.kubelet.exec import CommandStreams, RunCommand
from kapy.apiserver.kubelet.requests import LogOptions, UnsupportedByRuntime
from kapy.containers import Session
from kapy.kube.errors import BadRequest
from kapy.node_agent.container_state import ContainerState
from kapy.node_agent.pod_worker import PodWorker
from kapy.node_agent.runtime import LogQuery, NotSupported, Running

Connect = Callable[[int, ByteStream], Awaitable[None]]
"""Talks on a connection to a port until it ends."""


class PodAccess:
    """Gives clients access to the Pods of one agent: logs, ports and commands. worker: looks up the
    worker of a Pod by namespace and name.
    """

    def __init__(self, worker: Callable[[str, str], PodWorker | None]) -> None:
        self._worker = worker

    def log(
        self, namespace: str, pod: str, container: str, options: LogOptions
    ) -> AsyncIterator[bytes] | None:
        """Return the output of a container; None if this agent does not run the Pod."""
        worker = self._worker(namespace, pod)
        if worker is None:
            return None
        state = _container(worker, pod, container)
        try:
            result = _log(worker, state, options)
        except NotSupported as error:
            raise BadRequest(str(error)) from None
        if result is None:
            reason = "previous terminated container" if options.previous else "container"
            cause = state.message or state.reason
            raise BadRequest(
                f'{reason} "{state.name}" in pod "{pod}" has no log'
                + (f": {cause}" if cause and not options.previous else "")
            )
        return result

    def connect(self, namespace: str, pod: str) -> Connect | None:
        """Return a function that connects to the ports of a Pod; None if this agent does not run
        the Pod.
        """
        worker = self._worker(namespace, pod)
        if worker is None:
            return None

        async def connected(port: int, stream: ByteStream) -> None:
            running = [item.running for item in worker.containers if item.running is not None]
            if not running:
                raise ConnectionRefusedError(f"pod {pod} does not run")
            real = next((item.ports[port] for item in running if port in item.ports), port)
            await _join_streams(running[0].address, real, stream)

        return connected

    def command(self, namespace: str, pod: str, container: str) -> RunCommand | None:
        """Runs commands in a container; None if this agent does not run the Pod."""
        state = self._state(namespace, pod, container)
        if state is None:
            return None
        running = _running(
            state,
            pod,
            "has no container to enter: it runs as a process of the plane's machine; run the "
            "command there",
        )

        async def run(command: Sequence[str], streams: CommandStreams) -> int:
            return await running.run_session(command, _session(streams))

        return run

    def attachment(self, namespace: str, pod: str, container: str) -> RunCommand | None:
        """Passes on the streams of a container; None if this agent does not run the Pod."""
        state = self._state(namespace, pod, container)
        if state is None:
            return None
        running = _running(
            state,
            pod,
            "cannot be attached to: it runs as a process of the plane's machine; `kubectl logs -f` "
            "shows its output",
        )
        has_input, has_terminal = (bool(state.container.get(key)) for key in ("stdin", "tty"))

        async def attach(_: Sequence[str], streams: CommandStreams) -> int:
            session = _session(streams)
            if not has_input:
                session = replace(session, input=None)
            if not has_terminal:
                session = replace(session, tty=False, sizes=None)
            await running.attach(session)
            return 0

        return attach

    def _state(self, namespace: str, pod: str, container: str) -> ContainerState | None:
        """Return the requested container; None if this agent does not run the Pod. Raises
        BadRequest.
        """
        worker = self._worker(namespace, pod)
        return None if worker is None else _container(worker, pod, container)


def _running(state: ContainerState, pod: str, of_process: str) -> Running:
    """Return the running container of a state. of_process: why a local process does not support the
    request, for the error message. Raises BadRequest, UnsupportedByRuntime.
    """
    running = state.running
    if running is None:
        raise BadRequest(f'container "{state.name}" in pod "{pod}" does not run')
    if running.identity.startswith("process:"):
        raise UnsupportedByRuntime(f"pod {pod} {of_process}")
    return running


def _session(streams: CommandStreams) -> Session:
    return Session(
        output=streams.output,
        errors=streams.errors,
        input=streams.input,
        tty=streams.tty,
        sizes=streams.sizes,
    )


def _log(
    worker: PodWorker, state: ContainerState, options: LogOptions
) -> AsyncIterator[bytes] | None:
    """Return the log of a container, None if the Pod has not started. Raises NotSupported."""
    if worker.runtime is None:
        return None
    number = state.restarts - 1 if options.previous else state.restarts
    query = LogQuery(
        options.tail,
        options.limit,
        (lambda: state.running is not None) if options.follow else None,
        options.since,
        options.timestamps,
    )
    path = worker.folder.log(state.name, number)
    return worker.runtime.log(worker.pod, state.name, number, path, query)


def _container(worker: PodWorker, pod: str, name: str) -> ContainerState:
    """Return the state of the requested container. Raises BadRequest."""
    every = [*worker.containers, *worker.initial]
    names = " ".join(item.name for item in worker.containers)
    if not name and len(worker.containers) > 1:
        raise BadRequest(
            f"a container name must be specified for pod {pod}, choose one of: [{names}]"
        )
    result = next(
        (item for item in every if item.name == (name or worker.containers[0].name)), None
    )
    if result is None:
        raise BadRequest(f"container {name} is not valid for pod {pod}")
    return result


async def _join_streams(address: str, port: int, stream: ByteStream) -> None:
    """Copy bytes between a stream and a port until either side ends."""
    reader, writer = await asyncio.open_connection(address, port)

    async def out() -> None:
        while data := await reader.read(1 << 16):
            stream.write(data)
            if isinstance(stream, Channel):
                await stream.drain()

    async def back() -> None:
        while data := await stream.read():
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    try:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(back())
            await out()
            sending.cancel()
    except* OSError as error:
        raise error.exceptions[0] from None
    finally:
        writer.close()
