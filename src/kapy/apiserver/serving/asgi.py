"""The ASGI application of a Server: authentication, limits, and sending of responses."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol

from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.auth.impersonation import parse_impersonation
from kapy.apiserver.kubelet.exec import Execution
from kapy.apiserver.kubelet.port_forward import PortForward
from kapy.apiserver.request.limits.large_requests import LARGE_YAML
from kapy.apiserver.request.limits.max_in_flight import RETRY_AFTER, InFlightRequests, is_probe
from kapy.apiserver.resources.metadata import new_uid
from kapy.apiserver.resources.sizes import is_longer
from kapy.apiserver.server import Server
from kapy.apiserver.server.error_replies import error_reply
from kapy.apiserver.server.immediate_reads import read_at_once
from kapy.apiserver.serving import asgi_messages, request_log
from kapy.apiserver.serving.asgi_messages import Receive, Scope, Send
from kapy.apiserver.serving.immediate_request import ImmediateRequest
from kapy.apiserver.serving.streaming import EventStream, StreamingResponse
from kapy.kube.errors import ApiError, BadRequest, TooManyRequests, Unauthorized
from kapy.kube.http import ANONYMOUS, Arrival, Reply, Request, User

if TYPE_CHECKING:
    from kapy.apiserver.audit.auditor import AuditedRequest
    from kapy.apiserver.kubelet.connections import Closable

_YAML: Final = "application/yaml"
CUT_SECONDS: Final = 5.0
"""Seconds that the reader of an ended watch gets to read buffered data. A timer, because nothing
signals that a client no longer reads.
"""


class Mounted(Protocol):
    """An ASGI application with a path prefix of its own, which is served beside the API server."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send, user: User) -> None:
        """Handle one HTTP request of a user (anonymous without credentials for the API)."""

    async def stop(self) -> None:
        """End all open streams."""


def first_segment(path: str) -> str:
    """Return the first segment of a path, "" if it has none (`*` of `OPTIONS *`)."""
    return path.removeprefix("/").partition("/")[0] if path.startswith("/") else ""


class Application:
    """One Server as an ASGI application.

    `stop` ends all streams, so that open watches do not delay the shutdown. mounts: other
    applications by the first segment of their paths; they authorize their requests themselves.
    """

    def __init__(self, server: Server, authentication: Authenticator | None = None) -> None:
        self._server = server
        self._authentication = authentication or Authenticator()
        server.access.authenticate_by(self._authentication)
        self.mounts: dict[str, Mounted] = {}
        self._streams: set[StreamingResponse | Closable] = set()
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        if self.mounts:
            mounted = self.mounts.get(first_segment(scope["path"]))
            if mounted is not None:
                await self._serve_mounted(mounted, scope, receive, send)
                return
        headers = asgi_messages.parse_headers(scope)
        name = headers.get("audit-id") or new_uid(self._server.context.rng)
        arrival = asgi_messages.parse_arrival(scope, name, perf_counter())
        request = Request(
            scope["method"],
            scope["path"],
            asgi_messages.parse_query(scope),
            headers,
            None,
            None,
            arrival,
        )
        try:
            reply = await self._answer(scope, request, arrival, receive)
        except Exception as error:  # the audit log itself failed
            reply = error_reply(error, request)
        if reply is None:
            return
        if isinstance(reply, (PortForward, Execution)):
            await self._hand_over(reply, scope)
            return
        stream = not isinstance(reply.body, dict | bytes)
        if stream:
            await self._stream(reply, name, scope, receive, send)
        else:
            if isinstance(reply.body, dict) and asgi_messages.wants_yaml(headers, reply):
                reply = await self._encode_yaml(reply, request)
            size = await self._send(send, scope, reply, request)
            if reply.sent is not None:
                reply.sent(size)
        seconds = perf_counter() - arrival.received
        request_log.log_request(request, reply.status, seconds, stream=stream)

    def read_at_once(self, head: ImmediateRequest) -> tuple[str, bytes] | None:
        """Return the audit id and the body of the response to a read of one object that needs no
        waiting; None if `__call__` has to handle the request.
        """
        server = self._server
        if (
            server.audit is not None
            or self._stopping
            or server.health.is_shutting_down
            or request_log.is_enabled()
        ):
            return None
        began = perf_counter()
        user = head.peer
        try:
            if user is None:
                user = self._authentication.authenticate(head.authorization, None)
            if not head.introduce(user):
                return None
            room = server.max_in_flight.reading
            if not room.enter(user):
                return None
            room.leave()
        except ApiError:  # `__call__` answers with it
            return None
        content = read_at_once(server, head.path, user, began)
        return None if content is None else (new_uid(server.context.rng), content)

    async def _serve_mounted(
        self, mounted: Mounted, scope: Scope, receive: Receive, send: Send
    ) -> None:
        headers = asgi_messages.parse_headers(scope)
        request = Request(scope["method"], scope["path"], headers=headers)
        try:
            user = self._authentication.authenticate(
                headers.get("authorization", ""), scope.get("state", {}).get("peer")
            )
            if parse_impersonation(scope["headers"]) is not None:
                raise BadRequest("these pages support no impersonation")
        except Exception as error:
            await self._send(send, scope, error_reply(error, request), request)
            return
        if self._stopping or self._server.health.is_shutting_down:
            await self._send(send, scope, _STOPPING, request)
            return
        await mounted(scope, receive, send, user)

    async def _encode_yaml(self, reply: Reply, request: Request) -> Reply:
        """Convert a reply to YAML, outside the event loop if it is large."""
        user = request.user or ANONYMOUS
        try:
            if is_longer(reply.body, LARGE_YAML):
                result = await self._server.context.large_work.run(
                    user, partial(asgi_messages.encode_yaml, reply.body)
                )
            else:
                result = asgi_messages.encode_yaml(reply.body)
        except Exception as error:  # too many large requests, or encoding failed
            return error_reply(error, request)
        return replace(reply, body=result, headers={**reply.headers, "content-type": _YAML})

    async def _answer(
        self, scope: Scope, request: Request, arrival: Arrival, receive: Receive
    ) -> Reply | None:
        """Return the reply, None if the client disconnected. Writes audit events if enabled."""
        audit = self._server.audit
        try:
            user = self._authentication.authenticate(
                request.headers.get("authorization", ""), scope.get("state", {}).get("peer")
            )
        except Exception as error:
            return self._unauthenticated_reply(request, error)
        arrival.user = request.user = user
        introduce = scope.get("state", {}).get("introduce")
        if introduce is not None and not introduce(user):
            return _CROWDED
        trail = None if audit is None else audit.begin(request)
        try:
            result = await self._limited_reply(scope, request, user, receive, trail)
        except BaseException:  # the task was cancelled: every request must end in the log
            if audit is not None and trail is not None:
                audit.record_disconnect(trail)
            raise
        if audit is not None and trail is not None:
            if result is None:
                audit.record_disconnect(trail)
            else:
                audit.record_response(trail, result)
        return result

    def _unauthenticated_reply(self, request: Request, error: Exception) -> Reply:
        """Return the reply to a request that could not be authenticated. Writes an audit event."""
        reply, audit = error_reply(error, request), self._server.audit
        if audit is not None and (trail := audit.begin(request)) is not None:
            if isinstance(error, Unauthorized):
                audit.record_unauthenticated(
                    trail, reply, "Authentication failed, attempted: bearer"
                )
            else:
                audit.record_response(trail, reply)
        return reply

    async def _limited_reply(
        self,
        scope: Scope,
        request: Request,
        user: User,
        receive: Receive,
        trail: AuditedRequest | None,
    ) -> Reply | None:
        """Return the reply to an authenticated request, if the limits allow it."""
        server = self._server
        room: InFlightRequests | None = None
        try:
            wish = parse_impersonation(scope["headers"])
            if wish is not None:
                user = request.user = server.access.impersonate(request, user, wish)
                if trail is not None:
                    trail.set_impersonated_user(user)
            if (self._stopping or server.health.is_shutting_down) and not is_probe(request):
                return _STOPPING
            try:
                room = server.max_in_flight.enter(request, user)
            except TooManyRequests:
                server.count_refused(request)
                raise
            body = await asgi_messages.read_body(request.headers, receive)
            if body is None:
                return None
            request.body = body
            return await server(request)
        except Exception as error:
            return error_reply(error, request)
        finally:
            if room is not None:
                room.leave()

    async def _send(self, send: Send, scope: Scope, reply: Reply, request: Request) -> int:
        """Send a whole reply; return the size of its body."""
        name = "" if request.arrival is None else request.arrival.audit_id
        try:
            if asgi_messages.is_long_list(reply):
                parts = await asgi_messages.encode_in_parts(reply.body)
                begin, content = asgi_messages.start_of_parts(reply, name, parts), b""
            else:
                begin, content = asgi_messages.encode_reply(scope, reply, name)
                parts = [content] if len(content) > asgi_messages.PIECE else []
        except Exception as error:  # encoding failed: nothing was sent yet
            begin, content = asgi_messages.encode_reply(scope, error_reply(error, request), name)
            parts = []
        await send(begin)
        if parts and scope["method"] != "HEAD":
            return await asgi_messages.send_in_pieces(send, parts)
        await send({"type": "http.response.body", "body": content})
        return len(content)

    async def _stream(
        self, reply: Reply, name: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        stream: Any = reply.body
        kind = reply.headers.get("content-type", "").encode() or asgi_messages.JSON
        await send(asgi_messages.start_message(reply, kind, name, None))
        if not isinstance(stream, StreamingResponse):
            stream = EventStream(aiter(stream))
        await self._watch(stream, scope, receive, send)

    async def _hand_over(self, reply: PortForward | Execution, scope: Scope) -> None:
        """Turn the request's connection into streams (exec, port-forward) until either side
        ends it.
        """
        from kapy.apiserver.kubelet.connections import stream_connection

        connection = stream_connection(reply)
        self._streams.add(connection.closable)
        try:
            scope["state"]["hand_over"](connection.protocol, connection.head)
            await connection.serve()
        finally:
            self._streams.discard(connection.closable)
            connection.closable.close()

    async def _watch(
        self, stream: StreamingResponse, scope: Scope, receive: Receive, send: Send
    ) -> None:
        abandon = _SendTimeout(scope)
        stream.when_closed(abandon.begin)
        self._streams.add(stream)
        try:
            async with asyncio.TaskGroup() as group:
                leaving = group.create_task(_close_on_disconnect(receive, stream))
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
        for mounted in self.mounts.values():
            await mounted.stop()


async def send_crowded(scope: Scope, send: Send, audit_id: str) -> None:
    """Send the error response 429: the user has too many connections."""
    begin, content = asgi_messages.encode_reply(scope, _CROWDED, audit_id)
    await send(begin)
    await send({"type": "http.response.body", "body": content})


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


class _SendTimeout:
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


async def _close_on_disconnect(receive: Receive, stream: StreamingResponse) -> None:
    """End a watch when its client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    await stream.aclose()
