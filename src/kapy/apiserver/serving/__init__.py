"""HTTP serving of a Server: ASGI on uvicorn's protocol, TLS, client certificates, streams."""

from typing import TYPE_CHECKING, Any

from kapy.apiserver.serving.listener import Listener, listen, serve_connection
from kapy.apiserver.serving.tls import server_context

if TYPE_CHECKING:
    from kapy.apiserver.serving.asgi import Application

__all__ = ["Application", "Listener", "listen", "serve_connection", "server_context"]


def __getattr__(name: str) -> Any:
    # Other listeners import only what they need, without the whole server.
    if name == "Application":
        from kapy.apiserver.serving.asgi import Application

        return Application
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
