"""Calls of runtime extensions by a worker: the plane makes them.

So `kapy hooks watch` shows all calls, and the addresses of Services are those that the plane knows.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kapy.api.extension_config import ClientConfig
from kapy.apps.workers.channel import HOOK, Channel
from kapy.client.reply import failure_of
from kapy.hooks.transport import Answer, HookTransport, NoAnswer
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request

_NO_ANSWER: Final = 504


class _Call(msgspec.Struct, array_like=True):
    client: ClientConfig
    url: str
    body: bytes


class HooksOverChannel:
    """The transport of a worker (`kapy.hooks.transport.HookTransport`)."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        """Send a POST and return the answer. Raises NoAnswer."""
        call = msgspec.json.encode(_Call(client, url, body))
        try:
            reply = await self._channel.ask(HOOK, Request("POST", "/", body=call))
        except Unreachable as error:
            raise NoAnswer(str(error)) from None
        if reply.status != 200:
            raise NoAnswer(str(failure_of(reply)))
        assert isinstance(reply.body, bytes)
        return msgspec.json.decode(reply.body, type=Answer)

    async def aclose(self) -> None:
        """Do nothing: the channel stays open."""


async def call_hook(post: HookTransport, request: Request) -> Reply:
    """Make the call of a worker."""
    assert isinstance(request.body, bytes)
    call = msgspec.json.decode(request.body, type=_Call)
    try:
        answer = await post(call.client, call.url, call.body)
    except NoAnswer as error:
        return Reply(_NO_ANSWER, str(error).encode())
    return Reply(200, msgspec.json.encode(answer))
