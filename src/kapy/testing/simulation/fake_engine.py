"""A fake container engine for controllers on virtual time."""

from __future__ import annotations

import asyncio
import base64
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from kapy.containers import (
    CommandResult,
    Container,
    EngineInfo,
    File,
    Network,
)
from kapy.containers.errors import request_error
from kapy.kube.boot import STARTED, SUCCEEDED
from kapy.providers.docker.boot_log import WITH_LOG
from kapy.testing.simulation.memory_engine import MemoryEngine

BOOT_TIME = 3.0
KUBEADM_TIME = 5.0
"""Seconds until systemd is up in a container."""
BOOTED = b"[\x1b[0;32m  OK  \x1b[0m] Reached target multi-user.target - Multi-User System.\r\n"
DONE = CommandResult(0, "", "")


@dataclass
class FakeContainer:
    """One container of a fake engine. files: the content of its files by path. ran: the commands
    that were run in it, except for checks of its state. logged: the entries of the boot data whose
    commands write to the boot log."""

    config: Mapping[str, Any]
    record: Container
    started: float = 0.0
    files: dict[str, bytes] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    signals: list[str] = field(default_factory=list)
    images: list[bytes] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)


class FakeEngine(MemoryEngine[FakeContainer]):
    """A container engine whose containers exist in memory only. images: the pulled images.
    registry: the images that can be pulled. failing: the results of failing commands, by a part of
    the command. output_of_systemd: the output of systemd in a booted container. early: commands
    that were run in a container before its boot. on_command: called before a command runs."""

    def __init__(self) -> None:
        super().__init__("unix:///fake.sock")
        self.images: set[str] = set()
        self.registry: set[str] = set()
        self.failing: dict[str, CommandResult] = {}
        self.initial_files: dict[str, bytes] = {}
        self.security: tuple[str, ...] = ()
        self.output_of_systemd = BOOTED
        self.boot_time = BOOT_TIME
        self.early: list[str] = []
        self.events: asyncio.Queue[Container | None] = asyncio.Queue()
        self.on_command: Callable[[str], Awaitable[None]] | None = None
        self._count = 2

    def names(self) -> list[str]:
        """Return the names of the existing containers."""
        return sorted(self.made)

    def put(self, name: str, labels: Mapping[str, str], *, state: str = "running") -> None:
        """Add a container that another program has created."""
        self._count += 1
        record = Container(
            id=f"id-{self._count}",
            name=name,
            image="kindest/node:other",
            state=state,
            labels=labels,
            addresses={"kind": (f"172.18.0.{self._count}", "")},
        )
        self.made[name] = FakeContainer({}, record)

    def relabel(self, name: str, *, image: str) -> None:
        """Change the image name that a container reports."""
        self.made[name].record = replace(self.made[name].record, image=image)

    def halt(self, name: str) -> None:
        """Stop a container, as another program may do."""
        result = self.made[name]
        result.record = replace(result.record, state="exited", exit_code=137, addresses={})
        self.events.put_nowait(replace(result.record, state="die"))

    async def info(self) -> EngineInfo:
        self.check_answers()
        memory = 16 << 30
        return EngineInfo(
            name="paper",
            version="1",
            storage_driver="overlay2",
            security=self.security,
            cpus=4,
            memory=memory,
        )

    async def containers(
        self, labels: Mapping[str, str] | None = None, *, name: str = ""
    ) -> Sequence[Container]:
        result = await super().containers(labels, name=name)
        return sorted(result, key=lambda container: container.name)

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        self.check_answers()
        if name in self.made:
            raise request_error(
                f"create container {name}", 409, f'The name "/{name}" is already in use'
            )
        if config["Image"] not in self.images:
            raise request_error(
                f"create container {name}", 404, f"No such image: {config['Image']}"
            )
        record = self.new_record(name, config, image=config["Image"])
        self.made[name] = FakeContainer(config, record, files=dict(self.initial_files))
        self.diary.append(f"create {name}")
        return record.id

    async def start(self, name: str) -> None:
        self.check_answers()
        result = self.find(name)
        self._count += 1
        addresses = {"kind": (f"172.18.0.{self._count}", "")}
        bound = result.config.get("HostConfig", {}).get("PortBindings", {})
        ports = {port: str(32768 + self._count) for port in bound}
        result.record = replace(result.record, state="running", addresses=addresses, ports=ports)
        result.started = asyncio.get_running_loop().time()
        self.diary.append(f"start {name}")

    async def kill(self, name: str, signal: str = "SIGKILL") -> None:
        self.check_answers()
        self.find(name).signals.append(signal)

    async def remove(self, name: str) -> bool:
        self.check_answers()
        self.diary.append(f"remove {name}")
        return self.made.pop(name, None) is not None

    async def put_files(self, name: str, files: Iterable[File]) -> None:
        self.check_answers()
        for file in files:
            self.find(name).files[file.path] = file.content

    def output(
        self,
        name: str,
        *,
        follow: bool = False,
        tail: int | None = None,
        since: float = 0.0,
        timestamps: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        del follow, tail, since, timestamps
        return self._output(name)

    @asynccontextmanager
    async def _output(self, name: str) -> AsyncIterator[AsyncIterator[bytes]]:
        self.check_answers()

        async def pieces() -> AsyncIterator[bytes]:
            yield b"INFO: starting init\r\n"
            age = asyncio.get_running_loop().time() - self.find(name).started
            booted = asyncio.get_running_loop().time() + self.boot_time - age + 0.01
            while (remaining := booted - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(min(remaining, 1.0))
                yield b"starting\r\n"
            for begin in range(0, len(self.output_of_systemd), 20):
                yield self.output_of_systemd[begin : begin + 20]
            await asyncio.Event().wait()

        yield pieces()

    async def carry_out(
        self, name: str, command: Sequence[str], content: bytes, *, privileged: bool
    ) -> CommandResult:
        del privileged
        if tuple(command[: len(WITH_LOG)]) == WITH_LOG:
            entry, *command = command[len(WITH_LOG) :]
            self.find(name).logged.append(entry)
        result, text = self.find(name), " ".join(command)
        age = asyncio.get_running_loop().time() - result.started
        if age < self.boot_time:
            self.early.append(text)
        if "multi-user.target" in text:
            return DONE if age >= self.boot_time else CommandResult(3, "", "")
        if text.startswith("/bin/sh -c test -e "):
            return DONE if command[2].split()[-1] in result.files else CommandResult(1, "", "")
        if self.on_command is not None:
            await self.on_command(text)
        result.ran.append(text)
        failed = next((item for part, item in self.failing.items() if part in text), None)
        if f"> {STARTED}" in text:
            result.files[STARTED] = b"started"
        if failed is not None:
            return failed
        return await self._carry_out(result, command, content)

    async def _carry_out(
        self, result: FakeContainer, command: Sequence[str], content: bytes
    ) -> CommandResult:
        if command[0] == "ctr":
            result.images.append(content)
        elif command[1] == "-s":
            result.files |= _files_of(content.decode())
        elif "mkdir -p" in command[2] and len(command) > 5:
            before = result.files.get(command[5], b"") if ">>" in command[2] else b""
            result.files[command[5]] = before + content
        elif "kubeadm" in command[2]:
            # A command goes on when nobody waits for it any more.
            finish = partial(result.files.__setitem__, SUCCEEDED, b"success")
            asyncio.get_running_loop().call_later(KUBEADM_TIME, finish)
            await asyncio.sleep(KUBEADM_TIME)
        return DONE

    async def has_image(self, image: str) -> bool:
        self.check_answers()
        return image in self.images

    def is_in_registry(self, image: str) -> bool:
        return image in self.registry

    async def take_in(self, image: str, login: Mapping[str, str] | None) -> None:
        del login
        await asyncio.sleep(2)
        if image in self.registry:
            self.images.add(image)

    def save(self, image: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return _pieces(image)

    async def follow(self, label: str, callback: Callable[[Container], None]) -> None:
        self.check_answers()
        while (event := await self.events.get()) is not None:
            if label in event.labels:
                callback(event)

    async def create_network(self, name: str, config: Mapping[str, Any]) -> None:
        self.networks[name] = Network(name, ("172.18.0.0/16",), config.get("Labels", {}))


def _files_of(script: str) -> dict[str, bytes]:
    """Return the files that a script of `as_commands` writes."""
    calls = re.findall(r"^write (.*) <<'EOF'.*\n((?:.*\n)*?)EOF$", script, re.MULTILINE)
    return {shlex.split(words)[1]: base64.b64decode(text) for words, text in calls}


@asynccontextmanager
async def _pieces(image: str) -> AsyncIterator[AsyncIterator[bytes]]:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"archive of "
        yield image.encode()

    yield pieces()
