"""A plane as a service of the user: a systemd unit, or a launchd agent on macOS.

The supervisor starts the plane at boot and after a failure. It signals only the plane's own
process: programs of providers end with a plane that ends in order, and outlive one that was killed,
which finds them again.
"""

from __future__ import annotations

import plistlib
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from kapy.apps.settings import Folder
from kapy.kube.errors import KapyError

STOP_SECONDS: Final = 60
_KEPT_VARIABLES: Final = (
    "PATH", "LANG", "LC_ALL", "TZ", "KAPY_HOME", "KUBECONFIG", "DOCKER_HOST", "CONTAINER_HOST",
    "XDG_CONFIG_HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
    "no_proxy",
)  # fmt: skip
"""Variables of the terminal that the service gets. None of them is a credential."""
_PLAIN_CHARACTER: Final = re.compile(r"[A-Za-z0-9_.-]")


class NoSupervisor(KapyError):
    """This machine has no supervisor for services of users, or it refused; the message gives the
    reason.
    """


@dataclass(frozen=True)
class ServicePlan:
    """A plane to run as a service. command: the complete command line, with the arguments of `kapy
    up`.
    """

    name: str
    folder: Folder
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


class ServiceState(NamedTuple):
    """The state of a plane's service. detail: one more sentence about it, "" for none."""

    installed: bool
    active: bool
    detail: str = ""


class CompletedCommand(NamedTuple):
    """The result of a command."""

    code: int
    output: str


Run = Callable[[Sequence[str]], CompletedCommand]


class Supervisor(Protocol):
    """A supervisor of the user's services: systemd or launchd."""

    def path(self, name: str) -> Path:
        """Return the path of the service file of a plane."""
        ...

    def text(self, plan: ServicePlan) -> bytes:
        """Return the content of that file."""
        ...

    def start(self, name: str) -> str:
        """Start the service now and at every boot; returns a remark, "" for none. Raises
        NoSupervisor.
        """
        ...

    def stop(self, name: str) -> None:
        """Stop the service, and no longer start it at boot. Raises NoSupervisor."""
        ...

    def state(self, name: str) -> ServiceState:
        """Return the state of a plane's service."""
        ...


def supervisor(environ: Mapping[str, str], home: Path) -> Supervisor:
    """Return the service manager of this machine: systemd or launchd. Raises NoSupervisor."""
    if sys.platform == "darwin":
        return Launchd(home)
    if sys.platform == "linux":
        return Systemd(Path(environ.get("XDG_CONFIG_HOME") or home / ".config"))
    raise NoSupervisor(
        f"services are made for systemd and launchd, and this is {sys.platform}; let your own "
        "supervisor run `kapy up`"
    )


def service_plan(
    name: str, folder: Folder, arguments: Sequence[str], environ: Mapping[str, str]
) -> ServicePlan:
    """Return the plan of a plane that `kapy up` runs with these arguments."""
    own = ("--name", name) if name else ()
    command = (sys.executable, "-m", "kapy.cli.main", "up", *own, *arguments)
    variables = {key: environ[key] for key in _KEPT_VARIABLES if environ.get(key)}
    return ServicePlan(name, folder, command, variables)


def run_command(command: Sequence[str]) -> CompletedCommand:
    """Run a command of the supervisor. Raises NoSupervisor."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSupervisor(
            f"{command[0]} cannot be run ({error}): services need systemd or launchd on this "
            "machine; `kapy service install --print` prints the unit for another supervisor"
        ) from None
    return CompletedCommand(done.returncode, (done.stdout + done.stderr).strip())


class Systemd:
    """A service manager that uses systemd's user manager. folder: the folder of its
    configuration.
    """

    def __init__(self, folder: Path, run: Run = run_command) -> None:
        self._folder = folder / "systemd" / "user"
        self._run = run

    def unit(self, name: str) -> str:
        """Return the name of a plane's unit."""
        return f"kapy{'-' + _escape(name) if name else ''}.service"

    def path(self, name: str) -> Path:
        return self._folder / self.unit(name)

    def text(self, plan: ServicePlan) -> bytes:
        environment = [
            f"Environment={_quote(f'{key}={value}', dollars=False)}"
            for key, value in sorted(plan.environment.items())
        ]
        log = str(plan.folder.log).replace("%", "%%")
        lines = [
            "[Unit]",
            f"Description=Cluster API management plane {plan.name or 'default'} (kapy)".replace(
                "%", "%%"
            ),
            "StartLimitIntervalSec=0",
            "",
            "[Service]",
            "Type=exec",
            f"ExecStart={' '.join(map(_quote, plan.command))}",
            *environment,
            "Restart=on-failure",
            "RestartSec=5",
            "KillMode=process",
            f"TimeoutStopSec={STOP_SECONDS}",
            "UMask=0077",
            f"StandardOutput=append:{log}",
            f"StandardError=append:{log}",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
        return "\n".join(lines).encode()

    def start(self, name: str) -> str:
        self._control("daemon-reload")
        self._control("enable", self.unit(name))
        self._control("restart", self.unit(name))
        done = CompletedCommand(1, "")
        with suppress(NoSupervisor):
            done = self._run(("loginctl", "enable-linger"))
        if done.code == 0:
            return ""
        return (
            "it starts when you log in, and not at boot: `sudo loginctl enable-linger $USER` "
            "changes that"
        )

    def stop(self, name: str) -> None:
        self._control("disable", "--now", self.unit(name))

    def state(self, name: str) -> ServiceState:
        if not self.path(name).exists():
            return ServiceState(installed=False, active=False)
        try:
            output = self._run(("systemctl", "--user", "is-active", self.unit(name))).output
        except NoSupervisor as error:
            return ServiceState(installed=True, active=False, detail=str(error))
        return ServiceState(
            installed=True, active=output == "active", detail="" if output == "active" else output
        )

    def _control(self, *arguments: str) -> None:
        done = self._run(("systemctl", "--user", *arguments))
        if done.code != 0:
            raise NoSupervisor(
                f"systemctl --user {' '.join(arguments)} failed: {done.output or done.code}; is "
                "this "
                "a session of a user with systemd (`systemctl --user status`)? "
                "`kapy service install --print` prints the unit for another supervisor"
            )


class Launchd:
    """A service manager that uses launchd's user agents. home: the home folder of the user."""

    def __init__(self, home: Path, run: Run = run_command, uid: int | None = None) -> None:
        import os

        self._folder = home / "Library" / "LaunchAgents"
        self._run = run
        self._domain = f"gui/{os.getuid() if uid is None else uid}"

    def label(self, name: str) -> str:
        """Return the label of a plane's agent."""
        return f"io.x-k8s.cluster.kapy{'.' + _escape(name) if name else ''}"

    def path(self, name: str) -> Path:
        return self._folder / f"{self.label(name)}.plist"

    def text(self, plan: ServicePlan) -> bytes:
        return plistlib.dumps(
            {
                "Label": self.label(plan.name),
                "ProgramArguments": list(plan.command),
                "EnvironmentVariables": dict(plan.environment),
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "AbandonProcessGroup": True,
                "ExitTimeOut": STOP_SECONDS,
                "Umask": 0o077,
                "StandardOutPath": str(plan.folder.log),
                "StandardErrorPath": str(plan.folder.log),
            }
        )

    def start(self, name: str) -> str:
        self._run(("launchctl", "bootout", f"{self._domain}/{self.label(name)}"))
        self._control("bootstrap", self._domain, str(self.path(name)))
        return ""

    def stop(self, name: str) -> None:
        if self.state(name).active:
            self._control("bootout", f"{self._domain}/{self.label(name)}")

    def state(self, name: str) -> ServiceState:
        if not self.path(name).exists():
            return ServiceState(installed=False, active=False)
        done = self._run(("launchctl", "print", f"{self._domain}/{self.label(name)}"))
        active = done.code == 0 and "state = running" in done.output
        return ServiceState(installed=True, active=active, detail="" if active else "not running")

    def _control(self, *arguments: str) -> None:
        done = self._run(("launchctl", *arguments))
        if done.code != 0:
            raise NoSupervisor(
                f"launchctl {' '.join(arguments)} failed: {done.output or done.code}; is this a "
                "session of a user who has logged in on the screen?"
            )


def _escape(name: str) -> str:
    """Escape a name like `systemd-escape`."""
    escaped = "".join(
        item
        if _PLAIN_CHARACTER.fullmatch(item)
        else "".join(f"\\x{byte:02x}" for byte in item.encode())
        for item in name
    )
    return f"\\x2e{escaped[1:]}" if escaped.startswith(".") else escaped


def _quote(word: str, *, dollars: bool = True) -> str:
    """Quote a word for command lines and settings of systemd."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{text.replace("$", "$$") if dollars else text}"'
