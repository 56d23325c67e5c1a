"""Requests of somebody who looks at what is deployed in a simulated cluster.

Controllers of Cluster API look at Nodes, at static Pods, at the Pods of a Node that they drain, and
at the add-ons by name: that is no reason to simulate Pods of the add-ons.
"""

from __future__ import annotations

from typing import Final

from kapy.kube.http import Request

_DISCOVERY: Final = frozenset(("/api", "/apis"))
_DEPLOYED: Final = ("/deployments", "/replicasets", "/daemonsets")
_PODS: Final = "/pods"
_STATIC: Final = "tier=control-plane"
_OF_NODE: Final = "spec.nodeName="


def is_look(request: Request) -> bool:
    """Whether a program asks what there is at all (as kubectl does first), or lists what is
    deployed or its Pods."""
    if request.method != "GET":
        return False
    path = request.path
    if path.endswith(_PODS):
        query = request.query
        of_node = query.get("fieldSelector", "").startswith(_OF_NODE)
        return not of_node and query.get("labelSelector") != _STATIC
    return path in _DISCOVERY or path.endswith(_DEPLOYED)
