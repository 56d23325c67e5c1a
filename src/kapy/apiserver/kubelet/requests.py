"""Requests that only a Pod's kubelet can answer: logs, exec, attach, port-forward."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from kapy._aio.clock import Clock
from kapy.apiserver.kubelet.exec import RunCommand, execution
from kapy.apiserver.kubelet.port_forward import Connect, port_forward
from kapy.apiserver.request.parameters import bool_parameter, int_parameter
from kapy.apiserver.request.request_info import RequestInfo, request_info
from kapy.kube.errors import ApiError, BadRequest
from kapy.kube.http import Reply, Request


class UnsupportedByRuntime(ApiError):
    """The runtime of the Pod does not support the request (501)."""

    code = 501
    reason = "NotImplemented"


class LogOptions(NamedTuple):
    """The options of a request for a container's log.

    previous: whether the log of the previous container is requested. tail, limit: the maximum
    number of lines and bytes. since: the time of the first line, in Unix time. timestamps: whether
    each line begins with its time.
    """

    previous: bool = False
    follow: bool = False
    tail: int | None = None
    limit: int | None = None
    since: float = 0.0
    timestamps: bool = False


class Kubelet(Protocol):
    """The node agent that runs the Pods of a server's Nodes."""

    def log(
        self, namespace: str, pod: str, container: str, options: LogOptions
    ) -> AsyncIterator[bytes] | None:
        """Return a container's output in pieces, None if this kubelet does not run the Pod.

        Raises BadRequest, NotFound.
        """
        ...

    def connect(self, namespace: str, pod: str) -> Connect | None:
        """Return a function that connects to a Pod's ports. None and errors are as for `log`."""
        ...

    def command(self, namespace: str, pod: str, container: str) -> RunCommand | None:
        """Return a function that runs commands in a container. None and errors are as for `log`.

        Raises UnsupportedByRuntime, too.
        """
        ...

    def attachment(self, namespace: str, pod: str, container: str) -> RunCommand | None:
        """Return a function that attaches streams to a container's first process, as `command`
        does.
        """
        ...


class LogStream:
    """A container's log as a streaming response, which either side may end."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._on_end: Callable[[], None] | None = None
        self._open = True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece = await anext(self._pieces)
        if not self._open:
            raise StopAsyncIteration
        return piece

    def lines(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the log as they are written."""
        return self

    def when_closed(self, callback: Callable[[], None] | None) -> None:
        """Set a callback for when the server ends the stream."""
        self._on_end = callback

    async def aclose(self) -> None:
        """End the stream."""
        if self._open:
            self._open = False
            if self._on_end is not None:
                self._on_end()


class KubeletRequests:
    """The handler of authorized requests for subresources of Pods.

    others: handles requests for Pods that this kubelet does not run, or None.
    """

    def __init__(
        self, kubelet: Kubelet, others: Callable[[Request], Reply | None] | None, clock: Clock
    ) -> None:
        self._kubelet = kubelet
        self._clock = clock
        self._others = others

    def __call__(self, request: Request) -> Reply | None:
        """Return the response to a request, None if no kubelet can handle it. Raises BadRequest,
        UnsupportedByRuntime.
        """
        result = self._answer(request, request_info(request))
        return self._others(request) if result is None and self._others is not None else result

    def _answer(self, request: Request, info: RequestInfo) -> Reply | None:
        if info.resource != "pods" or info.group:
            return None
        if info.subresource == "log" and request.method == "GET":
            return _log(self._kubelet, request, info, self._clock())
        connect = self._kubelet.connect(info.namespace, info.name)
        if connect is None:
            return None
        if info.subresource == "portforward":
            return port_forward(request, connect)
        if info.subresource in ("exec", "attach"):
            return self._execution(request, info)
        return None

    def _execution(self, request: Request, info: RequestInfo) -> Reply | None:
        container = request.query.get("container", "")
        if info.subresource == "exec":
            run = self._kubelet.command(info.namespace, info.name, container)
            return None if run is None else execution(request, run)
        attach = self._kubelet.attachment(info.namespace, info.name, container)
        return None if attach is None else execution(request, attach, attached=True)


def _log(kubelet: Kubelet, request: Request, info: RequestInfo, now: datetime) -> Reply | None:
    query = request.query
    options = LogOptions(
        previous=bool_parameter(query, "previous"),
        follow=bool_parameter(query, "follow"),
        tail=int_parameter(query, "tailLines"),
        limit=int_parameter(query, "limitBytes"),
        since=_since(query, now),
        timestamps=bool_parameter(query, "timestamps"),
    )
    pieces = kubelet.log(info.namespace, info.name, query.get("container", ""), options)
    if pieces is None:
        return None
    return Reply(200, LogStream(pieces), {"content-type": "text/plain"})


def _since(query: Mapping[str, str], now: datetime) -> float:
    """Return the time from which lines are wanted, in Unix time; 0 for all. Raises BadRequest."""
    seconds = int_parameter(query, "sinceSeconds")
    if seconds:
        return now.timestamp() - seconds
    text = query.get("sinceTime", "")
    if not text:
        return 0.0
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise BadRequest(f"sinceTime: {text!r} is no time; write it as RFC 3339") from None
