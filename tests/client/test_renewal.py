"""Credentials that do not last: programs, files, and servers that do not accept them any more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kapy.client import kubeconfig_files as files
from kapy.client.blocking import BlockingApiTransport
from kapy.client.exec_plugin import VERSIONS, ExecPlugin, NoCredentials, run_plugin
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig, KubeconfigError, parse
from kapy.client.proxies import proxy_for
from kapy.client.renewal import Renewal
from kapy.kube import Document
from kapy.kube.http import Request
from kapy.kube.yaml import dump
from tests.client.test_https import access, admin, peer, plane, proxy

VERSION = "client.authentication.k8s.io/v1"
ASK = Request("GET", "/version")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def program(folder: Path, *answers: Document | str, more: str = "") -> ExecPlugin:
    """A program that gives these answers in turn, the last one again and again. It notes each run,
    with what it was told, in `runs`."""
    for number, answer in enumerate(answers):
        text = answer if isinstance(answer, str) else credential(answer)
        (folder / f"answer{number}").write_text(text)
    path = folder / "login"
    path.write_text(f"""#!/bin/sh
cd {folder}
n=$(cat runs 2>/dev/null | wc -l)
echo "$KUBERNETES_EXEC_INFO $WHO $*" >> runs
{more}
test -f answer$n || n={len(answers) - 1}
cat answer$n
""")
    path.chmod(0o700)
    return ExecPlugin(VERSION, str(path), ("a", "b"), {"WHO": "me"})


def credential(status: Document) -> str:
    return json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status})


def later(transport: ApiTransport, seconds: float) -> None:
    """Let seconds pass for the credentials of a transport."""
    renewal = transport._renewal
    assert renewal is not None
    now = renewal._now
    renewal._now = lambda: now() + seconds


def runs(folder: Path) -> list[str]:
    return (folder / "runs").read_text().splitlines()


@asynccontextmanager
async def accepting(tokens: set[str]) -> AsyncIterator[tuple[str, list[str]]]:
    """A server that accepts these tokens, and what it was shown."""
    entries: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = [line.partition(": ") for line in head.splitlines()]
        token = next((value for name, _, value in lines if name.lower() == "authorization"), "")
        entries.append(token)
        status = "200 OK" if token.removeprefix("Bearer ") in tokens else "401 Unauthorized"
        writer.write(
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n"
            "content-length: 2\r\n\r\n{}".encode()
        )
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", entries
    finally:
        server.close()


@pytest.mark.sockets
async def test_a_program_is_asked_once_and_again_when_the_server_refuses(tmp_path: Path) -> None:
    tokens = {"one"}
    plugin = program(tmp_path, {"token": "one"}, {"token": "two"})
    async with accepting(tokens) as (address, entries):
        there = ApiTransport(Kubeconfig(address, exec=plugin))
        replies = await asyncio.gather(*(there(ASK) for _ in range(5)))
        assert {reply.status for reply in replies} == {200}
        assert len(runs(tmp_path)) == 1
        message, who, *arguments = runs(tmp_path)[0].split()
        assert json.loads(message)["spec"] == {"interactive": False}
        assert (who, arguments) == ("me", ["a", "b"])

        tokens.clear()
        assert (await there(ASK)).status == 401  # just read: reading again would not help
        assert len(runs(tmp_path)) == 1
        tokens.add("two")
        later(there, 60)
        assert (await there(ASK)).status == 200
        assert (len(runs(tmp_path)), entries[-2:]) == (2, ["Bearer one", "Bearer two"])
        await there.aclose()


@pytest.mark.sockets
async def test_a_later_request_uses_the_answer_of_a_slow_program(
    tmp_path: Path,
) -> None:
    plugin = program(tmp_path, {"token": "one"}, more="sleep 0.4")
    async with accepting({"one"}) as (address, entries):
        there = ApiTransport(Kubeconfig(address, exec=plugin))
        for _ in range(2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await there(ASK)
        assert entries == []
        assert (await there(ASK)).status == 200
        assert (len(runs(tmp_path)), entries) == (1, ["Bearer one"])
        await there.aclose()


def test_a_credential_is_renewed_before_it_ends_however_the_clock_is_set(tmp_path: Path) -> None:
    now, today = 0.0, NOON
    ends = {"token": "one", "expirationTimestamp": "2026-01-01T13:00:00Z"}
    plugin = program(tmp_path, ends, {"token": "two"})
    renewal = Renewal(Kubeconfig("https://x", exec=plugin), lambda: today, lambda: now)
    assert renewal.is_due
    assert renewal.read().token == "one"
    today = NOON.replace(year=2030)
    now = 3580.0
    assert not renewal.is_due
    now = 3595.0
    assert renewal.is_due
    assert renewal.read().token == "two"
    now = 1e9
    assert not renewal.is_due  # nothing says that it ends


@pytest.mark.sockets
async def test_a_program_may_give_a_client_certificate(tmp_path: Path) -> None:
    pair = {
        "clientCertificateData": admin().certificate.decode(),
        "clientKeyData": admin().key.decode(),
    }
    ended = {"token": "of nobody", "expirationTimestamp": "2020-01-01T00:00:00Z"}
    plugin = program(tmp_path, ended, pair)
    async with plane() as address:
        bare = replace(access(address), client_certificate=b"", client_key=b"", exec=plugin)
        there = ApiTransport(bare)
        request = Request("GET", "/api/v1/configmaps")
        assert (await there(request)).status == 401
        later(there, 60)
        assert (await there(request)).status == 200
        await there.aclose()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_program_speaks_the_version_that_it_is_asked_in(tmp_path: Path, version: str) -> None:
    answer = credential({"token": "one"}).replace(VERSION, version)
    assert run_plugin(replace(program(tmp_path, answer), api_version=version)).token == "one"
    assert json.loads(runs(tmp_path)[0].split()[0])["apiVersion"] == version


@pytest.mark.parametrize(
    ("answer", "more", "words"),
    [
        ("{}", "", "did not print an ExecCredential"),
        ("no JSON", "", "did not print an ExecCredential"),
        (credential({}), "", "neither a token nor a certificate"),
        (credential({"clientKeyData": "s3cret"}), "", "without its key"),
        (credential({"token": "s3cret"}).replace("/v1", "/v1beta1"), "", "in version"),
        ("", "echo who are you >&2; exit 3", "ended with 3: who are you"),
    ],
)
def test_a_failing_credential_plugin_is_reported(
    tmp_path: Path, answer: str, more: str, words: str
) -> None:
    with pytest.raises(NoCredentials, match=words) as caught:
        run_plugin(program(tmp_path, answer, more=more))
    assert "s3cret" not in str(caught.value)


def test_a_program_that_is_not_there_is_named_with_the_way_to_get_it() -> None:
    with pytest.raises(NoCredentials, match=r"/nowhere/login, .* \(get it from us\)"):
        run_plugin(ExecPlugin(VERSION, "/nowhere/login", hint="get it from us"))


def config(user: Document, **cluster: object) -> str:
    return dump(
        {
            "kind": "Config",
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://c:6443", **cluster}}],
            "users": [{"name": "u", "user": user}],
        }
    )


def test_a_kubeconfig_names_a_program_beside_it(tmp_path: Path) -> None:
    request = {
        "apiVersion": VERSION,
        "command": "./bin/login",
        "args": ["--now"],
        "env": [{"name": "A", "value": "1"}],
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": True,
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "us"}}
    (tmp_path / "config").write_text(config({"exec": request}, extensions=[extension]))
    plugin = files.load([tmp_path / "config"]).exec
    assert plugin == ExecPlugin(
        VERSION,
        str(tmp_path / "bin" / "login"),
        ("--now",),
        {"A": "1"},
        {"server": "https://c:6443", "config": {"audience": "us"}},
    )


@pytest.mark.parametrize(
    ("exec_config", "words"),
    [
        ({"command": "login"}, "it can be client.authentication.k8s.io/v1 or"),
        ({"apiVersion": VERSION}, "names no command"),
        ({"apiVersion": VERSION, "command": "x", "interactiveMode": "Always"}, "is Always"),
    ],
)
def test_a_credential_plugin_that_cannot_be_run_is_reported(
    tmp_path: Path, exec_config: Document, words: str
) -> None:
    (tmp_path / "config").write_text(config({"exec": exec_config}))
    with pytest.raises(KubeconfigError, match=words):
        files.load([tmp_path / "config"])


def test_a_kubeconfig_out_of_a_secret_runs_no_program() -> None:
    with pytest.raises(KubeconfigError, match="only a file's kubeconfig may"):
        parse(config({"exec": {"apiVersion": VERSION, "command": "rm"}}))


def test_users_may_have_a_password_or_impersonate_others() -> None:
    kubeconfig = parse(
        config(
            {
                "username": "me",
                "password": "s3cret",
                "as": "you",
                "as-groups": ["a", "b"],
                "as-user-extra": {"x/y": ["1"]},
            }
        )
    )
    assert kubeconfig.impersonate == (
        ("Impersonate-User", "you"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-x%2Fy", "1"),
    )
    assert "s3cret" not in repr(kubeconfig)
    assert kubeconfig.basic not in repr(kubeconfig)


@pytest.mark.sockets
@pytest.mark.parametrize("first", ["a refusal", "a minute"])
async def test_a_token_file_is_read_again_after_an_interval(tmp_path: Path, first: str) -> None:
    tokens = {"new"}
    (tmp_path / "token").write_text("old\n")
    (tmp_path / "config").write_text(config({"tokenFile": "token"}))
    kubeconfig = files.load([tmp_path / "config"])
    assert kubeconfig.token == "old"
    async with accepting(tokens) as (address, entries):
        there = ApiTransport(replace(kubeconfig, server=address))
        (tmp_path / "token").write_text("new\n")
        later(there, 61 if first == "a minute" else 6)
        assert (await there(ASK)).status == 200
        assert entries == (["Bearer old", "Bearer new"] if first == "a refusal" else ["Bearer new"])
        (tmp_path / "token").unlink()
        later(there, 61)
        assert (await there(ASK)).status == 200  # what it said last counts
        await there.aclose()


@pytest.mark.sockets
async def test_a_certificate_that_is_renewed_in_its_file_is_used(tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    async with plane() as address:
        certificate.write_bytes(b"")
        key.write_bytes(b"")
        named = replace(
            access(address),
            client_certificate=b"",
            client_key=b"",
            client_certificate_file=str(certificate),
            client_key_file=str(key),
        )
        there, request = ApiTransport(named), Request("GET", "/api/v1/configmaps")
        assert (await there(request)).status == 403
        certificate.write_bytes(admin().certificate)
        later(there, 61)
        assert (await there(request)).status == 403  # the key is not there yet
        key.write_bytes(admin().key)
        later(there, 61)
        assert (await there(request)).status == 200
        await there.aclose()


@pytest.mark.parametrize(
    ("server", "direct", "expected"),
    [
        ("https://api:6443", "", "http://p"),
        ("http://api", "", ""),
        ("https://127.0.0.1:6443", "", ""),
        ("https://localhost", "", ""),
        ("https://[::1]:6443", "", ""),
        ("https://api.corp.example", "example", ""),
        ("https://api.corp.example", "a, .corp.example", ""),
        ("https://corp.example", ".corp.example", "http://p"),
        ("https://mycorp.example", "corp.example", "http://p"),
        ("https://10.1.2.3:6443", "10.0.0.0/8", ""),
        ("https://11.1.2.3:6443", "10.0.0.0/8", "http://p"),
        ("https://api:6443", "api:443", "http://p"),
        ("https://api:6443", "api:6443", ""),
        ("https://api:6443", "*", ""),
    ],
)
def test_the_proxy_of_the_environment_is_used(server: str, direct: str, expected: str) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        for said in ("p", "http://p"):
            assert proxy_for(server, {name: said, "NO_PROXY": direct}) == expected
    assert proxy_for(server, {"NO_PROXY": direct}) == ""


@pytest.mark.sockets
async def test_short_commands_go_through_the_proxy_and_run_the_program(tmp_path: Path) -> None:
    pair = {
        "clientCertificateData": admin().certificate.decode(),
        "clientKeyData": admin().key.decode(),
    }
    plugin = program(tmp_path, pair)
    async with plane() as address, proxy() as (url, request):
        bare = replace(access(address), client_certificate=b"", client_key=b"", exec=plugin)

        def ask() -> int:
            there = BlockingApiTransport(replace(bare, proxy=url))
            try:
                return asyncio.run(there(Request("GET", "/api/v1/configmaps"))).status
            finally:
                there.close()

        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, ask) == 200
        assert request[0].startswith(f"CONNECT {address.removeprefix('https://')} HTTP/1")


@pytest.mark.sockets
async def test_nothing_is_sent_without_credentials() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise AssertionError("it was asked")

    async with peer(answer) as there:
        plugin = ExecPlugin(VERSION, "/nowhere/login")
        without = ApiTransport(Kubeconfig(there._base, exec=plugin))
        with pytest.raises(NoCredentials, match="No such file"):
            await without(ASK)
        await without.aclose()
