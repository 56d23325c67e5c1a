"""The operations of a container engine that kapy needs; failures are clear sentences."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from kapy.containers.address import engine_address
from kapy.containers.archive import archive_of
from kapy.containers.commands import run_command
from kapy.containers.errors import (
    EngineError,
    EngineUnreachable,
    ImageUnavailable,
    NoSuchObject,
    bad_certificates,
    pull_failed,
    refused,
    unreachable,
)
from kapy.containers.events import follow_events
from kapy.containers.pulling import PullProgress
from kapy.containers.records import (
    CommandResult,
    Container,
    EngineInfo,
    File,
    Network,
    container_of,
    engine_info_of,
    event_container_of,
    listed_container_of,
    network_of,
    volume_of,
)
from kapy.containers.sessions import (
    Session,
    follow_output,
    read_logs,
    run_session,
    run_with_whole_input,
)

if TYPE_CHECKING:
    from aiodocker import Docker

CONNECT_TIMEOUT: Final = 10.0
ANSWER_TIMEOUT: Final = 120.0
"""Seconds; a busy disk makes the start of a container take most of a minute."""

EVENTS: Final = ("start", "die", "died", "destroy", "remove")
"""Events of containers that start or end, with Docker's names and with Podman's.

Podman also selects no label without a value: labels are looked at here."""

NO_CONNECTION: Final = 900
"""The status that the library gives a request that got no connection."""

Progress = Callable[[str], None]
"""Told how far a pull is, in one line."""


class Engine:
    """One container engine. Every operation raises EngineError, in the form that fits.

    address: its URL, None for the one of the Docker context in use.
    """

    def __init__(self, address: str | None) -> None:
        self.address = address or "the current Docker context"
        self._address = address
        self._library: Docker | None = None
        self._info: EngineInfo | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """The engine that the environment names. Raises EngineUnreachable."""
        return cls(engine_address(os.environ if environment is None else environment, Path.home()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections to the engine."""
        library, self._library = self._library, None
        if library is not None:
            await library.close()

    async def info(self) -> EngineInfo:
        """What the engine is; asked once."""
        if self._info is None:
            async with self._asking("ask for the engine's state") as library:
                found = await library.system.info()
                self._info = engine_info_of(found, await library.version())
        return self._info

    # Containers

    async def containers(
        self, labels: Mapping[str, str] | None = None, *, name: str = ""
    ) -> Sequence[Container]:
        """All containers with these labels ("" for any value), running or not, in order of names.

        name: a regular expression of the engine's.
        """
        wanted = [f"{key}={value}" if value else key for key, value in (labels or {}).items()]
        filters: dict[str, list[str]] = {"label": wanted} if wanted else {}
        if name:
            filters["name"] = [name]
        async with self._asking("list containers") as library:
            found = await library.containers.list(all="true", filters=json.dumps(filters))
        containers = [listed_container_of(one._container) for one in found]
        return sorted(containers, key=lambda one: one.name)

    async def container(self, name: str) -> Container | None:
        """The container of that name or ID, None where there is none."""
        try:
            async with self._asking(f"look at container {name}") as library:
                return container_of(await library.containers.container(name).show())
        except NoSuchObject:
            return None

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        """Create a container from the engine's own configuration; returns its ID."""
        async with self._asking(f"create container {name}") as library:
            made = await library.containers.create(dict(config), name=name)
        return str(made.id)

    async def start(self, name: str) -> None:
        """Start a container; nothing happens when it runs."""
        async with self._asking(f"start container {name}") as library:
            await library.containers.container(name).start()

    async def kill(self, name: str, signal: str = "SIGKILL") -> None:
        """Send a signal to the first process of a container."""
        async with self._asking(f"send {signal} to container {name}") as library:
            await library.containers.container(name).kill(signal=signal)

    async def remove(self, name: str) -> bool:
        """Remove a container and its volumes, also while it runs; False if it is gone."""
        has_volume = (await self.info()).is_podman
        try:
            async with self._asking(f"remove container {name}") as library:
                await library.containers.container(name).delete(force=True, v=True)
        except NoSuchObject:
            return False
        finally:
            if has_volume:
                await self._remove_volume(volume_of(name))
        return True

    async def _remove_volume(self, name: str) -> None:
        with suppress(NoSuchObject):
            async with self._asking(f"remove volume {name}") as library:
                await library._query_json(f"volumes/{name}", method="DELETE", params={"force": "1"})

    async def put_files(self, name: str, files: Iterable[File]) -> None:
        """Write files into a container, running or not; folders that are missing are made.

        Not into a tmpfs: Docker writes below it. Use `run` with input for those.
        """
        content = archive_of(files)
        async with self._asking(f"write files into container {name}") as library:
            container = library.containers.container(name)
            await container.put_archive("/", content)  # type: ignore[no-untyped-call]

    async def read_file(self, name: str, path: str) -> bytes:
        """A file of a container, running or not."""
        async with self._asking(f"read {path} of container {name}") as library:
            archive = await library.containers.container(name).get_archive(path)
        with archive:
            entry = next((one for one in archive if one.isfile()), None)
            content = None if entry is None else archive.extractfile(entry)
            if content is None:
                raise NoSuchObject(f"{path} of container {name} is no file")
            return content.read()

    async def logs(self, name: str, *, lines: int = 200) -> str:
        """The last lines that a container wrote."""
        async with self._asking(f"read the logs of container {name}") as library:
            found = await library.containers.container(name).log(
                stdout=True, stderr=True, tail=str(lines)
            )
        return "".join(found)

    async def run(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes | BinaryIO = b"",
        environment: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run a command in a container to its end, with privileges.

        stdin: its whole input; the container needs a shell and `head` then.
        """
        what = f"run {command[0]} in container {name}"
        async with self._asking(what) as library:
            container = library.containers.container(name)
            return await run_command(container, command, stdin, environment or {})

    async def attach(self, name: str, command: Sequence[str], session: Session) -> int:
        """Run a command with the user's input and output, with privileges; answers its exit code.

        Over TLS the end of the input cannot be told while the command runs: it is read whole
        first, and the container needs a shell and `head`.
        """
        async with self._asking(f"run {command[0]} in container {name}") as library:
            container = library.containers.container(name)
            if session.input is None or session.tty or not library.docker_host.startswith("https"):
                return await run_session(container, command, session)
            return await run_with_whole_input(container, command, session)

    def follow_command(
        self, name: str, command: Sequence[str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The output of a command while the context is open; the command ends with it.

        The container needs a shell and `cat`.
        """
        return self._followed(
            f"run {command[0]} in container {name}",
            lambda library: follow_output(library.containers.container(name), command),
        )

    def output(
        self, name: str, *, follow: bool = False, tail: int | None = None, since: float = 0.0
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """What the first process of a container wrote, in pieces, while the context is open.

        tail: the number of lines, None for all. since: in Unix time.
        """
        query = {"follow": follow, "tail": "all" if tail is None else str(tail), "since": since}
        return self._followed(
            f"read the logs of container {name}", lambda library: read_logs(library, name, query)
        )

    @asynccontextmanager
    async def _followed(
        self, what: str, read: Callable[[Docker], AsyncGenerator[bytes, None]]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        async with self._asking(what) as library, aclosing(read(library)) as pieces:
            yield pieces

    # Images

    async def has_image(self, image: str) -> bool:
        """Whether the engine has an image."""
        try:
            async with self._asking(f"look for image {image}") as library:
                await library.images.inspect(image)
        except (NoSuchObject, ImageUnavailable):
            return False
        return True

    async def file_of_image(self, image: str, path: str) -> bytes:
        """A file of an image that the engine has."""
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

    async def pull(self, image: str, progress: Progress | None = None) -> None:
        """Pull an image; progress: told in lines."""
        told = PullProgress(image)
        async with self._asking(f"pull image {image}", pulls=image) as library:
            async for item in library.images.pull(image, stream=True):
                line = told.take(item)
                if line and progress is not None:
                    progress(line)

    async def load(self, archive: BinaryIO) -> None:
        """Load the images of an archive (`docker save`) into the engine."""
        async with self._asking("load an image archive") as library:
            await library.images.import_image(archive)

    def saved(self, image: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The archive of an image, in pieces."""
        return self._saved(image)

    @asynccontextmanager
    async def _saved(self, image: str) -> AsyncIterator[AsyncIterator[bytes]]:
        async with (
            self._asking(f"save image {image}") as library,
            library.images.export_image(image) as content,
        ):
            yield content.iter_chunked(1 << 20)

    async def follow(self, label: str, told: Callable[[Container], None]) -> None:
        """Tell of each container with a label that started or ended; until the engine hangs up.

        What is told has its name, labels and last action as state, and nothing else.
        """
        filters = {"type": ["container"], "event": EVENTS}

        def of_label(event: Mapping[str, Any]) -> None:
            container = event_container_of(event)
            if label in container.labels:
                told(container)

        async with self._asking("follow events") as library:
            await follow_events(library, filters, of_label)

    # Networks

    async def network(self, name: str) -> Network | None:
        """The network of that name, None where there is none."""
        try:
            async with self._asking(f"look at network {name}") as library:
                network = await library.networks.get(name)
                found = await network.show()
        except NoSuchObject:
            return None
        return network_of(found)

    async def create_network(self, name: str, config: Mapping[str, Any]) -> None:
        """Create a network; nothing happens where there is one of that name."""
        async with self._asking(f"create network {name}") as library:
            await library.networks.create({**config, "Name": name, "CheckDuplicate": True})

    async def remove_network(self, name: str) -> bool:
        """Remove a network; False if it is gone."""
        try:
            async with self._asking(f"remove network {name}") as library:
                network = await library.networks.get(name)
                await network.delete()
        except NoSuchObject:
            return False
        return True

    # The library

    @asynccontextmanager
    async def _asking(self, what: str, *, pulls: str = "") -> AsyncIterator[Docker]:
        """While the engine is asked: what goes wrong becomes one of our errors."""
        from aiodocker.exceptions import DockerContextError, DockerError
        from aiohttp import ClientError

        try:
            yield self._opened()
        except DockerContextError as error:
            raise EngineUnreachable(
                f"the Docker context cannot be used: {error}; set DOCKER_HOST to the address of "
                "an engine, or choose another context (`docker context use default`)"
            ) from None
        except DockerError as error:
            if error.status == NO_CONNECTION:
                raise unreachable(self.address, error.__context__ or error) from None
            if pulls:
                raise pull_failed(pulls, str(error.message)) from None
            raise refused(what, error.status, str(error.message)) from None
        except (ClientError, OSError, TimeoutError) as error:
            raise unreachable(self.address, error) from error
        except ValueError as error:  # a line that is no JSON, or longer than any answer is
            raise EngineError(
                f"cannot {what}: {self.address} answers with something that is no answer of a "
                f"container engine ({type(error).__name__})"
            ) from error

    def _opened(self) -> Docker:
        if self._library is None:
            from aiodocker import Docker
            from aiohttp import ClientTimeout

            timeout = ClientTimeout(total=ANSWER_TIMEOUT, sock_connect=CONNECT_TIMEOUT)
            try:
                self._library = Docker(self._address, timeout=timeout)
            except ImportError as error:
                raise EngineUnreachable(
                    f"an engine over SSH ({self.address}) needs the package asyncssh: install it "
                    "beside kapy (`pip install asyncssh`), or forward the engine's socket"
                ) from error
            except OSError as error:  # that of TLS is one, too
                raise bad_certificates(self.address, error) from error
        return self._library
