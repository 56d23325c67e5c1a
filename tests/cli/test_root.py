"""The command line by itself: what it imports, and what it says of errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kapy import __version__
from kapy.cli.output import own_name
from kapy.cli.root import error_message, run
from kapy.cli.tree import root_help
from kapy.kube.errors import NotFound

HEAVY = ("aiohttp", "cryptography", "rich", "asyncio", "yaml", "kapy.apps")
SLOW = ("aiohttp", "asyncio", "cryptography", "rich", "kapy.apps", "kapy.apiserver", "kapy.engine")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KAPY_HOME", raising=False)
    monkeypatch.delenv("KAPY_DEBUG", raising=False)
    return tmp_path


def kapy(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kapy.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["--version"], ["version"], ["--help"], ["get", "--help"]])
def test_asking_for_the_version_or_help_imports_nothing_big(arguments: list[str]) -> None:
    text = (
        "import sys; from kapy.cli import main; sys.argv = ['kapy', *sys.argv[1:]]\n"
        "try: main.main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", text, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [["version"], ["--help"], ["completion", "bash"], ["generate", "yaml", "--from", "a.yaml"]],
)
def test_common_commands_run_without_importing_click(arguments: list[str], home: Path) -> None:
    (home / "a.yaml").write_text("a: ${A:=b}\n")
    text = (
        "import sys; from kapy.cli import main; sys.argv = ['kapy', *sys.argv[1:]]\n"
        "main.main()\n"
        "print([name for name in ('click', 'inspect', 'asyncio') if name in sys.modules])"
    )
    command = [sys.executable, "-c", text, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=home)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("template", "arguments"),
    [
        ("a: ${A:=b}\n", []),
        ("a: ${A\n", []),
        ("a: ${A}\n", []),
        ("a: ${A:=b}\n", ["--list-variables"]),
        ("a: [\n", []),
    ],
)
def test_the_fast_path_prints_the_same_output(
    template: str, arguments: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "a.yaml").write_text(template)
    command = ["generate", "yaml", "--from", str(home / "a.yaml"), *arguments]
    quick = kapy(*command)
    code = run(command)
    usual = capsys.readouterr()
    assert (quick.returncode, quick.stdout, quick.stderr) == (code, usual.out, usual.err)


@pytest.mark.parametrize("arguments", [["describe", "cluster", "x"], ["get", "kubeconfig", "x"]])
def test_reading_commands_import_few_modules(arguments: list[str], home: Path) -> None:
    server = "{clusters: [{name: a, cluster: {server: http://127.0.0.1:1}}], "
    context = "contexts: [{name: a, context: {cluster: a}}], current-context: a}"
    (home / "config").write_text(server + context)
    text = (
        "import sys; from kapy.cli.root import run\n"
        "code = run([*sys.argv[1:]])\n"
        f"print(code, [name for name in {SLOW!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", text, *arguments, "--kubeconfig", str(home / "config")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1 []"
    assert done.stderr.startswith("Error: cannot reach 127.0.0.1:1: Connection refused; see that ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["version"], ["completion", "bash"], ["crds", "-o", "name"]], ids=str
)
def test_a_full_disk_below_standard_output_is_reported(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "kapy.cli.main", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    message = "Error: cannot write to standard output: No space left on device; make room, or "
    assert (done.returncode, done.stderr.startswith(message)) == (1, True), done.stderr
    assert done.stderr.count("\n") == 1


def test_the_fast_path_prints_the_same_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert capsys.readouterr().out == root_help() == kapy("--help").stdout


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert kapy("version").stdout == kapy("--version").stdout == f"kapy {__version__}\n"
    assert run(["version", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == __version__


@pytest.mark.parametrize(
    ("arguments", "sentences"),
    [
        (["status"], "no management plane runs in"),
        (["down"], "no management plane runs in"),
        (["logs"], "no plane ran in the background"),
        (["describe", "cluster", "x"], "there is no kubeconfig at"),
        (["get", "kubeconfig", "x"], "there is no kubeconfig at"),
        (["quickstart", "--exit", "--file", "nothing.yaml"], "cannot read nothing.yaml"),
        (["up", "--token-auth-file", "nothing.csv"], "nothing.csv"),
        (
            ["up", "--in-memory", "--audit-log-path", "a", "--audit-policy-file", "nothing.yaml"],
            "cannot read the audit policy nothing.yaml: No such file or directory",
        ),
        (["up", "--in-memory", "--audit-log-path", "/proc/x/a"], "the audit log /proc/x/a cannot"),
    ],
)
def test_an_error_is_one_sentence_and_exit_code_1(
    arguments: list[str], sentences: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert sentences in err


def test_a_user_unknown_to_the_system_has_no_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert run(["manager", "core"]) == 1
    assert "there is no kubeconfig at /.kube/config" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["a: [", "clusters: 1", "kind: Pod", "current-context: x"])
def test_an_unreadable_kubeconfig_is_reported(
    text: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".kube").mkdir()
    (home / ".kube" / "config").write_text(text)
    assert run(["describe", "cluster", "x"]) == 1
    err = capsys.readouterr().err
    assert str(home / ".kube" / "config") in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["up", "--port", "99999"], ["up", "--audit-policy-file", "x"]],
)
def test_wrong_usage_is_exit_code_1(arguments: list[str]) -> None:
    assert run(arguments) == 1


def test_an_unexpected_error_has_no_traceback() -> None:
    group = ExceptionGroup("several", [ExceptionGroup("more", [NotFound("not there")])])
    assert error_message(group) == "not there"
    assert error_message(
        ValueError("x")
    ) == "unexpected ValueError: x (KAPY_DEBUG=1 shows where; " + ("please report it)")


@pytest.mark.parametrize("path", ["/usr/bin/kapy", None])
def test_next_steps_name_the_command_as_it_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: path)
    monkeypatch.setattr(sys, "argv", ["./.venv/bin/kapy", "quickstart"])
    assert own_name() == ("kapy" if path else "./.venv/bin/kapy")
