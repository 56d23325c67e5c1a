"""Health endpoints of a program: `/healthz`, `/readyz`.

Plain HTTP for kubelets, without secrets. As in upstream's managers, `?verbose` and single checks
(`/readyz/webhook`) are supported.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from kapy._aio.asgi import Receive, Scope, Send, run_lifespan, send_reply
from kapy.apiserver.serving import listen
from kapy.apps.https.serving import NoAddress
from kapy.apps.program.readiness import Message, no_message
from kapy.kube.digits import parse_digits

_TEXT: Final = b"text/plain; charset=utf-8"
NO_ADDRESS: Final = "0"
WEBHOOK_CHECK: Final = "webhook"
"""The check of upstream's managers: webhooks are served before these pages are."""


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
            text = b"[+]%s ok\nhealthz check passed\n" % WEBHOOK_CHECK.encode()
        await send_reply(send, code, _TEXT, text)

    async def stop(self) -> None:
        """Report that the program is not ready, while it finishes its last work."""
        self._stopping = True

    def _page(self, path: str) -> tuple[int, bytes]:
        match path.removesuffix(f"/{WEBHOOK_CHECK}"):
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
