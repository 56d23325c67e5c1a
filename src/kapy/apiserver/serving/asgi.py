"""The ASGI application of a Server: authentication, limits, and sending of responses."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from kapy.apiserver.authentication import Authentication
from kapy.apiserver.failures import failure
from kapy.apiserver.impersonation import wish_of
from kapy.apiserver.metadata import new_uid
from kapy.apiserver.server import Server
from kapy.apiserver.serving import executing, forwarding, request_log, wire
from kapy.apiserver.serving.executing import CommandConnection, Execution
from kapy.apiserver.serving.forwarding import PortForward, Ports
from kapy.apiserver.serving.lasting import Lasting
from kapy.apiserver.serving.wire import Receive, Scope, Send
from kapy.apiserver.sizes import is_longer
from kapy.apiserver.traffic.inflight import RETRY_AFTER, Room, is_probe
from kapy.apiserver.traffic.large import LARGE_YAML
from kapy.kube.errors import TooManyRequests, Unauthorized
from kapy.kube.http import ANONYMOUS, Arrival, Reply, Request, User

if TYPE_CHECKING:
    from kapy.apiserver.audit.auditor import Trail

_YAML: Final = "application/yaml"
CUT_SECONDS: Final = 5.0
"""Seconds that the reader of an ended watch gets to read buffered data. A timer, because nothing
signals that a client no longer reads.
"""


class Application:
    """One Server as an ASGI application.

    `stop` ends all streams, so that open watches do not delay the shutdown.
    """

    def __init__(self, server: Server, authentication: Authentication | None = None) -> None:
        self._server = server
        self._authentication = authentication or Authentication()
        server.access.authenticate_by(self._authentication)
        self._streams: set[Lasting | Ports | CommandConnection] = set()
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        headers = wire.headers_of(scope)
        name = headers.get("audit-id") or new_uid(self._server.plane.rng)
        arrival = wire.arrival_of(scope, name, perf_counter())
        request = Request(
            scope["method"], scope["path"], wire.query_of(scope), headers, None, None, arrival
        )
        try:
            reply = await self._answer(scope, request, arrival, receive)
        except Exception as error:  # the audit log itself failed
            reply = failure(error, request)
        if reply is None:
            return
        if isinstance(reply, (PortForward, Execution)):
            await self._handed_over(reply, scope)
            return
        stream = not isinstance(reply.body, dict | bytes)
        if stream:
            await self._stream(reply, name, scope, receive, send)
        else:
            if isinstance(reply.body, dict) and wire.wants_yaml(headers, reply):
                reply = await self._as_yaml(reply, request)
            size = await self._send(send, scope, reply, request)
            if reply.sent is not None:
                reply.sent(size)
        seconds = perf_counter() - arrival.received
        request_log.answered(request, reply.status, seconds, stream=stream)

    async def _as_yaml(self, reply: Reply, request: Request) -> Reply:
        """Convert a reply to YAML, outside the event loop if it is large."""
        user = request.user or ANONYMOUS
        try:
            if is_longer(reply.body, LARGE_YAML):
                made = await self._server.plane.large.run(user, partial(wire.yaml_of, reply.body))
            else:
                made = wire.yaml_of(reply.body)
        except Exception as error:  # too many large requests, or encoding failed
            return failure(error, request)
        return replace(reply, body=made, headers={**reply.headers, "content-type": _YAML})

    async def _answer(
        self, scope: Scope, request: Request, arrival: Arrival, receive: Receive
    ) -> Reply | None:
        """Return the reply, None if the client disconnected. Writes audit events if enabled."""
        audit = self._server.audit
        try:
            user = self._authentication.user(
                request.headers.get("authorization", ""), scope.get("state", {}).get("peer")
            )
        except Exception as error:
            return self._unknown(request, error)
        arrival.user = request.user = user
        introduce = scope.get("state", {}).get("introduce")
        if introduce is not None and not introduce(user):
            return _CROWDED
        trail = None if audit is None else audit.begin(request)
        try:
            found = await self._admitted(scope, request, user, receive, trail)
        except BaseException:  # the task was cancelled: every request must end in the log
            if audit is not None and trail is not None:
                audit.cut_off(trail)
            raise
        if audit is not None and trail is not None:
            if found is None:
                audit.cut_off(trail)
            else:
                audit.answered(trail, found)
        return found

    def _unknown(self, request: Request, error: Exception) -> Reply:
        """Return the reply to a request that could not be authenticated. Writes an audit event."""
        reply, audit = failure(error, request), self._server.audit
        if audit is not None and (trail := audit.begin(request)) is not None:
            if isinstance(error, Unauthorized):
                audit.refused(trail, reply, "Authentication failed, attempted: bearer")
            else:
                audit.answered(trail, reply)
        return reply

    async def _admitted(
        self, scope: Scope, request: Request, user: User, receive: Receive, trail: Trail | None
    ) -> Reply | None:
        """Return the reply to an authenticated request, if the limits allow it."""
        server = self._server
        room: Room | None = None
        try:
            wish = wish_of(scope["headers"])
            if wish is not None:
                user = request.user = server.access.impersonated(request, user, wish)
                if trail is not None:
                    trail.impersonated(user)
            if (self._stopping or server.health.stopping) and not is_probe(request):
                return _STOPPING
            try:
                room = server.inflight.enter(request, user)
            except TooManyRequests:
                server.refused(request)
                raise
            body = await wire.body_of(request.headers, receive)
            if body is None:
                return None
            request.body = body
            return await server(request)
        except Exception as error:
            return failure(error, request)
        finally:
            if room is not None:
                room.leave()

    async def _send(self, send: Send, scope: Scope, reply: Reply, request: Request) -> int:
        """Send a whole reply; return the size of its body."""
        name = "" if request.arrival is None else request.arrival.audit_id
        try:
            if wire.is_long_list(reply):
                parts = await wire.encoded_in_parts(reply.body)
                begin, content = wire.start_of_parts(reply, name, parts), b""
            else:
                begin, content = wire.messages_of(scope, reply, name)
                parts = [content] if len(content) > wire.PIECE else []
        except Exception as error:  # encoding failed: nothing was sent yet
            begin, content = wire.messages_of(scope, failure(error, request), name)
            parts = []
        await send(begin)
        if parts and scope["method"] != "HEAD":
            return await wire.send_in_pieces(send, parts)
        await send({"type": "http.response.body", "body": content})
        return len(content)

    async def _stream(
        self, reply: Reply, name: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        stream: Any = reply.body
        kind = reply.headers.get("content-type", "").encode() or wire.JSON
        await send(wire.start(reply, kind, name, None))
        if isinstance(stream, Lasting):
            await self._watch(stream, scope, receive, send)
            return
        async for event in stream:
            line = wire.line_of(event)
            await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _handed_over(self, reply: PortForward | Execution, scope: Scope) -> None:
        """Turn the request's connection into streams (exec, port-forward) until either side
        ends it.
        """
        connection: Ports | CommandConnection
        if isinstance(reply, PortForward):
            assert reply.connect is not None
            connection, head = Ports(), forwarding.head()
            serving = partial(connection.serve, reply.connect)
        else:
            assert reply.run is not None
            assert reply.wanted is not None
            connection, head = CommandConnection(reply.wanted), executing.head()
            serving = partial(connection.serve, reply.run)
        self._streams.add(connection)
        try:
            scope["state"]["hand_over"](connection, head)
            await serving()
        finally:
            self._streams.discard(connection)
            connection.close()

    async def _watch(self, stream: Lasting, scope: Scope, receive: Receive, send: Send) -> None:
        abandon = _Abandonment(scope)
        stream.when_closed(abandon.begin)
        self._streams.add(stream)
        try:
            async with asyncio.TaskGroup() as group:
                leaving = group.create_task(_until_gone(receive, stream))
                async for lines in stream.lines():
                    await send({"type": "http.response.body", "body": lines, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
                leaving.cancel()
        finally:
            self._streams.discard(stream)
            stream.when_closed(None)
            abandon.end()
            await stream.aclose()

    async def stop(self) -> None:
        """Refuse new requests and end all watches."""
        self._stopping = True
        for stream in list(self._streams):
            await stream.aclose()


_CROWDED: Final = Reply(
    429,
    {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "too many connections of users are open; close some, or use them for more",
        "reason": "TooManyRequests",
        "details": {"retryAfterSeconds": RETRY_AFTER},
        "code": 429,
    },
    {"retry-after": str(RETRY_AFTER), "connection": "close"},
)
_STOPPING: Final = Reply(
    503,
    {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "apiserver is shutting down",
        "reason": "ServiceUnavailable",
        "details": {"retryAfterSeconds": RETRY_AFTER},
        "code": 503,
    },
    {"retry-after": str(RETRY_AFTER)},
)


class _Abandonment:
    """Closes the connection of a client that does not read to the end."""

    def __init__(self, scope: Scope) -> None:
        self._abort = scope.get("state", {}).get("abort")
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        if self._abort is not None:
            self._timer = asyncio.get_running_loop().call_later(CUT_SECONDS, self._abort)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


async def _until_gone(receive: Receive, stream: Lasting) -> None:
    """End a watch when its client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    await stream.aclose()
