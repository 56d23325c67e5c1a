"""Spans of requests to API servers."""

from __future__ import annotations

from dataclasses import replace

from kapy._aio.tracing import carried, is_on, span
from kapy.client.intercept import Interceptor
from kapy.kube.http import Reply, Request, Transport


class Traced(Interceptor):
    """Tells of every request that somebody waits for; a watch is none.

    The server is told of the span, too, where it is another program.
    """

    __slots__ = ()

    async def __call__(self, request: Request) -> Reply:
        if "watch" in request.query:
            return await self.transport(request)
        asked = {
            "http.request.method": request.method,
            "url.path": request.path,
            "server.address": self.host,
        }
        with span(f"{request.method} {request.path}", asked, kind="client") as told:
            if self.over_network:
                request = replace(request, headers={**request.headers, **carried()})
            reply = await self.transport(request)
            told.set_attribute("http.response.status_code", reply.status)
            return reply


def traced(transport: Transport) -> Transport:
    """The transport, with spans where anybody may want them."""
    return Traced(transport) if is_on() else transport
