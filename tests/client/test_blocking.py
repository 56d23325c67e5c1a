"""The transport of short commands, over real sockets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from kapy.client.blocking import BlockingApiTransport, run_without_loop
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Key
from kapy.kube.errors import NotFound, Unreachable
from kapy.kube.names import CONFIG_MAPS

Answer = tuple[int, dict[str, str], object]


@contextmanager
def answering(*answers: Answer) -> Iterator[tuple[Client, list[str]]]:
    """A server that gives these answers in turn; what it was asked is noted."""
    remaining, request = list(answers), []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            request.append(f"{self.path} {self.headers['authorization']}")
            status, headers, body = remaining.pop(0)
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    transport = BlockingApiTransport(
        Kubeconfig(f"http://127.0.0.1:{server.server_port}/p", token="t")
    )
    try:
        yield Client(transport), request
    finally:
        transport.close()
        server.shutdown()
        thread.join()
        server.server_close()


NOTE = {"metadata": {"name": "a b"}}


@pytest.mark.sockets
def test_the_blocking_client_answers_like_the_asynchronous_one() -> None:
    with answering((200, {}, NOTE)) as (client, request):
        assert run_without_loop(client.get(CONFIG_MAPS, Key("x", "a b"))) == NOTE
    assert request == ["/p/api/v1/namespaces/x/configmaps/a%20b Bearer t"]


@pytest.mark.sockets
def test_an_overloaded_server_is_asked_again() -> None:
    with answering((429, {"Retry-After": "0"}, {}), (200, {}, NOTE)) as (client, request):
        assert run_without_loop(client.get(CONFIG_MAPS, Key("x", "a"))) == NOTE
    assert len(request) == 2


@pytest.mark.sockets
def test_a_refused_request_raises_its_error() -> None:
    status = {"kind": "Status", "message": "not there"}
    with answering((404, {}, status)) as (client, _), pytest.raises(NotFound, match="not there"):
        run_without_loop(client.get(CONFIG_MAPS, Key("x", "a")))


@pytest.mark.sockets
def test_an_address_without_a_server_is_unreachable() -> None:
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1: Connection refused"):
        run_without_loop(
            Client(BlockingApiTransport(Kubeconfig("http://127.0.0.1:1"))).get(
                CONFIG_MAPS, Key("x", "a")
            )
        )
