"""The operations of a container engine that kapy needs; errors are clear sentences."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from kapy.containers.archive import NoFile, archive_of, first_file
from kapy.containers.commands import Tail, run_command
from kapy.containers.connection import Connection, stream_timeout
from kapy.containers.errors import (
    AmbiguousName,
    AnswerTooLarge,
    EngineError,
    ImageUnavailable,
    NoSuchObject,
    check_image_name,
)
from kapy.containers.events import follow_events
from kapy.containers.pull_progress import PullProgress
from kapy.containers.records import (
    CommandResult,
    Container,
    EngineInfo,
    File,
    Image,
    Network,
    container_of,
    engine_info_of,
    event_container_of,
    image_of,
    listed_container_of,
    network_of,
    volume_of,
)
from kapy.containers.responses import cooperate
from kapy.containers.sessions import (
    Session,
    attach_session,
    follow_output,
    read_logs,
    run_session,
    run_with_whole_input,
)

if TYPE_CHECKING:
    from aiodocker import Docker

EVENTS: Final = ("start", "die", "died", "destroy", "remove")
"""Events for containers that start or end, with Docker's names and with Podman's.

Podman cannot filter by a label without a value, so labels are checked here.
"""

LARGEST_FILE: Final = 32 << 20
"""The maximum size in bytes of a file that is read as a whole."""
LARGEST_IMAGE: Final = 64 << 30
"""The maximum size in bytes of an image that is copied from the engine."""

Progress = Callable[[str], None]
"""Receives the progress of a pull as one line."""


class Engine(Connection):
    """A client for the operations of one container engine. Every operation raises a subclass of
    EngineError.
    """

    async def info(self) -> EngineInfo:
        """Return the engine's properties; they are requested once."""
        if self._info is None:
            async with self.engine_call("ask for the engine's state") as library:
                result = await library.system.info()
                self._info = engine_info_of(result, await library.version())
        return self._info

    # Containers

    async def containers(
        self, labels: Mapping[str, str] | None = None, *, name: str = ""
    ) -> Sequence[Container]:
        """Return all containers with these labels ("" for any value), running or not, sorted by
        name.

        name: a regular expression for the engine's name filter.
        """
        wanted = [f"{key}={value}" if value else key for key, value in (labels or {}).items()]
        filters: dict[str, list[str]] = {"label": wanted} if wanted else {}
        if name:
            filters["name"] = [name]
        async with self.engine_call("list containers") as library:
            result = await library.containers.list(all="true", filters=json.dumps(filters))
            containers = [listed_container_of(item._container) for item in result]
        return sorted(containers, key=lambda item: item.name)

    async def container(self, name: str) -> Container | None:
        """Return the container of that name or ID, None where there is none."""
        try:
            async with self.engine_call(f"look at container {name}") as library:
                return container_of(await library.containers.container(name).show())
        except NoSuchObject:
            return None

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        """Create a container from the engine's own configuration; returns its ID."""
        async with self.engine_call(f"create container {name}") as library:
            result = await library.containers.create(dict(config), name=name)
            return str(result.id)

    async def start(self, name: str) -> None:
        """Start a container; no effect if it is running."""
        async with self.engine_call(f"start container {name}") as library:
            await library.containers.container(name).start()

    async def kill(self, name: str, signal: str = "SIGKILL") -> None:
        """Send a signal to the first process of a container."""
        async with self.engine_call(f"send {signal} to container {name}") as library:
            await library.containers.container(name).kill(signal=signal)

    async def stop(self, name: str, seconds: float) -> None:
        """Stop a container, and kill it after so many seconds; returns when it has ended.

        No effect if it is not running.
        """
        async with self.engine_call(f"stop container {name}") as library:
            await library.containers.container(name).stop(t=math.ceil(seconds))

    async def wait(self, name: str) -> int:
        """Wait for the end of a container; returns its exit code."""
        async with self.engine_call(f"wait for container {name}") as library:
            ended = await library.containers.container(name).wait()
            return int(ended["StatusCode"])

    async def memory(self, name: str) -> int:
        """Return the memory use of a container in bytes, without the file cache; 0 if unknown."""
        async with self.engine_call(f"ask for the memory of container {name}") as library:
            (result,) = await library.containers.container(name).stats(stream=False)
            stats = result.get("memory_stats") or {}
            cache = (stats.get("stats") or {}).get("inactive_file") or 0
            return max(int(stats.get("usage") or 0) - int(cache), 0)

    async def remove(self, name: str) -> bool:
        """Remove a container and its volumes, even if it is running; False if it did not exist."""
        has_volume = (await self.info()).is_podman
        try:
            async with self.engine_call(f"remove container {name}") as library:
                await library.containers.container(name).delete(force=True, v=True)
        except NoSuchObject:
            return False
        finally:
            if has_volume:
                await self._remove_volume(volume_of(name))
        return True

    async def _remove_volume(self, name: str) -> None:
        with suppress(NoSuchObject):
            async with self.engine_call(f"remove volume {name}") as library:
                await library._query_json(f"volumes/{name}", method="DELETE", params={"force": "1"})

    async def put_files(self, name: str, files: Iterable[File]) -> None:
        """Write files into a container, running or not; missing folders are created.

        A tmpfs is not supported: Docker writes below it. Use `run` with input for those.
        """
        content = archive_of(files)
        async with self.engine_call(f"write files into container {name}") as library:
            container = library.containers.container(name)
            await container.put_archive("/", content)  # type: ignore[no-untyped-call]

    async def read_file(self, name: str, path: str) -> bytes:
        """Return a file of a container, running or not, of a size that fits into memory."""
        content = bytearray()
        async with self.file(name, path) as pieces:
            async for piece in pieces:
                content += piece
                if len(content) > LARGEST_FILE:
                    raise EngineError(
                        f"cannot read {path} of container {name}: it has more than "
                        f"{LARGEST_FILE >> 20} MiB"
                    )
        return bytes(content)

    def file(self, name: str, path: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A file of a container, running or not, in pieces."""

        async def read(library: Docker) -> AsyncGenerator[bytes, None]:
            async with library._query(
                f"containers/{name}/archive", params={"path": path}, timeout=stream_timeout()
            ) as response:
                try:
                    async for piece in first_file(response.content):
                        yield piece
                except NoFile:
                    raise NoSuchObject(f"{path} of container {name} is no file") from None
                finally:
                    response.close()

        return self._follow(f"read {path} of container {name}", read)

    async def logs(self, name: str, *, lines: int = 200) -> str:
        """Return the last lines of a container's output, up to 1 MiB."""
        tail = Tail(1 << 20)
        async with self.output(name, tail=lines) as pieces:
            async for piece in pieces:
                tail.add(piece)
        return tail.text()

    async def run(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes | BinaryIO = b"",
        environment: Mapping[str, str] | None = None,
        privileged: bool = True,
    ) -> CommandResult:
        """Run a command in a container to its end.

        stdin: its whole input; the container then needs a shell and `head`. privileged: whether the
        command gets more rights than the container.
        """
        what = f"run {command[0]} in container {name}"
        async with self.engine_call(what) as library:
            container = library.containers.container(name)
            return await run_command(
                container, command, stdin, environment or {}, privileged=privileged
            )

    async def run_session(self, name: str, command: Sequence[str], session: Session) -> int:
        """Run a command with the user's input and output; returns its exit code.

        Over TLS the end of the input cannot be signalled during the command, so the input is read
        completely first, and the container needs a shell and `head`.
        """
        async with self.engine_call(f"run {command[0]} in container {name}") as library:
            container = library.containers.container(name)
            if session.input is None or session.tty or not library.docker_host.startswith("https"):
                return await run_session(container, command, session)
            return await run_with_whole_input(container, command, session)

    async def attach(self, name: str, session: Session) -> None:
        """Connect the user's input and output with the first process of a container, until it ends.
        The process reads the input only if the container has `OpenStdin`.
        """
        async with self.engine_call(f"attach to container {name}") as library:
            await attach_session(library.containers.container(name), session)

    def follow_command(
        self, name: str, command: Sequence[str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The output of a command while the context is open; the command ends with it.

        The container needs a shell and `cat`.
        """
        return self._follow(
            f"run {command[0]} in container {name}",
            lambda library: follow_output(library.containers.container(name), command),
        )

    def output(
        self,
        name: str,
        *,
        follow: bool = False,
        tail: int | None = None,
        since: float = 0.0,
        timestamps: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The output of a container's first process, in pieces, while the context is open.

        tail: the number of lines, None for all. since: Unix time. timestamps: prefix each line.
        """
        query = {"follow": follow, "tail": "all" if tail is None else str(tail), "since": since}
        if timestamps:
            query["timestamps"] = timestamps
        return self._follow(
            f"read the logs of container {name}", lambda library: read_logs(library, name, query)
        )

    @asynccontextmanager
    async def _follow(
        self, operation: str, read: Callable[[Docker], AsyncGenerator[bytes, None]]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        async def stream() -> AsyncGenerator[bytes, None]:
            # Outside of `engine_call`: an error of the caller is not one of the engine.
            async with self.engine_call(operation) as library, aclosing(read(library)) as pieces:
                async for piece in pieces:
                    yield piece

        async with aclosing(stream()) as pieces:
            yield pieces

    # Images

    async def has_image(self, image: str) -> bool:
        """Return whether the engine has an image."""
        return await self.image(image) is not None

    async def image(self, image: str) -> Image | None:
        """Return an image by its name, None if the engine does not have it."""
        try:
            async with self.engine_call(f"look for image {image}") as library:
                return image_of(await library.images.inspect(check_image_name(image)))
        except (NoSuchObject, ImageUnavailable):
            return None

    async def file_of_image(self, image: str, path: str) -> bytes:
        """Return a file of an image that the engine has."""
        name = f"kapy-reads-{secrets.token_hex(6)}"
        await self.create(name, {"Image": image})
        try:
            return await self.read_file(name, path)
        finally:
            await self.remove(name)

    async def ensure_image(self, image: str, progress: Progress | None = None) -> None:
        """Pull an image unless the engine has it."""
        if not await self.has_image(image):
            await self.pull(image, progress)

    async def pull(
        self,
        image: str,
        progress: Progress | None = None,
        *,
        login: Mapping[str, str] | None = None,
    ) -> None:
        """Pull an image from its registry. progress: called with each line about the progress.
        login: the `username` and `password` for the registry."""
        name = check_image_name(image)
        pull_progress = PullProgress(image)
        auth = None if login is None else dict(login)
        async with self.engine_call(f"pull image {image}", pulls=image) as library:
            async for item in cooperate(library.images.pull(name, auth=auth, stream=True)):
                line = pull_progress.update(item)
                if line and progress is not None:
                    progress(line)

    async def load(self, archive: BinaryIO) -> None:
        """Load the images of an archive (`docker save`) into the engine."""
        async with self.engine_call("load an image archive") as library:
            async for _ in cooperate(library.images.import_image(archive, stream=True)):
                pass  # progress messages of each layer are ignored

    def save(self, image: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The archive of an image, in pieces."""

        async def read(library: Docker) -> AsyncGenerator[bytes, None]:
            async with library.images.export_image(check_image_name(image)) as content:
                size = 0
                async for piece in content.iter_chunked(1 << 20):
                    size += len(piece)
                    if size > LARGEST_IMAGE:
                        raise AnswerTooLarge(f"has more than {LARGEST_IMAGE >> 30} GiB")
                    yield piece

        return self._follow(f"save image {image}", read)

    async def follow(self, label: str, on_container: Callable[[Container], None]) -> None:
        """Call `on_container` with each container that has a label and starts or ends, until the
        engine closes the connection.

        The containers have only name, labels and, as state, the last action.
        """
        filters = {"type": ["container"], "event": EVENTS}

        def of_label(event: Mapping[str, Any]) -> None:
            container = event_container_of(event)
            if label in container.labels:
                on_container(container)

        async with self.engine_call("follow events") as library:
            await follow_events(library, filters, of_label)

    # Networks

    async def network(self, name: str) -> Network | None:
        """Return the network of that name, None where there is none."""
        try:
            return await self._network(name)
        except AmbiguousName:
            await self._remove_duplicates(name)
            return await self._network(name)
        except NoSuchObject:
            return None

    async def create_network(self, name: str, config: Mapping[str, Any]) -> None:
        """Create a network; no effect if one of that name exists.

        If two programs create it at the same time, Docker makes two networks of that name.
        """
        async with self.engine_call(f"create network {name}") as library:
            await library.networks.create({**config, "Name": name, "CheckDuplicate": True})
        await self._remove_duplicates(name)

    async def _network(self, name: str) -> Network:
        async with self.engine_call(f"look at network {name}") as library:
            network = await library.networks.get(name)
            return network_of(await network.show())

    async def _remove_duplicates(self, name: str) -> None:
        """Keep one of several networks with the same name: all programs choose the same one,
        preferably one in use."""
        for item in (await self._networks_of(name))[1:]:
            with suppress(EngineError):  # it is in use, or another program has removed it
                async with self.engine_call(f"remove network {item}") as library:
                    await (await library.networks.get(item)).delete()

    async def _networks_of(self, name: str) -> Sequence[str]:
        """Return the IDs of the networks of a name: those with containers first, then by ID."""
        result: list[tuple[int, str]] = []
        async with self.engine_call(f"look for networks {name}") as library:
            filters = {"name": [name]}
            ids = [
                str(item["Id"])
                for item in await library.networks.list(filters=filters)
                if item["Name"] == name
            ]
            if len(ids) < 2:
                return ids
        for item in ids:
            with suppress(NoSuchObject):  # another program has removed it
                async with self.engine_call(f"look at network {item}") as library:
                    shown = await (await library.networks.get(item)).show()
                    result.append((-len(shown.get("Containers") or ()), item))
        return [item for _, item in sorted(result)]

    async def remove_network(self, name: str) -> bool:
        """Remove a network; False if it is gone."""
        try:
            if await self.network(name) is None:  # one of several networks of that name may remain
                return False
            async with self.engine_call(f"remove network {name}") as library:
                network = await library.networks.get(name)
                await network.delete()
        except NoSuchObject:
            return False
        return True
