"""Units of planes: what they say, what systemd thinks of them, and what is run for them."""

from __future__ import annotations

import plistlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kapy import __version__
from kapy.apps.pidfile import PlaneRecord, announce, claim
from kapy.apps.service import (
    CompletedCommand,
    Launchd,
    NoSupervisor,
    ServicePlan,
    Systemd,
    service_plan,
)
from kapy.apps.settings import Folder
from kapy.cli.root import run

ENVIRON = {"PATH": "/bin:/opt/a b/bin", "AWS_SECRET_ACCESS_KEY": "s3cret", "LANG": "de_DE%x"}
ODD = ("a b", "$HOME", "100%", 'say "x"', "back\\slash")


class Fake:
    """A supervisor's commands, and their answers by their last words."""

    def __init__(self, **answers: CompletedCommand) -> None:
        self.asked: list[str] = []
        self._answers = answers

    def __call__(self, command: Sequence[str]) -> CompletedCommand:
        self.asked.append(" ".join(command))
        return next(
            (answer for word, answer in self._answers.items() if word.replace("_", "-") in command),
            CompletedCommand(0, ""),
        )


def plan(folder: Path, name: str = "", *arguments: str) -> ServicePlan:
    return service_plan(name, Folder(folder), arguments, ENVIRON)


def test_credentials_of_the_terminal_stay_there(tmp_path: Path) -> None:
    for item in (Systemd(tmp_path), Launchd(tmp_path)):
        text = item.text(plan(tmp_path)).decode()
        assert "s3cret" not in text
        assert "AWS_SECRET" not in text


def test_the_unit_starts_the_plane_with_its_arguments(tmp_path: Path) -> None:
    text = Systemd(tmp_path).text(plan(tmp_path / "50% of it", "lab", *ODD)).decode()
    (line,) = [name for name in text.splitlines() if name.startswith("ExecStart=")]
    words = [
        part.replace("$$", "$").replace("%%", "%")
        for part in shlex.split(line.removeprefix("ExecStart="))
    ]
    assert words == [sys.executable, "-m", "kapy.cli.main", "up", "--name", "lab", *ODD]
    assert 'Environment="PATH=/bin:/opt/a b/bin"' in text
    assert 'Environment="LANG=de_DE%%x"' in text
    assert f"StandardError=append:{tmp_path}/50%% of it/plane.log" in text
    for setting in ("Restart=on-failure", "KillMode=process", "WantedBy=default.target"):
        assert setting in text.splitlines()


@pytest.mark.parametrize("name", ["", "lab", "a b", ".hidden", "50%"])
def test_systemd_accepts_the_unit(tmp_path: Path, name: str) -> None:
    systemd = Systemd(tmp_path)
    path = systemd.path(name)
    path.parent.mkdir(parents=True)
    path.write_bytes(systemd.text(plan(tmp_path, name, *ODD)))
    assert path.name.endswith(".service")
    assert "/" not in path.name
    if shutil.which("systemd-analyze") is None:
        return
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(path)],
        capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if path.name in line]
    assert lines == [], done.stderr


def test_a_unit_is_started_now_and_at_boot(tmp_path: Path) -> None:
    fake = Fake()
    assert Systemd(tmp_path, fake).start("lab") == ""
    assert fake.asked == [
        "systemctl --user daemon-reload",
        "systemctl --user enable kapy-lab.service",
        "systemctl --user restart kapy-lab.service",
        "loginctl enable-linger",
    ]
    lonely = Fake(enable_linger=CompletedCommand(1, "no"))
    assert "sudo loginctl enable-linger $USER" in Systemd(tmp_path, lonely).start("lab")
    broken = Fake(daemon_reload=CompletedCommand(1, "Failed to connect to bus"))
    with pytest.raises(NoSupervisor, match="daemon-reload failed: Failed to connect to bus"):
        Systemd(tmp_path, broken).start("lab")


def test_the_state_of_a_systemd_unit_is_shown(tmp_path: Path) -> None:
    systemd = Systemd(tmp_path, Fake(is_active=CompletedCommand(3, "failed")))
    assert not systemd.state("").installed
    systemd.path("").parent.mkdir(parents=True)
    systemd.path("").write_bytes(b"")
    assert systemd.state("") == (True, False, "failed")
    active = Systemd(tmp_path, Fake(is_active=CompletedCommand(0, "active")))
    assert active.state("") == (True, True, "")


def test_a_launchd_agent_is_installed(tmp_path: Path) -> None:
    fake = Fake(print=CompletedCommand(0, "\tstate = running\n"))
    launchd = Launchd(tmp_path, fake, uid=501)
    document = plistlib.loads(launchd.text(plan(tmp_path / "plane", "lab", *ODD)))
    assert document["Label"] == "io.x-k8s.cluster.kapy.lab"
    assert document["ProgramArguments"][-len(ODD) :] == list(ODD)
    assert (document["RunAtLoad"], document["AbandonProcessGroup"]) == (True, True)
    path = launchd.path("lab")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    launchd.start("lab")
    assert launchd.state("lab").active
    launchd.stop("lab")
    assert fake.asked == [
        "launchctl bootout gui/501/io.x-k8s.cluster.kapy.lab",
        f"launchctl bootstrap gui/501 {path}",
        "launchctl print gui/501/io.x-k8s.cluster.kapy.lab",
        "launchctl print gui/501/io.x-k8s.cluster.kapy.lab",
        "launchctl bootout gui/501/io.x-k8s.cluster.kapy.lab",
    ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home; the supervisor does what it is told."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAPY_HOME", str(tmp_path / "kapy"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("kapy.cli.service.READY_SECONDS", 0.0)  # nothing starts a plane
    fake = Fake(is_active=CompletedCommand(0, "active"))
    monkeypatch.setattr(
        "kapy.apps.service.supervisor",
        lambda environ, home: Systemd(home / ".config", fake),
    )
    return tmp_path


def test_a_service_is_installed_shown_and_removed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = home / ".config" / "systemd" / "user" / "kapy-lab.service"
    assert run(["service", "install", "--name", "lab", "--", "--port", "7443"]) == 0
    assert '"--name" "lab" "--port" "7443"' in unit.read_text()
    folder = Folder(home / "kapy" / "lab")
    presence = PlaneRecord(1, "https://127.0.0.1:7443", "kapy-lab", "k", "now", "0.0.1")
    with claim(folder), announce(folder, presence):
        capsys.readouterr()
        assert run(["service", "status", "--name", "lab"]) == 0
        message = capsys.readouterr().out
        assert (
            f"kapy {__version__} is installed by now: `kapy service install --name lab`" in message
        )
        assert run(["service", "install", "--name", "lab"]) == 0, "an upgrade starts it anew"
    assert run(["service", "uninstall", "--name", "lab"]) == 0
    assert not unit.exists()
    assert run(["service", "status", "--name", "lab"]) == 1
    assert run(["service", "uninstall", "--name", "lab"]) == 1
    assert "no service of that plane is installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--", "--detach"], "--detach makes no sense for a service"),
        (["--", "--in-memory"], "--in-memory makes no sense for a service"),
        (["--", "--no-such-flag"], "--no-such-flag"),
    ],
)
def test_arguments_that_kapy_up_refuses_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["service", "install", *arguments]) == 1
    assert said in capsys.readouterr().err
    assert not (home / ".config").exists()


def test_a_plane_that_runs_outside_of_the_service_is_not_taken_over(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with claim(Folder(home / "kapy" / "default")):
        assert run(["service", "install"]) == 1
    assert "runs in" in capsys.readouterr().err


def test_the_unit_is_printed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["service", "install", "--print"]) == 0
    assert capsys.readouterr().out.startswith("[Unit]\n")
    assert not (home / ".config").exists()
