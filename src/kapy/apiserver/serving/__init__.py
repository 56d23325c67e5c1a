"""A Server on the network: ASGI on uvicorn's protocol, TLS, client certificates, streams."""

from kapy.apiserver.serving.asgi import Application
from kapy.apiserver.serving.listener import Listener, listen, serve_connection
from kapy.apiserver.serving.tls import server_context

__all__ = ["Application", "Listener", "listen", "serve_connection", "server_context"]
