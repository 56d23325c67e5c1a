"""Recognize requests that list the workloads of a simulated cluster.

Controllers of Cluster API read Nodes, static Pods, the Pods of a Node that they drain, and the
add-ons by name. These requests do not start the simulation of add-on Pods.
"""

from __future__ import annotations

from typing import Final

from kapy.kube.http import Request

_DISCOVERY: Final = frozenset(("/api", "/apis"))
_DEPLOYED: Final = ("/deployments", "/replicasets", "/daemonsets")
_PODS: Final = "/pods"
_STATIC: Final = "tier=control-plane"
_OF_NODE: Final = "spec.nodeName="


def is_inventory_request(request: Request) -> bool:
    """Return whether a request discovers the API (as kubectl does first), or lists workloads or
    their Pods.
    """
    if request.method != "GET":
        return False
    path = request.path
    if path.endswith(_PODS):
        query = request.query
        of_node = query.get("fieldSelector", "").startswith(_OF_NODE)
        return not of_node and query.get("labelSelector") != _STATIC
    return path in _DISCOVERY or path.endswith(_DEPLOYED)
