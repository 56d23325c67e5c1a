"""Logs, ports and commands of an agent's Pods, for the API server's subresources."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from kapy._aio.byte_streams import ByteStream, Channel
from kapy.apiserver.kubelet.exec import CommandStreams, RunCommand
from kapy.apiserver.kubelet.requests import LogOptions, UnsupportedByRuntime
from kapy.containers import Session
from kapy.kube.errors import BadRequest
from kapy.node_agent.container_state import ContainerState
from kapy.node_agent.pod_worker import PodWorker
from kapy.node_agent.runtime import LogQuery, NotSupported

Connect = Callable[[int, ByteStream], Awaitable[None]]
"""Talks on a connection to a port until it ends."""


class PodAccess:
    """The Pods of one agent. worker: looks up a Pod's worker by name and namespace."""

    def __init__(self, worker: Callable[[str, str], PodWorker | None]) -> None:
        self._worker = worker

    def log(
        self, namespace: str, pod: str, container: str, options: LogOptions
    ) -> AsyncIterator[bytes] | None:
        """The output of a container; None if this agent does not run the Pod."""
        worker = self._worker(namespace, pod)
        if worker is None:
            return None
        state = _container(worker, pod, container)
        try:
            found = _log(worker, state, options)
        except NotSupported as error:
            raise BadRequest(str(error)) from None
        if found is None:
            reason = "previous terminated container" if options.previous else "container"
            told = state.message or state.reason
            raise BadRequest(
                f'{reason} "{state.name}" in pod "{pod}" has no log'
                + (f": {told}" if told and not options.previous else "")
            )
        return found

    def connect(self, namespace: str, pod: str) -> Connect | None:
        """Connects to the ports of a Pod; None if this agent does not run it."""
        worker = self._worker(namespace, pod)
        if worker is None:
            return None

        async def connected(port: int, stream: ByteStream) -> None:
            running = [one.running for one in worker.containers if one.running is not None]
            if not running:
                raise ConnectionRefusedError(f"pod {pod} does not run")
            real = next((one.ports[port] for one in running if port in one.ports), port)
            await _joined(running[0].address, real, stream)

        return connected

    def command(self, namespace: str, pod: str, container: str) -> RunCommand | None:
        """Runs commands in a container; None if this agent does not run the Pod."""
        worker = self._worker(namespace, pod)
        if worker is None:
            return None
        state = _container(worker, pod, container)
        running = state.running
        if running is None:
            raise BadRequest(f'container "{state.name}" in pod "{pod}" does not run')
        if running.identity.startswith("process:"):
            raise UnsupportedByRuntime(
                f"pod {pod} has no container to enter: it runs as a process of the plane's "
                "machine; run the command there"
            )

        async def run(command: Sequence[str], streams: CommandStreams) -> int:
            session = Session(
                output=streams.output,
                errors=streams.errors,
                input=streams.input,
                tty=streams.tty,
                sizes=streams.sizes,
            )
            return await running.attach(command, session)

        return run


def _log(
    worker: PodWorker, state: ContainerState, options: LogOptions
) -> AsyncIterator[bytes] | None:
    """Raises NotSupported."""
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
    """The requested container. Raises BadRequest."""
    every = [*worker.containers, *worker.initial]
    names = " ".join(one.name for one in worker.containers)
    if not name and len(worker.containers) > 1:
        raise BadRequest(
            f"a container name must be specified for pod {pod}, choose one of: [{names}]"
        )
    found = next((one for one in every if one.name == (name or worker.containers[0].name)), None)
    if found is None:
        raise BadRequest(f"container {name} is not valid for pod {pod}")
    return found


async def _joined(address: str, port: int, stream: ByteStream) -> None:
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
