"""A webhook server over TLS inside a test, and configurations that name it."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

from kapy._aio.clock import loop_clock
from kapy.apiserver.admission.plugin import Admission
from kapy.apiserver.server import Server
from kapy.apiserver.webhooks.client_config import Services
from kapy.kube import Document, pki
from tests.apiserver.requester import CRDS, GIZMO, Asking

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
NOW = datetime.now(UTC)  # noqa: TID251
CA = pki.new_ca("hooks", now=NOW, algorithm="ECDSA-P256")

Answer = Callable[[Document], Document | Awaitable[Document]]
"""The `response` to a `request`."""


class Hooks:
    """Webhooks by path, and what each was sent."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.received: dict[str, list[Document]] = {}
        self.versions: list[str] = []  # of the reviews that came
        self.connections: set[Any] = set()
        self.base = ""

    async def handle(self, request: web.Request) -> web.Response:
        review = await request.json()
        self.connections.add(request.transport)
        self.versions.append(review["apiVersion"])
        self.received.setdefault(request.path, []).append(review["request"])
        response: Any = self.answers[request.path](review["request"])
        if not isinstance(response, dict):
            response = await response
        whole = {key: review[key] for key in ("apiVersion", "kind")}
        whole["response"] = {"uid": review["request"]["uid"], **response}
        return web.json_response(whole)

    def asked(self, path: str) -> list[Document]:
        """The requests that came to a path."""
        return self.received.get(path, [])


@asynccontextmanager
async def serving(*names: str, leaf: pki.KeyPair | None = None) -> AsyncIterator[Hooks]:
    """A server of webhooks on 127.0.0.1; its certificate has these names besides, or is `leaf`."""
    hooks = Hooks()
    leaf = leaf or pki.issue(
        CA,
        "hook",
        now=NOW,
        names=["127.0.0.1", *names],
        usages=("server",),
        algorithm="ECDSA-P256",
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "crt"), Path(folder, "key")
        files[0].write_bytes(leaf.certificate)
        files[1].write_bytes(leaf.key)
        context.load_cert_chain(*files)
    application = web.Application()
    application.router.add_post("/{path:.*}", hooks.handle)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    host, port = runner.addresses[0][:2]
    hooks.base = f"https://{host}:{port}"
    try:
        yield hooks
    finally:
        await runner.cleanup()


@asynccontextmanager
async def plane(
    services: Services | None = None, *, admission: Sequence[Admission] = ()
) -> AsyncIterator[Asking]:
    """An API server that runs and serves Gizmos."""
    server = Server.open(None, clock=loop_clock(), services=services, admission=admission)
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.run())
            await asyncio.sleep(0)
            asking = Asking(server)
            await asking.create(CRDS, GIZMO)
            yield asking
            task.cancel()
    finally:
        server.close()


def bundle() -> str:
    """The certificate authority as `caBundle`."""
    return base64.b64encode(CA.certificate).decode()


def hook(name: str, client: str | Document, **fields: Any) -> Document:
    """One webhook about all Gizmos. client: a URL, or a `clientConfig`."""
    config = {"url": client, "caBundle": bundle()} if isinstance(client, str) else client
    rule = {
        "apiGroups": ["example.dev"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["gizmos"],
    }
    return {
        "name": name,
        "clientConfig": config,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [rule],
        **fields,
    }


async def configure(asking: Asking, role: str, *hooks: Document, name: str = "hooks") -> Document:
    """Store a configuration. role: validating or mutating."""
    document = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{role.capitalize()}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }
    stored: Document = await asking.create(CONFIGURATIONS.format(role), document)
    return stored


def allow(_: Document) -> Document:
    """Yes."""
    return {"allowed": True}


def deny(message: str) -> Answer:
    """No, and why."""
    return lambda _: {"allowed": False, "status": {"message": message}}


def patch(*operations: Document) -> Answer:
    """Yes, with a JSON patch."""
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": encoded}
