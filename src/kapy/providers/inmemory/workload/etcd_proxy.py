"""etcd of a workload cluster for those in another process: through its API server.

The gateway of a member is asked at its pod's `proxy` subresource, as Kubernetes proxies HTTP to any
pod. Members here speak plain HTTP; a real one wants a client certificate, which no such proxy has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from kapy.kube.errors import Forbidden, Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.providers.inmemory.workload.etcd import Etcd

_PODS: Final = "/api/v1/namespaces/kube-system/pods/http:etcd-"
_PROXY: Final = ":2379/proxy"
_ADMINISTRATORS: Final = "system:masters"


def is_of_etcd(request: Request) -> bool:
    """Whether a request is for a member's gateway."""
    return request.path.startswith(_PODS)


async def answered(etcd: Etcd, request: Request) -> Reply:
    """What the member says, to those who may do everything."""
    if request.user is None or _ADMINISTRATORS not in request.user.groups:
        return _failure(403, Forbidden("only administrators may ask etcd").status())
    node, proxy, path = request.path.removeprefix(_PODS).partition(_PROXY)
    if not proxy:
        return _failure(404, {"message": "only the gateway of etcd is proxied"})
    try:
        return await etcd.dial(node)(Request(request.method, path, body=request.body))
    except Unreachable as error:
        return _failure(503, {"message": str(error)})


def through(open_transport: Callable[[], Transport], node: str) -> Transport:
    """Ask the member on a node through the API server of its cluster."""

    async def ask(request: Request) -> Reply:
        transport = open_transport()
        try:
            path = f"{_PODS}{node}{_PROXY}{request.path}"
            body = msgspec.json.encode(request.body)
            return await transport(Request(request.method, path, {}, request.headers, body))
        finally:
            if close := getattr(transport, "aclose", None):
                await close()

    return ask


def _failure(code: int, body: dict[str, object]) -> Reply:
    return Reply(code, {**body, "code": code})
