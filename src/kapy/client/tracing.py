"""Trace spans for requests to API servers."""

from __future__ import annotations

from dataclasses import replace

from kapy._aio.tracing import is_on, propagation_headers, span
from kapy.client.intercept import Interceptor
from kapy.kube.http import Reply, Request, Transport


class TracingTransport(Interceptor):
    """Creates a span for every request except watches.

    The span's context is sent to the server if it is another program.
    """

    __slots__ = ()

    async def __call__(self, request: Request) -> Reply:
        if "watch" in request.query:
            return await self.transport(request)
        attributes = {
            "http.request.method": request.method,
            "url.path": request.path,
            "server.address": self.host,
        }
        with span(f"{request.method} {request.path}", attributes, kind="client") as new_span:
            if self.over_network:
                request = replace(request, headers={**request.headers, **propagation_headers()})
            reply = await self.transport(request)
            new_span.set_attribute("http.response.status_code", reply.status)
            return reply


def with_tracing(transport: Transport) -> Transport:
    """Return the transport, with spans if tracing is enabled."""
    return TracingTransport(transport) if is_on() else transport
