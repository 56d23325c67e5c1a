"""Webhooks that mean harm, and configurations that point to where no webhook is."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.serving import Application, listen, server_context
from kapy.apiserver.webhooks import webhook_client
from kapy.kube import pki
from tests.apiserver.requester import CRDS, GIZMOS, Asking, gizmo
from tests.apiserver.webhooks.webhook_server import (
    CA,
    CONFIGURATIONS,
    NOW,
    bundle,
    configure,
    hook,
    plane,
)

pytestmark = pytest.mark.sockets

Writer = asyncio.StreamWriter
Answer = Callable[[Any, Writer], Awaitable[None]]
LEAF = pki.issue(
    CA, "hook", now=NOW, names=["127.0.0.1"], usages=("server",), algorithm="ECDSA-P256"
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


@asynccontextmanager
async def listening(answer: Answer) -> AsyncIterator[str]:
    """A server over TLS that answers every request with whatever it likes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "crt"), Path(folder, "key")
        files[0].write_bytes(LEAF.certificate)
        files[1].write_bytes(LEAF.key)
        context.load_cert_chain(*files)

    async def serve(reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            review = json.loads(await reader.readexactly(int(length)))
            await answer(review, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def sends(content: bytes, more: bytes = b"") -> Answer:
    async def answer(_: Any, writer: Writer) -> None:
        writer.write(HEAD + more + b"content-length: %d\r\n\r\n" % len(content) + content)

    return answer


async def endless(_: Any, writer: Writer) -> None:
    writer.write(HEAD + b"transfer-encoding: chunked\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"1000\r\n" + b" " * 4096 + b"\r\n")
        await writer.drain()


async def elsewhere(_: Any, writer: Writer) -> None:
    writer.write(b"HTTP/1.1 307 Moved\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n")


def responds(**response: Any) -> Answer:
    async def answer(review: Any, writer: Writer) -> None:
        whole = {**review, "response": {"uid": review["request"]["uid"], **response}}
        await sends(json.dumps(whole).encode())(review, writer)

    return answer


ANSWERS: dict[str, Answer] = {
    "endless": endless,
    "long": sends(b" " * (1 << 17)),
    "a gzip bomb": sends(gzip.compress(b" " * (1 << 24)), b"content-encoding: gzip\r\n"),
    "a redirect": elsewhere,
    "deep JSON": sends(b"[" * 60_000),
    "400 levels": sends(b'{"a":' * 400 + b"1" + b"}" * 400),
    "no text": sends(b'"\xff"'),
    "nothing": sends(b""),
    "a version that is none": sends(b'{"apiVersion":["x"],"kind":5}'),
    "warnings that are none": responds(allowed=True, warnings=5),
    "a patch that is none": responds(allowed=True, patchType="JSONPatch", patch=["x"]),
    "a deep patch": responds(allowed=True, patchType="JSONPatch", patch="W1tb" * 5000),
    "a type that is none": responds(allowed=True, patchType=["x"], patch="W10="),
    "a status that is none": responds(allowed=False, status=[5]),
    "a code that is none": responds(allowed=False, status={"code": [5], "reason": 5}),
    "a large code": responds(allowed=False, status={"code": 10**30, "details": "x"}),
}


@pytest.mark.parametrize("what", ANSWERS)
async def test_an_admission_response_is_bounded_and_an_invalid_one_is_a_refusal(
    what: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhook_client, "_ANSWER_LIMIT", 1 << 16)
    request = []

    async def answer(review: Any, writer: Writer) -> None:
        request.append(review)
        await ANSWERS[what](review, writer)

    async with listening(answer) as url, plane() as asking:
        await configure(asking, "mutating", hook("a.hook.dev", f"{url}/check"))
        status, body = await asking.ask("POST", GIZMOS, gizmo("one"))
        assert status in (400, 500), body
        assert "a.hook.dev" in body["message"]
        assert len(request) == 1, "redirects are not followed, and nothing is asked again"
        ignoring = hook("a.hook.dev", f"{url}/check", failurePolicy="Ignore")
        path = f"{CONFIGURATIONS.format('mutating')}/hooks"
        await asking.merge(path, {"webhooks": [ignoring]})
        status, body = await asking.ask("POST", GIZMOS, gizmo("two"))
        assert status == (201 if "status" not in what and "code" not in what else 400), body
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def objects(**more: Any) -> Answer:
    async def answer(review: Any, writer: Writer) -> None:
        uid = review["request"]["uid"]
        response = {"uid": uid, "result": {"status": "Success"}, **more}
        await sends(json.dumps({**review, "response": response}).encode())(review, writer)

    return answer


CONVERSIONS: dict[str, Answer] = {
    "endless": endless,
    "a redirect": elsewhere,
    "deep JSON": sends(b"[" * 60_000),
    "no list": objects(convertedObjects=5),
    "no object": objects(convertedObjects=[5]),
    "no result": objects(result=5, convertedObjects=[]),
    "metadata that are none": objects(
        convertedObjects=[{"apiVersion": "example.dev/v2", "kind": "Gizmo", "metadata": 5}]
    ),
}


@pytest.mark.parametrize("what", CONVERSIONS)
async def test_a_conversion_response_is_bounded_and_an_invalid_one_is_a_failure(
    what: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(webhook_client, "_ANSWER_LIMIT", 1 << 16)
    async with listening(CONVERSIONS[what]) as url, plane() as asking:
        path = f"{CRDS}/gizmos.example.dev"
        definition = await asking.get(path)
        first = definition["spec"]["versions"][0]
        client = {"url": url, "caBundle": bundle()}
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        await asking.create(GIZMOS, gizmo("one"))
        await asking.merge(
            path,
            {
                "spec": {
                    "versions": [first, {**first, "name": "v2", "storage": False}],
                    "conversion": {"strategy": "Webhook", "webhook": webhook},
                }
            },
        )
        status, body = await asking.ask("GET", f"{GIZMOS.replace('v1', 'v2')}/one")
        assert status == 500, body
        message = "json: " if what == "no object" else "conversion webhook for example.dev/v1"
        assert body["message"].startswith(message)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/x",
        "unix:///run/kapy.sock",
        "http+unix://%2Frun%2Fkapy.sock/x",
        "file:///etc/passwd",
        "https:///x",
        "https://user:password@127.0.0.1/x",
        "https://127.0.0.1/x?a=b",
        "https://[::1/x",
        "/x",
        "",
    ],
)
async def test_an_invalid_webhook_url_is_refused(url: str) -> None:
    async with plane() as asking:
        document = {"metadata": {"name": "hooks"}, "webhooks": [hook("a.hook.dev", url)]}
        for role in ("validating", "mutating"):
            status, body = await asking.ask("POST", CONFIGURATIONS.format(role), document)
            assert (status, body["reason"]) == (422, "Invalid"), body


@asynccontextmanager
async def reached(asking: Asking) -> AsyncIterator[str]:
    """The plane itself, over TLS."""
    tls = server_context(LEAF.certificate, LEAF.key, CA.certificate)
    application = Application(asking.server, Authenticator())
    async with listen(application, tls=tls) as (host, port):
        yield f"https://{host}:{port}"


@pytest.mark.parametrize("path", ["/", GIZMOS, "/version", "/api/v1/namespaces"])
async def test_a_webhook_that_is_the_plane_itself_blocks_nothing(path: str) -> None:
    """It asks as nobody, and as many as write at a time are refused and do not wait."""
    async with plane() as asking, reached(asking) as url:
        await configure(asking, "validating", hook("a.hook.dev", f"{url}{path}"))
        async with asyncio.timeout(60):
            answers = await asyncio.gather(
                *(asking.ask("POST", GIZMOS, gizmo(f"g{n}")) for n in range(60))
            )
        assert {status for status, _ in answers} == {500}
        assert await asking.names(GIZMOS) == []
