"""Trace spans for requests to API servers."""

from __future__ import annotations

from dataclasses import replace

from kapy._aio.tracing import carried, is_on, span
from kapy.client.intercept import Interceptor
from kapy.kube.http import Reply, Request, Transport


class Traced(Interceptor):
    """Creates a span for every request except watches.

    The span's context is sent to the server if it is another program.
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
    """The transport, with spans if tracing is enabled."""
    return Traced(transport) if is_on() else transport
