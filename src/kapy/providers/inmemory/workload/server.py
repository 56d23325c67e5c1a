"""An API server that reports the Kubernetes version of its cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kapy._aio.clock import Clock
from kapy.apiserver.kubelet.port_forward import is_port_forward, port_forward
from kapy.apiserver.request.request_info import request_info
from kapy.apiserver.server import ServerWithoutKubelets
from kapy.apiserver.server.error_replies import error_reply
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apiserver.server.non_resource_paths import version
from kapy.kube.errors import ApiError
from kapy.kube.http import Reply, Request
from kapy.providers.inmemory.workload import usage
from kapy.providers.inmemory.workload.ports import Ports

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


class WorkloadServer(ServerWithoutKubelets):
    """The API server of a workload cluster. kubernetes: the version (`v1.34.0`), "" before any
    machine runs. ports: the servers in its static pods, None if there are none. on_first_look:
    called with the first request that lists workloads.
    """

    __slots__ = ("kubernetes", "on_first_look", "ports")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kubernetes = ""
        self.ports: Ports | None = None
        self.on_first_look: Callable[[], None] | None = None

    @classmethod
    def in_memory(cls, clock: Clock) -> WorkloadServer:
        """Return a new, empty server. Its resourceVersions start at the milliseconds since 1970,
        above those of a former server at the same address. So a client that resumes a watch of the
        former server gets 410.
        """
        server = cls.open(None, clock=clock)
        assert isinstance(server, cls)
        server.store.set_revision(int(clock().timestamp() * 1000))
        add_kube_controllers(server)
        return server

    async def __call__(self, request: Request) -> Reply:
        """Answer one request whose `user` is set. Failures are Replies, not exceptions."""
        if self.on_first_look is not None and is_inventory_request(request):
            begin, self.on_first_look = self.on_first_look, None
            begin()
        reply = await super().__call__(request)
        if reply.status == 404 and request.path.startswith(usage.ROOT):
            return usage.answer(self.context, request) or reply
        if usage.is_discovery(request) and reply.status == 200:
            return usage.with_group(reply)
        if request.path == "/version" and self.kubernetes and reply.status == 200:
            major, minor, *_ = self.kubernetes.removeprefix("v").split(".")
            said = {"major": major, "minor": minor, "gitVersion": self.kubernetes}
            said |= {"emulationMajor": major, "emulationMinor": minor}
            return Reply(200, {**version(), **said})
        return reply

    def _kubelet_reply(self, request: Request) -> Reply | None:
        if self.ports is None or not is_port_forward(request):
            return None
        info = request_info(request)
        if not self.ports.has(info.namespace, info.name):
            return None
        try:
            return port_forward(request, self.ports.of(info.namespace, info.name))
        except ApiError as refused:
            return error_reply(refused, request)
