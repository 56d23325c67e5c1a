"""The runtime of local programs: selects program, arguments and environment, and starts it.

Of the plane's environment, a process only gets PATH, the locale and proxies: the user's credentials
are not the provider's.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

from kapy._aio.clock import Clock
from kapy.api.times import stamp
from kapy.kube import Document
from kapy.node_agent.log_files import read_log
from kapy.node_agent.processes import launch, records
from kapy.node_agent.processes.binding import Binding, can_hand_over
from kapy.node_agent.processes.flags import (
    LOOPBACK,
    Arguments,
    Flags,
    flags_of,
    with_free_ports,
    with_paths,
    without_leader_election,
)
from kapy.node_agent.processes.own_ports import PortAllocator, is_taken
from kapy.node_agent.processes.process import LocalProcess, stamp_of
from kapy.node_agent.processes.programs import Programs
from kapy.node_agent.processes.records import Record
from kapy.node_agent.runtime import (
    ContainerConfig,
    LogQuery,
    NotSupported,
    Report,
    Running,
    StartFailed,
    WorkloadName,
)

_KEPT_VARIABLES: Final = (
    "PATH", "LANG", "LC_ALL", "TZ",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
_HELP_SECONDS: Final = 20.0
_MAX_HELP: Final = 1 << 20
_LAUNCH: Final = [sys.executable, "-I", "-S", launch.__file__]
BINDS: Final = "--binds="
"""In a command: the place of the socket by which a program hands its binds over."""
_SCRATCH: Final = "mounts"
"""The folder of a container in which its mount namespace is made."""


class ProcessRuntime:
    """A `Runtime` of local programs. environ: the plane's environment."""

    def __init__(
        self,
        programs: Programs,
        workload: WorkloadName,
        clock: Clock,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._programs = programs
        self._workload = workload
        self._clock = clock
        self._environ = environ
        self._ports = PortAllocator()
        self._flags: dict[tuple[str, ...], Flags] = {}
        self._namespaces: bool | None = None
        self._binds = False

    @property
    def other_users(self) -> bool:
        return False

    async def refusal(self, pod: Document) -> str:
        if pod["spec"].get("hostAliases"):
            return "a local program has no spec.hostAliases"
        containers = [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]
        for field in ("stdin", "tty"):
            if any(item.get(field) for item in containers):
                return f"a local program has no {field}, as nobody can be attached to it"
        missing = [item["name"] for item in containers if self._command(pod, item["name"]) is None]
        if len(missing) == len(containers):
            return "no local program runs in place of its image"
        if missing:
            return f"no local program runs in place of the container {missing[0]}"
        return ""

    def _command(self, pod: Document, container: str) -> tuple[str, ...] | None:
        return self._programs.command(pod["metadata"]["namespace"], self._workload(pod), container)

    async def server(self, _: Document, __: Report) -> tuple[str, int] | None:
        return None

    def address(self, _: Document) -> str:
        return LOOPBACK

    def log(
        self, _: Document, __: str, ___: int, path: Path, query: LogQuery
    ) -> AsyncIterator[bytes] | None:
        if query.timestamps or query.since:
            raise NotSupported(
                "the time of the lines of a local process is not kept: leave timestamps and since "
                "out"
            )
        if not path.exists():
            return None
        return read_log(path, tail=query.tail, limit=query.limit, follow=query.follow)

    async def forget(self, _: Document) -> None:
        pass

    async def keep(self, _: Callable[[], Container[str]]) -> None:
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        pass

    def tidy_soon(self) -> None:
        pass

    async def find(self, config: ContainerConfig) -> Running | None:
        record = records.read(config.folder)
        if record is None or not record.is_alive:
            return None
        command, program = self._program(config)
        owner = _owner(config)
        self._ports.keep(owner, {int(key): value for key, value in record.ports.items()})
        plan = await self._plan(config, command, program, record.ports)
        result = self._running(config, record, plan, child=None)
        if plan.digest == record.digest and record.stamp == stamp_of(program):
            return result
        await result.stop(float(config.pod["spec"].get("terminationGracePeriodSeconds") or 30))
        return None

    async def start(self, config: ContainerConfig) -> Running:
        command, program = self._program(config)
        scratch = config.folder / _SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        plan = await self._plan(config, command, program, None)
        if not self._binds:
            _check_ports(config, plan, program)
        process: list[LocalProcess] = []  # the program may bind before the process is known here

        def move_ports(ports: Mapping[int, int]) -> None:
            for item in process:
                item.move(ports)

        handle = os.open(config.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        binding = None
        try:
            if self._binds:
                binding = Binding(
                    self._ports.of(_owner(config)), move_ports, _declared_ports(config)
                )
            handed = -1 if binding is None else binding.handed.fileno()
            child = await asyncio.create_subprocess_exec(
                *(f"{BINDS}{handed}" if item == BINDS else item for item in plan.command),
                stdin=DEVNULL,
                stdout=handle,
                stderr=STDOUT,
                cwd=plan.directory,
                env=plan.environment,
                start_new_session=True,  # Ctrl-C is for the plane, which stops it
                pass_fds=[] if binding is None else [handed],
            )
        except BaseException as error:
            if binding is not None:
                binding.close()
            if not isinstance(error, OSError):
                raise
            raise StartFailed(
                f"the program {program} cannot be started: {error.strerror or error}"
            ) from None
        finally:
            os.close(handle)
            if binding is not None:
                binding.handed.close()
        record = Record(
            pid=child.pid,
            began=records.start_time_of(child.pid),
            started=stamp(self._clock()),
            digest=plan.digest,
            program=program,
            stamp=stamp_of(program),
            log=str(config.log),
            ports={str(key): value for key, value in plan.ports.items()},
        )
        await _record(config, record, child, binding)
        process.append(self._running(config, record, plan, child=child, binding=binding))
        if binding is not None:
            move_ports(binding.ports)
        return process[0]

    def _running(
        self,
        config: ContainerConfig,
        record: Record,
        plan: Plan,
        *,
        child: asyncio.subprocess.Process | None,
        binding: Binding | None = None,
    ) -> LocalProcess:
        command = self._command(config.pod, config.name)

        def replaced() -> str:
            now = self._command(config.pod, config.name)
            return "" if now is None or now == command else f"{' '.join(now)} runs in its place"

        async def execute(command: Sequence[str], seconds: float) -> int:
            prefix = [item for item in plan.prefix if item != BINDS]
            return await _execute([*prefix, *command], plan, seconds)

        return LocalProcess(
            record,
            config.folder,
            self._clock,
            child=child,
            execute=execute,
            replaced=replaced,
            binding=binding,
        )

    def _program(self, config: ContainerConfig) -> tuple[tuple[str, ...], str]:
        """Return the command in place of a container's image, and its file. Raises StartFailed."""
        command = self._command(config.pod, config.name)
        if command is None:
            raise StartFailed(f"no local program runs in place of the container {config.name}")
        result = shutil.which(command[0], path=self._environ.get("PATH"))
        if result is None:
            raise StartFailed(
                f"the program {command[0]} is not there, or may not be executed; build it, or name "
                "another one with `kapy run provider`"
            )
        return command, result

    async def _plan(
        self,
        config: ContainerConfig,
        command: Sequence[str],
        program: str,
        ports: Mapping[str, int] | None,
    ) -> Plan:
        """Return how to start a program in place of the container's command.

        ports: its existing ports, None to allocate new ones.
        """
        if self._namespaces is None:
            self._namespaces = await _namespaces_allowed()
            self._binds = sys.platform == "linux" and await can_hand_over(_LAUNCH)
        own = [program, *(command[1:] or config.command[1:])]
        flags = await self._flags_of(own)
        arguments = list(config.args)
        environment = {**self._environment(config), **config.environment}
        prefix: list[str] = []
        paths = {item.path: str(item.source) for item in config.mounts}
        _link_temporary(Path(environment["TMPDIR"]), paths)
        if self._namespaces:
            scratch = config.folder / _SCRATCH
            prefix = [*_LAUNCH, *([BINDS] if self._binds else ()), str(scratch)]
            for mount in config.mounts:
                if not config.folder.is_relative_to(mount.path):  # else the mount would hide it
                    prefix += [str(mount.source), mount.path]
            prefix.append("--")
        else:
            if self._binds:
                prefix = [*_LAUNCH, BINDS, "--plain", str(config.folder / _SCRATCH), "--"]
            arguments = without_leader_election(with_paths(arguments, paths))
            variables = self._environment(config)
            environment = {
                key: value if key in variables else with_paths([value], paths)[0]
                for key, value in environment.items()
            }
        free = self._ports.of(_owner(config)) if ports is None else _known_ports(ports)
        moved_arguments = with_free_ports(arguments, flags, free)
        return Plan(prefix, own, moved_arguments, environment, self._directory(config))

    def _environment(self, config: ContainerConfig) -> dict[str, str]:
        """Return the variables that the agent sets."""
        result = {key: self._environ[key] for key in _KEPT_VARIABLES if self._environ.get(key)}
        for name in ("home", "tmp"):
            (config.folder / name).mkdir(parents=True, exist_ok=True)
        result |= {"HOME": str(config.folder / "home"), "TMPDIR": str(config.folder / "tmp")}
        if config.kubeconfig is not None:
            result["KUBECONFIG"] = str(config.kubeconfig)
        return result

    def _directory(self, config: ContainerConfig) -> str:
        return str(config.folder / "home")

    async def _flags_of(self, command: Sequence[str]) -> Flags:
        """Return the flags of a program, read once for each state of its file."""
        key = (*command, stamp_of(command[0]))
        if key not in self._flags:
            self._flags[key] = flags_of(await _help_of(command, self._environ))
        return self._flags[key]


@dataclass(frozen=True, slots=True)
class Plan:
    """A program to start: a prefix that makes its mounts, the program, and its arguments."""

    prefix: Sequence[str]
    program: Sequence[str]
    arguments: Arguments
    environment: Mapping[str, str]
    directory: str

    @property
    def command(self) -> list[str]:
        """Return the whole command line."""
        return [*self.prefix, *self.program, *self.arguments.values]

    @property
    def ports(self) -> Mapping[int, int]:
        """Return the program's actual ports by the ports in its configuration."""
        return self.arguments.ports

    @property
    def digest(self) -> str:
        """A digest of the program's whole configuration."""
        parts = [
            *self.command,
            *(f"{key}={value}" for key, value in sorted(self.environment.items())),
        ]
        return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _check_ports(config: ContainerConfig, plan: Plan, program: str) -> None:
    """Raises StartFailed for a port in use that the program cannot be told to avoid.

    This is needed if `bind` calls cannot be intercepted (`binding`).
    """
    for port in _declared_ports(config):
        if port not in plan.ports and is_taken(port):
            raise StartFailed(
                f"port {port}, for which {program} has no flag, is in use on this machine; stop "
                "the other program, or run the provider as a container (without `kapy run "
                "provider`), which has ports of its own",
                "PortInUse",
            )


def _declared_ports(config: ContainerConfig) -> list[int]:
    """Return the TCP ports that a container names."""
    ports = config.container.get("ports") or ()
    return [
        int(item.get("containerPort") or 0)
        for item in ports
        if (item.get("protocol") or "TCP") == "TCP"
    ]


def _owner(config: ContainerConfig) -> str:
    return f"{config.pod['metadata']['uid']}/{config.name}"


def _known_ports(ports: Mapping[str, int]) -> Callable[[int], int]:
    return lambda port: ports.get(str(port), port)


def _link_temporary(folder: Path, paths: Mapping[str, str]) -> None:
    """Make mounts below /tmp available below the program's own TMPDIR."""
    for path, real in paths.items():
        if path.startswith("/tmp/"):
            link = folder / path.removeprefix("/tmp/")
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(real)


async def _namespaces_allowed() -> bool:
    """Return whether this host lets programs have their own mount namespaces."""
    if sys.platform != "linux":
        return False
    trial = await asyncio.create_subprocess_exec(
        *(*_LAUNCH, "/", "--"),
        stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL,
    )  # fmt: skip
    return await trial.wait() == 0


async def _help_of(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the output of a program for `--help`; "" if there is none."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, "--help", stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True,
            env={key: environ[key] for key in _KEPT_VARIABLES if environ.get(key)},
        )  # fmt: skip
    except OSError:
        return ""
    assert process.stdout is not None
    said = b""
    try:
        async with asyncio.timeout(_HELP_SECONDS):
            while len(said) < _MAX_HELP and (piece := await process.stdout.read(1 << 16)):
                said += piece
    except TimeoutError:
        pass
    finally:
        if process.returncode is None:
            _kill(process.pid)
        await process.wait()
    return said.decode("utf-8", "replace")


async def _execute(command: Sequence[str], plan: Plan, seconds: float) -> int:
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True,
            cwd=plan.directory, env=plan.environment,
        )  # fmt: skip
    except OSError as error:
        raise StartFailed(f"{command[-1]}: {error.strerror or error}") from None
    try:
        async with asyncio.timeout(seconds):
            return await process.wait()
    finally:
        if process.returncode is None:
            _kill(process.pid)
            await process.wait()


async def _record(
    config: ContainerConfig,
    record: Record,
    child: asyncio.subprocess.Process,
    binding: Binding | None,
) -> None:
    """Record a program that was started, or end it: without a record it would be started twice.
    Raises OSError."""
    try:
        records.write(config.folder, record)
    except OSError:
        _kill(child.pid)
        if binding is not None:
            binding.close()
        await child.wait()
        raise


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, 9)
    except (ProcessLookupError, PermissionError):
        return
