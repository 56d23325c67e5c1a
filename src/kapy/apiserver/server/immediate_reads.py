"""Reads of one object that need no waiting: handled within one call, without a task.

Most requests of programs are such reads, and a task for each would cost more than the read itself.
All unusual requests, and all errors, are left to `Server.__call__`.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final

import msgspec

from kapy.apiserver.auth.authorization import SUPERUSERS
from kapy.apiserver.request.request_info import object_info
from kapy.apiserver.request.routing import resolve
from kapy.apiserver.server.server import Server, is_served
from kapy.kube.errors import ApiError
from kapy.kube.http import Request, User

_encode: Final = msgspec.json.Encoder().encode


def read_at_once(server: Server, path: str, user: User, began: float) -> bytes | None:
    """Return the JSON of the object at a path, None if `Server.__call__` has to handle the request.

    began: the time at which the request arrived, by `time.perf_counter`.
    """
    info = object_info(path)
    if info is None:
        return None
    context = server.context
    try:
        route = resolve(context.registry, info)
        if route is None or route.kind.deprecation or not is_served(route, "get"):
            return None
        if SUPERUSERS not in user.groups:
            server.access.authorize(info.attributes(user))
    except ApiError:
        return None
    kind = route.kind
    table = context.store.peek(kind.table)
    if table is None:
        return None
    content = table.find_json(route.namespace, route.name, kind.json_begins)
    if not content:
        document = table.get(route.namespace, route.name)
        if document is None or document["apiVersion"] != kind.resource.api_version:
            return None
        content = _encode(document)
    counters = context.metrics.request_counters(Request("GET", path), route, "get")
    counters.count_request(200, perf_counter() - began)
    counters.count_response_size(len(content))
    return content
