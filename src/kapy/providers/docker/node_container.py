"""Steps inside a machine's container: systemd starts, images are loaded, boot data runs."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from kapy.containers import CommandResult, Engine, EngineError, EngineUnreachable
from kapy.kube.boot import STARTED, SUCCEEDED, BootPlan, RunCommand, as_commands
from kapy.kube.errors import KapyError
from kapy.providers.docker.boot_log import with_log
from kapy.providers.docker.tasks import Operation, Task

POLL: Final = 0.5
"""The interval of checks in seconds. A timer, because a container sends no event when systemd is
ready or a file exists."""
SILENCE: Final = 15.0
LISTENING: Final = 25.0
"""Seconds. Timers, because nothing tells that the line which is waited for will never come: a
container that starts is heard until it is silent for so long, or has spoken for so long."""
RETRIES: Final = 5
RETRY_AFTER: Final = 5.0
STDOUT_LINES: Final = 10
STDERR_LINES: Final = 5

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""Colours of a terminal."""
_IS_UP: Final = (
    "systemctl is-active --quiet multi-user.target && "
    "if command -v crictl > /dev/null; then crictl ps > /dev/null; else ctr version > /dev/null; fi"
)
_CGROUPS_READY: Final = re.compile(
    rb"Reached target [^\n]*(?:Multi-User System|multi-user\.target)|detected cgroup v1"
)
_LONGEST_LINE: Final = 4096
"""Bytes of the output that are searched at once."""
_HAS_BEGUN: Final = f"test -e {STARTED}"
_HAS_SUCCEEDED: Final = f"test -e {SUCCEEDED}"


_INOTIFY: Final = (
    "the engine's machine has no inotify instances left for another node, most likely: raise them "
    "(`sysctl fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=524288`)"
)
_REMEDIES: Final = (
    ("too many open files", _INOTIFY),
    ("unknown service runtime.v1.runtimeservice", _INOTIFY),
    ("no space left on device", "free space on the engine's disk (`docker system df` shows it)"),
)
"""Remedies by a part of a command's output. A containerd without inotify instances runs, but serves
no kubelet."""


class BootFailed(KapyError):
    """A command of the boot data failed; the message ends with the last lines of its output."""

    def __init__(self, command: RunCommand, result: CommandResult) -> None:
        self.entry = command.entry
        super().__init__(
            f"exited with status: {result.exit_code}\n"
            f"STDOUT: {_indent_last_lines(result.stdout, STDOUT_LINES)}\n"
            f"STDERR: {_indent_last_lines(result.stderr, STDERR_LINES)}{_remedy(result)}"
        )


def _remedy(result: CommandResult) -> str:
    """Return a line with the remedy for a failure whose cause is the engine's machine, else ""."""
    value = (result.stdout + result.stderr).lower()
    return next((f"\nREMEDY: {remedy}" for sign, remedy in _REMEDIES if sign in value), "")


def systemd_operations(engine: Engine, container: str) -> Sequence[Operation]:
    """Return an operation that waits until systemd in a container has started.

    On cgroup v2 no command may run in the container before systemd has created its cgroups: the
    command would be in the container's root cgroup, systemd would then enable no controllers in the
    groups below, and no kubelet would start. As in upstream, the container's output shows when
    systemd is ready. A container without that output is queried after some time.
    """

    async def wait(_: Task) -> None:
        with suppress(TimeoutError):
            await _told_of_systemd(engine, container)
        await _until(engine, container, _IS_UP)

    return [Operation("Waiting for cgroups ready", wait)]


def preload_operations(
    engine: Engine, container: str, images: Sequence[str]
) -> Sequence[Operation]:
    """Copy images from the engine into a container."""

    def copying(image: str) -> Operation:
        async def copy(task: Task) -> None:
            await engine.ensure_image(image, task.tell)
            with tempfile.TemporaryFile() as archive:
                async with engine.save(image) as pieces:
                    async for piece in pieces:
                        await asyncio.to_thread(archive.write, piece)
                archive.seek(0)
                command = ("ctr", "--namespace=k8s.io", "images", "import", "-")
                result = await engine.run(container, command, stdin=archive)
            if result.exit_code:
                raise KapyError(
                    f"{image} could not be imported: {_indent_last_lines(result.stderr, 3)}"
                )

        return Operation(f"Pre-loading image {image}", copy)

    return [copying(image) for image in images]


async def has_begun(engine: Engine, container: str) -> bool:
    """Return whether kubeadm was started in a container, by any manager."""
    return await _holds(engine, container, _HAS_BEGUN)


def running_boot_operations(engine: Engine, container: str) -> Sequence[Operation]:
    """Return an operation that waits for boot data that an earlier program began to run."""

    async def wait(_: Task) -> None:
        await _until(engine, container, _HAS_SUCCEEDED)

    return [Operation("Waiting for kubeadm, which was started before", wait)]


def boot_operations(engine: Engine, container: str, plan: BootPlan) -> Sequence[Operation]:
    """Carry out boot data in a container; files that follow each other take one command."""

    def carrying_out(command: RunCommand) -> Operation:
        async def run(_: Task) -> None:
            await _run(engine, container, command)

        return Operation(f"Running bootstrap command [ {command.entry} ]", run)

    return [carrying_out(with_log(command)) for command in as_commands(plan.steps)]


async def _run(engine: Engine, container: str, command: RunCommand) -> None:
    for attempt in range(RETRIES + 1):
        result = await engine.run(container, command.argv, stdin=command.stdin)
        if result.exit_code == 0:
            return
        if not command.repeatable or attempt == RETRIES:
            break
        await asyncio.sleep(RETRY_AFTER)
    if command.diagnosis:
        command_result = await engine.run(container, command.diagnosis)
        result = result._replace(stderr=result.stderr + command_result.stdout)
    raise BootFailed(command, result)


async def _told_of_systemd(engine: Engine, container: str) -> None:
    """Wait until a container's output shows that systemd has started. Raises TimeoutError."""
    result = b""
    now = asyncio.get_running_loop().time
    until = now() + LISTENING
    try:
        async with (
            asyncio.timeout(SILENCE) as limit,
            engine.output(container, follow=True) as pieces,
        ):
            async for piece in pieces:
                limit.reschedule(min(now() + SILENCE, until))
                result = (result + piece)[-_LONGEST_LINE:]
                if _CGROUPS_READY.search(result):
                    return
    except EngineUnreachable:
        raise
    except EngineError:
        return  # the engine cannot read its logs


async def _until(engine: Engine, container: str, script: str) -> None:
    while True:
        if await _holds(engine, container, script):
            return
        await asyncio.sleep(POLL)


async def _holds(engine: Engine, container: str, script: str) -> bool:
    result = await engine.run(container, ("/bin/sh", "-c", script))
    return result.exit_code == 0


def _indent_last_lines(text: str, most: int) -> str:
    """Return the last lines in upstream's format."""
    lines = _ESCAPES.sub("", text).replace("\r", "").strip("\n").split("\n")
    if len(lines) == 1:
        return lines[0]
    last = ["...", *lines][-most:]
    return "\n" + "\n".join(f"  * {line}" for line in last)
