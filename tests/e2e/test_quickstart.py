"""From nothing to a Ready cluster in one command, and what is said when that does not work."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import subprocess
from pathlib import Path
from subprocess import CompletedProcess
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from kapy.apps.manifests import sample
from tests.e2e.shell import Shell

WRONG: tuple[tuple[dict[str, object], str], ...] = (
    ({"kind": "Herd"}, 'no matches for kind "Herd" in version "cluster.x-k8s.io/v1beta2"'),
    ({"spec": {"paused": 1, "nonsense": 2}}, "spec.paused"),
    ({"metadata": {"name": "Capital"}}, "metadata.name"),
)
"""Invalid changes of a Cluster, each with a part of the error message."""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.sockets
def test_quickstart_ends_with_an_available_cluster(tmp_path: Path) -> None:
    shell = Shell(tmp_path, forks=False)
    out = shell.ok("kapy", "quickstart", "--exit", "--port", "0")
    lines = out.splitlines()
    assert "\x1b" not in out
    assert "capybara: cluster is available" in out
    assert any("is Available: 1 control plane + 2 workers" in line for line in lines)
    assert any(line.startswith("├─KubeadmControlPlane default/") for line in lines)
    assert sum("kubectl" in line for line in lines[lines.index("Try next:") :]) == 3
    assert "/spec/topology/workers/machineDeployments/0/replicas" in lines[-1]
    assert not list((shell.home / "kapy").glob("*"))
    assert shell.kubectl("config get-contexts -o name") == ""


@pytest.mark.sockets
def test_the_result_is_json_for_machines(begun: tuple[Shell, CompletedProcess[str]]) -> None:
    _, done = begun
    result = json.loads(done.stdout)
    (cluster,) = result["clusters"]
    assert (cluster["name"], cluster["controlPlane"], cluster["workers"]) == ("capybara", 1, 2)
    assert "applied 7 objects" in done.stderr


@pytest.mark.sockets
def test_a_link_opens_the_page_of_the_plane_once(person: Shell) -> None:
    link = person.ok("kapy", "ui", "--no-browser").split()[0]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urlopen(link, context=context) as first:
        cookie = first.headers["set-cookie"].partition(";")[0]
    page = Request(link.partition("/login")[0] + "/", headers={"cookie": cookie})
    with urlopen(page, context=context) as shown:
        assert b">capybara<" in shown.read()
    with pytest.raises(HTTPError, match="403") as refused:
        urlopen(link, context=context)
    refused.value.close()


@pytest.mark.sockets
def test_a_cluster_that_is_not_ready_is_exit_code_1_with_its_reason(shell: Shell) -> None:
    objects = [document for document in sample() if document["kind"] != "DevCluster"]
    (shell.home / "mine.yaml").write_text(json.dumps({"kind": "List", "items": objects}))
    done = shell.run(
        *("kapy", "quickstart", "--exit", "--port", "0", "--file", "mine.yaml", "--timeout", "1")
    )
    assert done.returncode == 1
    assert "Error: cluster default/capybara is not Available: " in done.stderr
    assert "DevCluster" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.sockets
def test_invalid_manifests_are_reported_and_nothing_is_stored(shell: Shell) -> None:
    for change, sentence in WRONG:
        refused(shell, change, sentence)
    with subprocess.Popen(
        ["kapy", "up", "--port", "0", "--data-dir", "plane"],
        env=shell.environ,
        cwd=shell.home,
        stdout=subprocess.PIPE,
        text=True,
    ) as up:
        assert up.stdout is not None
        up.stdout.readline()
        up.stdout.readline()
        assert shell.kubectl("get cm note -n default --ignore-not-found") == ""
        up.send_signal(signal.SIGINT)
        assert up.wait(20) == 0


def refused(shell: Shell, change: dict[str, object], sentence: str) -> None:
    """Something right and something wrong are applied, always to the same plane."""
    note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}}
    (cluster,) = (document for document in sample() if document["kind"] == "Cluster")
    text = json.dumps({"kind": "List", "items": [note, {**cluster, **change}]})
    (shell.home / "mine.yaml").write_text(text)
    done = shell.run(
        *("kapy", "quickstart", "--exit", "--port", "0", "--file", "mine.yaml"),
        *("--data-dir", "plane"),
    )
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.sockets
def test_a_port_in_use_is_reported_in_one_sentence(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = shell.run("kapy", "up", "--port", str(port), "--in-memory")
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.sockets
def test_a_folder_in_use_or_from_the_future_is_reported_in_one_sentence(shell: Shell) -> None:
    command = ["kapy", "up", "--port", "0", "--data-dir", "plane"]
    begun = shell.ok(*command, "--detach")
    assert "data in" in begun
    assert begun.endswith("kapy status --data-dir plane, kapy down --data-dir plane\n")
    second, detached = shell.run(*command), shell.run(*command, "--detach")
    assert "stopped" in shell.ok("kapy", "down", "--data-dir", "plane")
    assert detached.returncode == 1
    assert detached.stderr.startswith("Error: a management plane runs in")
    assert second.returncode == 1
    assert "runs in" in second.stderr
    _as_of_a_later_version(shell.home / "plane" / "data" / "store.db")
    for more in ([], ["--detach"]):
        later = shell.run(*command, *more)
        assert later.returncode == 1
        assert "later version" in later.stderr
        assert later.stderr.count("\n") == 1


def _as_of_a_later_version(path: Path) -> None:
    import sqlite3

    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    db.close()


@pytest.mark.sockets
def test_tokens_authenticate_users(shell: Shell) -> None:
    tokens = shell.home / "tokens.csv"
    tokens.write_text('boss-token,boss,1,"system:masters"\nguest-token,guest,2\n')
    with subprocess.Popen(
        ["kapy", "up", "--port", "0", "--in-memory", "--token-auth-file", "tokens.csv"],
        env=shell.environ,
        cwd=shell.home,
        stdout=subprocess.PIPE,
        text=True,
    ) as up:
        assert up.stdout is not None
        up.stdout.readline()
        up.stdout.readline()
        for user, token in (("boss", "boss-token"), ("guest", "guest-token"), ("bad", "bad")):
            shell.kubectl(f"config set-credentials {user} --token {token}")
        answers = [
            shell.run("kubectl", "--user", user, "get", "clusters")
            for user in ("boss", "guest", "bad")
        ]
        up.terminate()
        assert up.wait(20) == 0
    assert [answer.returncode for answer in answers] == [0, 1, 1]
    assert 'User "guest" cannot list resource "clusters"' in answers[1].stderr
    assert "Unauthorized" in answers[2].stderr
