"""An API server that says the Kubernetes version of its cluster."""

from __future__ import annotations

from typing import Any

from kapy._aio.clock import Clock
from kapy.apiserver.controllers.kube_controller_manager import accompany
from kapy.apiserver.pages import version
from kapy.apiserver.server import Server
from kapy.kube.http import Reply, Request
from kapy.providers.inmemory.workload.etcd import Etcd
from kapy.providers.inmemory.workload.etcd_proxy import answered, is_of_etcd


class WorkloadServer(Server):
    """The API server of a workload cluster. kubernetes: `v1.34.0`, "" before any machine runs.

    etcd: what is asked through its members' pods.
    """

    __slots__ = ("etcd", "kubernetes")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.plane.kubelets = False  # its nodes run nothing, so pods end at once
        self.kubernetes = ""
        self.etcd: Etcd | None = None

    @classmethod
    def in_memory(cls, clock: Clock) -> WorkloadServer:
        """A new one, with nothing in it."""
        server = cls.open(None, clock=clock)
        assert isinstance(server, cls)
        accompany(server)
        return server

    async def __call__(self, request: Request) -> Reply:
        """Answer one request whose `user` is set. Failures are Replies, not exceptions."""
        if self.etcd is not None and is_of_etcd(request):
            return await answered(self.etcd, request)
        reply = await super().__call__(request)
        if request.path == "/version" and self.kubernetes and reply.status == 200:
            major, minor, *_ = self.kubernetes.removeprefix("v").split(".")
            said = {"major": major, "minor": minor, "gitVersion": self.kubernetes}
            said |= {"emulationMajor": major, "emulationMinor": minor}
            return Reply(200, {**version(), **said})
        return reply
