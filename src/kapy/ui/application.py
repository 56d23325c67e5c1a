"""The pages as one ASGI application: routes, sessions, failures."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeAlias

import msgspec

from kapy._aio.asgi import Receive, Scope, Send, read_body
from kapy._aio.clock import Clock
from kapy.kube.errors import ApiError, Forbidden, KapyError, Unreachable
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.http import ANONYMOUS, User
from kapy.ui import web
from kapy.ui.action_page import do_action, preview_action
from kapy.ui.cluster_page import show_cluster, show_object, stream_cluster
from kapy.ui.fleet_page import show_fleet, stream_fleet
from kapy.ui.page import PageContext, PageOptions, error_page
from kapy.ui.plan_page import show_plan, show_plan_form
from kapy.ui.providers_page import show_providers
from kapy.ui.rendering import asset_response, compute
from kapy.ui.sessions import ChosenKubeconfig, Draft, LinkUnusable, Session, Sessions
from kapy.ui.viewers import Connect, Viewers
from kapy.ui.web import PREFIX, WebError, WebRequest, WebResponse

log = logging.getLogger(__name__)

MOST_STREAMS: Final = 500
MOST_STREAMS_OF_A_USER: Final = 100
"""Open pages that hear of changes, of all users and of one."""

MAX_LINK_REQUEST: Final = 1024 * 1024
"""Bytes of a request for a link: it may bring YAML for a plan."""


Handler: TypeAlias = Callable[..., Awaitable[WebResponse]]

ROUTES: Final[Mapping[tuple[str, str], tuple[Handler, int]]] = {
    ("GET", ""): (show_fleet, 0),
    ("GET", "live-fleet"): (stream_fleet, 0),
    ("GET", "clusters"): (show_cluster, 2),
    ("GET", "live-cluster"): (stream_cluster, 2),
    ("GET", "objects"): (show_object, 5),
    ("GET", "actions"): (preview_action, 2),
    ("POST", "actions"): (do_action, 2),
    ("GET", "plan"): (show_plan_form, 0),
    ("POST", "plan"): (show_plan, 0),
    ("GET", "providers"): (show_providers, 0),
}
"""The handlers by method and first segment, with the number of segments that follow it."""


class LinkRequest(msgspec.Struct, rename="camel"):
    """The body of a request for a link. draft: a change whose plan the link shows, None for the
    fleet. kubeconfig: the one by which the user reaches this server."""

    allow_actions: bool = False
    draft: Draft | None = None
    kubeconfig: ChosenKubeconfig = ChosenKubeconfig()


def _status_of(error: Exception, path: str) -> tuple[int, str]:
    """Return the HTTP status and the message about a failure of a page."""
    match error:
        case WebError():
            return error.status, str(error)
        case Forbidden():
            return 403, f"your rights do not allow this: {error}"
        case ApiError():
            return (error.code if 400 <= error.code < 500 else 502), str(error)
        case Unreachable():
            return 502, f"the API server cannot be reached: {error}"
        case KapyError():
            return 400, str(error)
    log.error("a page failed: %r", path[:200], exc_info=error)
    return 500, "this page failed; the server's log has the reason"


class FleetPages:
    """An ASGI application for all paths under `/ui`; it answers while it is `running`."""

    def __init__(
        self, connect: Connect, *, clock: Clock, options: PageOptions | None = None
    ) -> None:
        self.options = options or PageOptions()
        self.sessions = Sessions(clock)
        self._clock = clock
        self._viewers = Viewers(connect, clock, self.options.namespaces)
        self._group: asyncio.TaskGroup | None = None
        self._streams: dict[asyncio.Task[Any], Session] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests while the context is open; the watches of all viewers end with it. An
        exception of the body is raised as it is."""
        failure: Exception | None = None
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            except Exception as error:
                failure = error
            finally:
                self._group = None
                self._viewers.close()
        if failure is not None:
            raise failure

    async def stop(self) -> None:
        """End all open streams."""
        for task in list(self._streams):
            task.cancel()

    def login_path(self, user: User, **properties: Any) -> str:
        """Return the path of a new one-time link that logs a user in. properties: values for the
        fields of its Session.
        """
        token = self.sessions.make_link(user, **properties)
        return f"{PREFIX}/login?token={token}"

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send, user: User = ANONYMOUS
    ) -> None:
        """Answer one request, as ASGI 3 defines. user: the user of the API credentials that were
        sent with it.
        """
        try:
            response = await self._answer(scope, receive, user)
        except Exception as error:
            response = error_page(*_status_of(error, scope["path"]))
        is_head = scope["method"] == "HEAD"
        session = self._session(web.request_of(scope)) if response.stream is not None else None
        if response.stream is None or session is None or is_head:
            await web.send_response(send, response, head=is_head)
        else:
            await self._stream(send, receive, response, session)

    async def _answer(self, scope: Scope, receive: Receive, user: User) -> WebResponse:
        self._check_host(scope)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise WebError(405, "the pages support GET and POST only")
        request = web.request_of(scope)
        match request.path:
            case ("assets", *rest):
                return asset_response(tuple(rest))
            case ("links",) if request.method == "POST":
                return await self._link(receive, user)
            case ("login",) if request.method == "GET":
                return self._log_in(request)
        session = self._session(request)
        if session is None:
            raise WebError(401, "you are not logged in: `kapy ui` prints a link that logs you in")
        if request.method == "POST":
            body = await read_body(receive, web.MAX_FORM)
            if len(body) > web.MAX_FORM:
                raise WebError(413, f"a form may have {web.MAX_FORM // 2**20} MiB at most")
            request = await compute(partial(web.request_of, scope, body))
            _check_form(request, session)
            if request.path == ("logout",):
                return self._log_out(request)
        return await self._page(request, session)

    async def _page(self, request: WebRequest, session: Session) -> WebResponse:
        """Return the response to the request of a logged-in user."""
        group = self._group
        if group is None:
            raise WebError(503, "the server is starting or stopping; try again in a moment")
        viewer = self._viewers.of(session.user)
        context = PageContext(request, session, viewer, group, self._clock(), self.options)
        name, *rest = request.path or ("",)
        handler, segments = ROUTES.get((request.method.replace("HEAD", "GET"), name), (None, 0))
        if handler is None or len(rest) != segments:
            return error_page(404, "there is no such page", request)
        if name.startswith("live-"):
            self._check_streams(session)
        began = perf_counter()
        try:
            return await handler(context, *rest)
        except Exception as error:
            return error_page(*_status_of(error, "/".join(request.path)), request)
        finally:
            viewer.page_seconds[name] = perf_counter() - began

    def _session(self, request: WebRequest) -> Session | None:
        return self.sessions.get(request.cookie(self.options.cookie))

    def _check_streams(self, session: Session) -> None:
        """Limit the number of open pages, because each one watches objects. Raises WebError."""
        own = sum(stream.user.name == session.user.name for stream in self._streams.values())
        if own >= MOST_STREAMS_OF_A_USER or len(self._streams) >= MOST_STREAMS:
            raise WebError(429, "too many pages are open: close some, then load this one again")

    async def _link(self, receive: Receive, user: User) -> WebResponse:
        """Return a new link to a program that sent its credentials for the API."""
        if user.name == ANONYMOUS.name:
            raise WebError(401, "a link is made for users with credentials for the API server")
        body = await read_body(receive, MAX_LINK_REQUEST)
        try:
            wanted = msgspec.convert(decode_json(body or b"{}"), LinkRequest)
        except (BadJson, msgspec.MsgspecError) as error:
            raise WebError(400, f"the body is no request for a link: {error}") from None
        path = self.login_path(user, **msgspec.structs.asdict(wanted))
        return WebResponse(201, json.dumps({"path": path}).encode(), "application/json")

    def _log_in(self, request: WebRequest) -> WebResponse:
        try:
            token = self.sessions.log_in(request.query.get("token", ""))
        except LinkUnusable as error:
            raise WebError(403, str(error)) from None
        secure = "; Secure" if self.options.secure else ""
        cookie = f"{self.options.cookie}={token}; Path={PREFIX}; HttpOnly; SameSite=Strict{secure}"
        # A page, not a redirect: browsers send a strict cookie only if this site led to the next.
        response = error_page(200, "")
        session = self.sessions.get(token)
        first = "/plan" if session is not None and session.draft is not None else "/"
        headers = {"set-cookie": cookie, "refresh": f"0; url={PREFIX}{first}"}
        return WebResponse(200, response.body, response.kind, headers)

    def _log_out(self, request: WebRequest) -> WebResponse:
        if (session := self._session(request)) is not None:
            self._end_streams(session)
        self.sessions.log_out(request.cookie(self.options.cookie))
        cookie = f"{self.options.cookie}=; Path={PREFIX}; HttpOnly; SameSite=Strict; Max-Age=0"
        response = web.redirect(f"{PREFIX}/")
        return WebResponse(response.status, headers={**response.headers, "set-cookie": cookie})

    def _check_host(self, scope: Scope) -> None:
        """Refuse other host names, to prevent DNS rebinding. Raises WebError."""
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        if self.options.hosts and host.decode("latin-1").lower() not in self.options.hosts:
            raise WebError(421, "this server has another name")

    async def _stream(
        self, send: Send, receive: Receive, response: WebResponse, session: Session
    ) -> None:
        """Send events until the browser leaves, the session ends or the server stops."""
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(web.send_response(send, response))
            leaving = group.create_task(_wait_for_disconnect(receive))
            self._streams[leaving] = session
            try:
                async with asyncio.timeout((session.ends - self._clock()).total_seconds()):
                    await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            except TimeoutError:
                log.debug("a session ended while one of its pages was open")
            finally:
                self._streams.pop(leaving, None)
                sending.cancel()
                is_stopped = leaving.cancelled()
                leaving.cancel()
        if is_stopped:
            await send({"type": "http.response.body", "body": b""})

    def _end_streams(self, session: Session) -> None:
        for task in [task for task, own in self._streams.items() if own is session]:
            task.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _check_form(request: WebRequest, session: Session) -> None:
    """Refuse a form that is not from a page of this session. Raises WebError."""
    request.check_same_origin()
    token = request.form.get(web.CSRF_FIELD) or request.headers.get(web.CSRF_HEADER, "")
    if not session.accepts(token):
        raise WebError(403, "this form is not from this session: load the page again")
