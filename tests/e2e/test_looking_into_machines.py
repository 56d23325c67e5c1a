"""`kapy logs machine` and `kapy exec`, as a person types them; the machines are simulated."""

from __future__ import annotations

import base64
import json
import re
import tarfile
from pathlib import Path

import pytest

from tests.e2e.shell import Shell

pytestmark = pytest.mark.sockets


@pytest.fixture(scope="module")
def machine(person: Shell) -> str:
    document = json.loads(person.ok("kubectl", "get", "machines", "-o", "json"))
    return str(document["items"][0]["metadata"]["name"])


def test_a_simulated_machine_reports_its_simulation(person: Shell, machine: str) -> None:
    message = person.ok("kapy", "logs", "machine", machine)
    assert f"Machine {machine} is simulated" in message
    assert "VMProvisioned is True: Provisioned" in message
    assert person.ok("kapy", "logs", "machine", machine, "--tail=0").count("\n") == 1
    later = person.ok("kapy", "logs", "machine", machine, "--since-time", "2199-01-01T00:00:00Z")
    assert "VMProvisioned" not in later


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("exec", "{}", "--", "ls", "-l"), "ls cannot be run in Machine {}: it is simulated"),
        (("exec", "{}"), "at least one command"),
        (("logs", "machine", "nobody"), "there is no Machine nobody in namespace default"),
        (("logs", "machine"), "please specify a Machine name"),
        (("logs", "machine", "{}", "--source", "kubelet"), "has no log kubelet; it has bootstrap"),
        (("logs", "machine", "{}", "-f"), "is simulated, and its log cannot be followed"),
        (("logs", "machine", "{}", "--since", "soon"), 'invalid duration "soon"'),
        (("logs", "machine", "{}", "--since=1h", "--since-time=2026-01-01"), "at most one of"),
        (("exec", "{}", "--provider", "nowhere", "--", "ls"), "there is no module nowhere"),
    ],
)
def test_impossible_commands_are_reported_in_one_sentence(
    person: Shell, machine: str, words: tuple[str, ...], sentence: str
) -> None:
    done = person.run_here(*(word.format(machine) for word in words))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert sentence.format(machine) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_provider_of_ones_own_brings_its_console(person: Shell, machine: str) -> None:
    Path(person.home, "own_console.py").write_text(CONSOLE)
    options = ("--provider", "own_console")
    message = person.ok("kapy", "logs", "machine", machine, *options, "--source", "serial")
    assert message == f"serial console of {machine}\n"
    both = person.run("kapy", "logs", "machine", machine, *options, "--source", "all")
    assert both.stdout == f"[serial] serial console of {machine}\n"
    assert both.stderr == "[screen] there is no screen\n"
    done = person.run("kapy", "exec", "-i", machine, *options, "--", "rev", "-x", text="abc")
    assert (done.returncode, done.stdout, done.stderr) == (4, "rev -x: abc", "")


CONSOLE = """\
from kapy.sdk import Provider
from kapy.sdk.console import ConsoleUnavailable, MachineConsole


class Console(MachineConsole):
    sources = {"serial": "the serial console", "screen": "the screen"}

    def serves(self, infra):
        return infra["kind"] == "DevMachine"

    async def logs(self, target, wanted):
        if wanted.source == "screen":
            raise ConsoleUnavailable("there is no screen")
        yield f"{wanted.source} console of ".encode()
        yield f"{target.name}\\n".encode()

    async def execute(self, target, command, streams):
        streams.output(" ".join(command).encode() + b": ")
        async for piece in streams.input:
            streams.output(piece)
        return 4


PROVIDER = Provider(
    name="own", kinds=(), add_to=lambda runtime: None, image="example.com/own", console=Console
)
"""


def test_an_archive_about_a_cluster_has_none_of_its_secrets(person: Shell) -> None:
    message = person.ok("kapy", "debug", "collect", "capybara", "-o", "report.tar.gz")
    assert "wrote report.tar.gz" in message
    path = person.home / "report.tar.gz"
    assert path.stat().st_mode & 0o077 == 0
    with tarfile.open(path) as tar:
        files = {member.name: tar.extractfile(member) for member in tar}
        texts = {name: file.read().decode() for name, file in files.items() if file is not None}
    names = "\n".join(texts)
    for part in ("Cluster/capybara.yaml", "Machine/", "managers/plane-0.log", "workload/nodes/"):
        assert part in names
    whole = "\n".join(texts.values())
    secrets = json.loads(person.ok("kubectl", "get", "secrets", "-o", "json"))["items"]
    needles = set()
    for secret in secrets:
        assert f"Secret/{secret['metadata']['name']}.yaml" in names
        for value in secret["data"].values():
            text = base64.b64decode(value).decode()
            for key in re.findall(r"PRIVATE KEY-----(.*?)-----END", text, re.DOTALL):
                needles |= {line for line in key.splitlines() if len(line) > 30}
            needles |= set(re.findall(r"client-key-data: (\S+)", text))
            needles |= set(re.findall(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b", text))
    assert len(needles) > 20
    assert [needle for needle in needles if needle in whole] == []
    again = person.run("kapy", "debug", "collect", "capybara", "-o", "report.tar.gz")
    assert again.returncode == 1
    assert "report.tar.gz is there already" in again.stderr
    nobody = person.run("kapy", "debug", "collect", "nobody")
    assert "there is no Cluster nobody in namespace default" in nobody.stderr
    assert not list(person.home.glob("*nobody*"))
