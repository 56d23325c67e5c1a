"""A blocking transport, for a command that makes a few calls and ends; it works with any clock."""

from __future__ import annotations

import base64
from typing import Final
from urllib.parse import urlsplit

import msgspec

from kapy.api.extension_config import ClientConfig
from kapy.client.blocking import BlockingApiTransport
from kapy.client.kubeconfig import Kubeconfig, KubeconfigError
from kapy.hooks.transport import LARGEST_ANSWER, Answer, NoAnswer
from kapy.kube.errors import Unreachable
from kapy.kube.http import Request

SECONDS: Final = 10.0


class BlockingTransport:
    """Sends requests over the network, one connection per call (a
    `kapy.hooks.transport.HookTransport`).
    """

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        parts = urlsplit(url)
        access = Kubeconfig(
            server=f"{parts.scheme}://{parts.netloc}",
            certificate_authority=base64.b64decode(client.ca_bundle),
        )
        headers = {"content-type": "application/json"}
        query = dict(part.split("=", 1) for part in parts.query.split("&") if "=" in part)
        try:
            server = BlockingApiTransport(access, timeout=SECONDS, max_bytes=LARGEST_ANSWER)
        except KubeconfigError:
            raise NoAnswer("the caBundle is no PEM") from None
        try:
            reply = await server(Request("POST", parts.path, query, headers, body))
        except Unreachable as error:
            raise NoAnswer(str(error)) from None
        finally:
            server.close()
        answer = reply.body if isinstance(reply.body, bytes) else msgspec.json.encode(reply.body)
        return Answer(reply.status, answer)

    async def aclose(self) -> None:
        """Do nothing: no connection is kept open."""
