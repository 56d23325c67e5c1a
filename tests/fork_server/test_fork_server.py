"""Programs that are forks of the server behave as programs that Python starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kapy.cli.main import INTERRUPTED_EXIT_CODE
from tests.fork_server.client import IS_SUPPORTED, shims
from tests.waiting import LIMIT, until

pytestmark = [
    pytest.mark.sockets,
    pytest.mark.skipif(not IS_SUPPORTED, reason="the fork server needs Linux"),
]

PROGRAM = """
import json, os, signal, sys


def say(**values):
    print(json.dumps(values), flush=True)


match sys.argv[1:]:
    case ["tell", *words]:
        say(
            words=words, folder=os.getcwd(), home=os.environ["HOME"], path=sys.path[0],
            secret="KAPY_SECRET" in os.environ, umask=os.umask(0), name=__name__,
            ignored=signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
            files=sorted(map(int, os.listdir("/dev/fd")))[:-1], python=sys.executable,
        )
    case ["copy"]:
        sys.stderr.write("an error\\n")
        sys.stdout.write(sys.stdin.read().upper())
    case ["write", number]:
        os.write(int(number), b"there")
    case ["end", code]:
        sys.exit(int(code))
    case ["die"]:
        os.kill(os.getpid(), signal.SIGKILL)
    case ["raise"]:
        raise ValueError("wrong")
    case ["wait"]:
        try:
            say(process=os.getpid())
            signal.pause()
        finally:
            say(interrupted=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
"""Most settings of Python keep a program from being a fork."""


def start(folder: Path, python: str | Path, *words: str, **more: object) -> subprocess.Popen[str]:
    more = {"env": ENVIRON, **more}
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [python, "-m", "program", *words],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def ended(process: subprocess.Popen[str], text: str = "") -> tuple[int, str, str]:
    out, errors = process.communicate(text, timeout=LIMIT)
    return process.returncode, out, errors


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("tell", "a b", "", "é\n"), ""),
        (("copy",), "text\n" * 20_000),
        (("end", "0"), ""),
        (("end", "3"), ""),
        (("die",), ""),
        (("raise",), ""),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_fork_ends_as_a_program_does(program: Path, words: tuple[str, ...], text: str) -> None:
    forked = ended(start(program, shims() / "python", *words), text)
    real = ended(start(program, sys.executable, *words), text)
    python = str(shims() / "python")
    assert forked[:2] == (real[0], real[1].replace(sys.executable, python))
    assert forked[2].splitlines()[-1:] == real[2].splitlines()[-1:]


def test_a_fork_has_the_surroundings_of_its_shim(program: Path) -> None:
    environ = {**ENVIRON, "KAPY_SECRET": "", "HOME": "/nowhere", "PYTHON": "python3"}
    more = {"env": environ, "umask": 0o027}
    forked = ended(start(program, shims() / "python", "tell", **more))
    real = ended(start(program, sys.executable, "tell", **more))
    assert '"umask": 23' in real[1]
    assert str(shims() / "python") in forked[1]
    assert forked[1].replace(str(shims() / "python"), sys.executable) == real[1]


def test_a_fork_has_the_files_that_are_handed_to_it(program: Path) -> None:
    reading, writing = os.pipe()
    process = start(program, shims() / "python", "write", str(writing), pass_fds=[writing])
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "there"
    assert ended(process)[0] == 0


def test_signals_are_passed_on(program: Path) -> None:
    process = start(program, shims() / "python", "wait")
    assert process.stdout is not None
    assert "process" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    code, out, errors = ended(process)
    assert out == '{"interrupted": true}\n'
    assert errors.endswith("KeyboardInterrupt\n")
    assert code != 0
    process = start(program, shims() / "python", "wait")
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    assert ended(process) == (-signal.SIGTERM, "", "")


async def test_a_fork_ends_with_its_shim(program: Path) -> None:
    process = start(program, shims() / "python", "wait")
    assert process.stdout is not None
    pid = int(process.stdout.readline().split(":")[1].strip(" }\n"))
    os.kill(pid, 0)
    process.kill()
    ended(process)
    await until(lambda: not Path(f"/proc/{pid}").exists())


def test_kapy_runs_as_a_fork(tmp_path: Path) -> None:
    kapy = shims() / "kapy"
    done = subprocess.run([kapy, "version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("kapy ")
    wrong = subprocess.run([kapy, "nonsense"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, "unknown command" in wrong.stderr) == (1, True)


def test_interrupted_commands_have_the_same_exit_code(tmp_path: Path) -> None:
    environ = {**ENVIRON, "HOME": str(tmp_path), "KAPY_HOME": str(tmp_path / "kapy")}
    with subprocess.Popen(
        [shims() / "kapy", "up", "--in-memory", "--port", "0"],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) in (0, INTERRUPTED_EXIT_CODE)


def test_other_python_programs_are_python_s(program: Path) -> None:
    done = subprocess.run(
        [shims() / "python", "-c", "import sys; print('kapy' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    seeded = ended(start(program, shims() / "python", "tell", env=environ))
    assert f'"python": "{sys.executable}"' in seeded[1]
