"""The subresource `portforward`: a request that becomes a connection to a pod's ports.

The component that runs pods answers with `PortForward`. The connection then carries pairs of
streams: the data of one connection to a port, and its errors. It is SPDY, SPDY in the messages of
a WebSocket (kubectl), or a WebSocket with two numbered streams for each port that the request
names (`v4.channel.k8s.io`: client libraries).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlsplit

from kapy._aio.byte_streams import ByteStream
from kapy.apiserver.kubelet.upgrade import Upgrade, negotiate_upgrade
from kapy.kube.digits import parse_digits
from kapy.kube.errors import BadRequest
from kapy.kube.http import Reply, Request

PROTOCOL: Final = "portforward.k8s.io"
TUNNEL: Final = f"SPDY/3.1+{PROTOCOL}"
NUMBERED: Final = "v4.channel.k8s.io"
MAX_PORTS: Final = 100
_MAX_PORT: Final = 65535

Connect = Callable[[int, ByteStream], Awaitable[None]]
"""Serves a connection to a port until it ends. The client receives the message of an OSError."""


@dataclass(slots=True)
class PortForward(Reply):
    """A reply that turns the connection into streams to the ports of a pod."""

    connect: Connect | None = None
    upgrade: Upgrade | None = None
    ports: Sequence[int] = ()


def is_port_forward(request: Request) -> bool:
    """Report whether a request is for `portforward`."""
    return request.path.endswith("/portforward") and request.method in ("GET", "POST")


def port_forward(request: Request, connect: Connect) -> PortForward:
    """Return the reply to a request for `portforward`. Raises BadRequest."""
    upgrade = negotiate_upgrade(
        request, spdy=(PROTOCOL,), websocket=(TUNNEL, NUMBERED), newest=True
    )
    ports = _ports(request) if upgrade.protocol == NUMBERED else ()
    return PortForward(101, {}, connect=connect, upgrade=upgrade, ports=ports)


def _ports(request: Request) -> Sequence[int]:
    """Return the ports that the query names. Raises BadRequest."""
    uri = "" if request.arrival is None else request.arrival.uri
    values = parse_qs(urlsplit(uri).query).get("ports") or [request.query.get("ports", "")]
    texts = [text for value in values for text in value.split(",")]
    ports = [parse_digits(text) or 0 for text in texts[:MAX_PORTS]]
    if len(texts) > MAX_PORTS or not all(0 < port <= _MAX_PORT for port in ports):
        raise BadRequest(
            f"ports: name 1 to {MAX_PORTS} ports from 1 to {_MAX_PORT} (`?ports=8080,8443`)"
        )
    return ports
