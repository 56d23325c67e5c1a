"""metrics.k8s.io of a workload cluster: simulated resource usage of Nodes and Pods (`kubectl top`).

The figures are derived from names, so they never change; nothing is measured.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from kapy.apiserver.request.request_info import RequestInfo, request_info
from kapy.apiserver.resources.metadata import format_time
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.kube.http import Reply, Request
from kapy.kube.selectors import InvalidSelector, parse_labels

GROUP: Final = "metrics.k8s.io"
VERSION: Final = "v1beta1"
ROOT: Final = f"/apis/{GROUP}"
_API: Final = f"{GROUP}/{VERSION}"
_KINDS: Final = {"nodes": "NodeMetrics", "pods": "PodMetrics"}
_VERBS: Final = ["get", "list"]


def is_discovery(request: Request) -> bool:
    """Return whether a request discovers the API groups."""
    return request.path == "/apis"


def with_group(reply: Reply) -> Reply:
    """Add this API group to a discovery response."""
    body = reply.body
    if not isinstance(body, dict):
        return reply
    if body.get("kind") == "APIGroupList":
        return Reply(reply.status, {**body, "groups": [*body["groups"], _group()]}, reply.headers)
    if body.get("kind") == "APIGroupDiscoveryList":
        return Reply(
            reply.status, {**body, "items": [*body["items"], _discovery_document()]}, reply.headers
        )
    return reply


def answer(plane: ServerContext, request: Request) -> Reply | None:
    """Answer a GET below ROOT; return None for an unknown path."""
    if request.method != "GET":
        return None
    if request.path == ROOT:
        return Reply(200, {"kind": "APIGroup", "apiVersion": "v1", **_group()})
    if request.path == f"{ROOT}/{VERSION}":
        return Reply(200, _resources())
    info = request_info(request)
    if info.version != VERSION or info.resource not in _KINDS or info.subresource:
        return None
    try:
        result = _select_objects(plane, info, request.query.get("labelSelector", ""))
    except InvalidSelector as error:
        return Reply(400, _status(400, "BadRequest", str(error)))
    kind = _KINDS[info.resource]
    if info.name:
        if not result:
            what = f'{info.resource}.{GROUP} "{info.name}" not found'
            return Reply(404, _status(404, "NotFound", what))
        return Reply(200, {"kind": kind, "apiVersion": _API, **result[0]})
    return Reply(200, {"kind": f"{kind}List", "apiVersion": _API, "metadata": {}, "items": result})


def _select_objects(plane: ServerContext, request: RequestInfo, selector: str) -> list[Document]:
    table = plane.store.peek(request.resource)
    if table is None:
        return []
    labels = parse_labels(selector) if selector else None
    now = format_time(plane.clock())
    scan = [
        element
        for element in table.scan(request.namespace if request.resource == "pods" else "")
        if request.name in ("", element["metadata"]["name"])
        and (labels is None or labels.matches(element["metadata"].get("labels") or {}))
    ]
    if request.resource == "pods":
        return [_of_pod(element, now) for element in scan if _runs(element)]
    pods: dict[str, int] = {}
    running = plane.store.peek("pods")
    for item in () if running is None else running.scan(""):
        if _runs(item):
            node = item["spec"].get("nodeName", "")
            pods[node] = pods.get(node, 0) + 1
    return [_of_node(element, pods.get(element["metadata"]["name"], 0), now) for element in scan]


def _runs(pod: Document) -> bool:
    return bool((pod.get("status") or {}).get("phase") == "Running")


def _of_node(node: Document, pods: int, now: str) -> Document:
    cpu, memory = _share(node["metadata"]["name"])
    usage = {
        "cpu": f"{90 + cpu % 120 + 4 * pods}m",
        "memory": f"{(700 + memory % 300 + 25 * pods) << 10}Ki",
    }
    return {**_measure(node, now), "usage": usage}


def _of_pod(pod: Document, now: str) -> Document:
    containers = []
    for container in pod["spec"].get("containers") or ():
        cpu, memory = _share(f"{pod['metadata']['name']}/{container['name']}")
        usage = {"cpu": f"{1 + cpu % 9}m", "memory": f"{(12 + memory % 50) << 10}Ki"}
        containers.append({"name": container["name"], "usage": usage})
    return {**_measure(pod, now), "containers": containers}


def _measure(document: Document, now: str) -> Document:
    source_metadata = document["metadata"]
    metadata = {
        key: source_metadata[key]
        for key in ("name", "namespace", "labels")
        if key in source_metadata
    }
    metadata["creationTimestamp"] = now
    return {"metadata": metadata, "timestamp": now, "window": "20s"}


def _share(name: str) -> tuple[int, int]:
    cpu, memory = blake2b(name.encode(), digest_size=2).digest()
    return cpu, memory


def _status(code: int, reason: str, message: str) -> Document:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**status, "message": message, "reason": reason, "code": code}


def _group() -> Document:
    version = {"groupVersion": _API, "version": VERSION}
    return {"name": GROUP, "versions": [version], "preferredVersion": version}


def _resources() -> Document:
    entries = [
        {"name": name, "singularName": "", "namespaced": name == "pods", "kind": kind}
        | {"verbs": _VERBS}
        for name, kind in _KINDS.items()
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": _API} | {
        "resources": entries
    }


def _discovery_document() -> Document:
    resources = [
        {
            "resource": name,
            "responseKind": {"group": "", "version": "", "kind": kind},
            "scope": "Namespaced" if name == "pods" else "Cluster",
            "singularResource": "",
            "verbs": _VERBS,
        }
        for name, kind in _KINDS.items()
    ]
    version = {"version": VERSION, "resources": resources, "freshness": "Current"}
    return {"metadata": {"name": GROUP}, "versions": [version]}
