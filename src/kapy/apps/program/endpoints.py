"""Health endpoints of a program, `/healthz` and `/readyz`, and the readiness that they report.

Plain HTTP for kubelets, without secrets. As in upstream's managers, `?verbose` and single checks
(`/readyz/webhook`) are supported.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from kapy._aio.asgi import Receive, Scope, Send, run_lifespan, send_reply
from kapy.apiserver.serving import listen
from kapy.apps.https.serving import NoAddress
from kapy.engine.runtime import Runtime
from kapy.kube.digits import parse_digits
from kapy.kube.errors import Forbidden, NotFound
from kapy.kube.names import Resource

Message = Callable[[], str]
"""Describes the problem of a part of the program, "" if it has none."""
_UNREADABLE: Final = (NotFound, Forbidden)
"""The reason why a resource that the server serves cannot be read."""

_TEXT: Final = b"text/plain; charset=utf-8"
NO_ADDRESS: Final = "0"
_WEBHOOK_CHECK: Final = "webhook"
"""The check of upstream's managers: webhooks are served before these pages are."""


def no_message() -> str:
    """Return "": there is no problem."""
    return ""


class Readiness:
    """The readiness of a program, reported at `/readyz`.

    served: returns why webhooks cannot be called. pace: returns why the API server limits requests.
    converts: the program may itself convert the objects that it reads. API servers only call it
    when it is ready, so it does not wait for resources that the API server fails to read.

    A program that has read all resources once stays ready as long as the API server is available:
    if a CRD is removed, or rights for a new one are missing, the webhooks of all other kinds must
    still be called. Such problems are remarks.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        served: Message = no_message,
        pace: Message = no_message,
        converts: bool = False,
    ) -> None:
        self._runtime = runtime
        self._served = served
        self._pace = pace
        self._converts = converts
        self._has_read = False

    @property
    def missing(self) -> str:
        """Return what the program waits for, "" if it is ready."""
        return self._served() or self._unavailable_server or self._unread_resources

    @property
    def remarks(self) -> str:
        """Problems that do not affect readiness, "" for none."""
        return "; ".join([failure for failure in (self._pace(), *self._failures()) if failure])

    @property
    def _unavailable_server(self) -> str:
        reach = self._runtime.availability
        return "" if reach is None else reach.unavailable_reason

    @property
    def _unread_resources(self) -> str:
        if self._has_read:
            return ""
        failures = dict(self._runtime.cache.failures())
        waiting = sorted(
            resource.group_resource
            for resource in self._runtime.cache.unsynced_resources()
            if not (
                self._converts
                and resource in failures
                and not isinstance(failures[resource], _UNREADABLE)
            )
        )
        self._has_read = not waiting
        reason = {
            resource.group_resource: _read_error(resource, error)
            for resource, error in failures.items()
        }
        messages = [
            f"not read yet: {', '.join(waiting)}",
            *(reason[item] for item in waiting if item in reason),
        ]
        return "; ".join(messages) if waiting else ""

    def _failures(self) -> Iterator[str]:
        for resource, error in self._runtime.cache.failures():
            yield _read_error(resource, error)


def _read_error(resource: Resource, error: Exception) -> str:
    """Return why a resource cannot be read, and the remedy."""
    if isinstance(error, NotFound):
        return (
            f"there is no CRD {resource.group_resource} with version {resource.version}: install "
            "the provider that has it with `kapy init`, or `kapy crds | kubectl apply -f -`"
        )
    if isinstance(error, Forbidden):
        return (
            f"{error}: this program's ClusterRole needs get, list and watch of "
            f"{resource.plural} in the API group {resource.group!r}"
        )
    return f"{resource.group_resource}: {error}"


class Endpoints:
    """The ASGI application of the health endpoints of a program. ready: returns what the program
    waits for, "" if it is ready. remarks: returns other problems.
    """

    def __init__(self, ready: Message, remarks: Message = no_message) -> None:
        self._ready = ready
        self._remarks = remarks
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI 3 defines."""
        if scope["type"] == "lifespan":
            await run_lifespan(receive, send)
            return
        code, text = self._page(scope["path"])
        if code == 200 and b"verbose" in scope.get("query_string", b""):
            text = b"[+]%s ok\nhealthz check passed\n" % _WEBHOOK_CHECK.encode()
        await send_reply(send, code, _TEXT, text)

    async def stop(self) -> None:
        """Report that the program is not ready, while it finishes its last work."""
        self._stopping = True

    def _page(self, path: str) -> tuple[int, bytes]:
        match path.removesuffix(f"/{_WEBHOOK_CHECK}"):
            case "/healthz" | "/livez":
                return 200, b"ok"
            case "/readyz":
                missing = "stopping" if self._stopping else self._ready()
                return (503, missing.encode()) if missing else (200, self._failure().encode())
        return 404, b"there are /healthz and /readyz"

    def _failure(self) -> str:
        remarks = self._remarks()
        return f"ok, but: {remarks}" if remarks else "ok"


@asynccontextmanager
async def serve_endpoints(application: Any, *addresses: str) -> AsyncIterator[None]:
    """Serve an application at addresses (`:9440`, `127.0.0.1:8080`; "0" is none). Raises
    NoAddress.
    """
    async with AsyncExitStack() as stack:
        for address in dict.fromkeys(addresses):
            if address == NO_ADDRESS:
                continue
            host, port = parse_address(address)
            try:
                await stack.enter_async_context(listen(application, host=host, port=port))
            except OSError as error:
                reason = (error.strerror or str(error)).rpartition(": ")[2]
                raise NoAddress(
                    f"cannot listen on {address}: {reason}; choose another address with "
                    "--health-addr "
                    "or --diagnostics-address, 0 for none"
                ) from None
        yield


def parse_address(address: str) -> tuple[str, int]:
    """Parse host and port of `:9440` or `127.0.0.1:8080`. Raises NoAddress."""
    host, colon, port = address.rpartition(":")
    number = parse_digits(port)
    if not colon or number is None or number > 65535:
        raise NoAddress(f"{address!r} is no address to listen on: say HOST:PORT, or :PORT")
    return host.strip("[]") or "0.0.0.0", number
