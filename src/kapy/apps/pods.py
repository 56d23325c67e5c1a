"""Pods on a plane: the workload controllers make them, and a node agent runs them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kapy._aio.clock import Clock
from kapy._aio.services import Service
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.clusterctl.inventory import BUILT_IN
from kapy.kube import Document
from kapy.kube.http import User

if TYPE_CHECKING:
    from kapy.node_agent.agent import NodeAgent

NODE: Final = "kapy"
"""The name of a plane's Node."""
AGENT: Final = User(
    f"system:node:{NODE}", ("system:nodes", "system:masters", "system:authenticated")
)


def node_agent(server: Server, folder: Path, access: Kubeconfig, clock: Clock) -> NodeAgent:
    """The agent of a plane. folder: of the plane. access: how programs reach the plane."""
    from kapy.node_agent.agent import NodeAgent, Place

    parts = urlsplit(access.server)
    place = Place(
        name=NODE,
        folder=folder / "node",
        plane=folder,
        server=(parts.hostname or "127.0.0.1", parts.port or 443),
        authority=access.certificate_authority,
    )
    client = Client(server.transport(AGENT), field_manager="kapy-node-agent")
    return NodeAgent(client, place, clock=clock, random=random.Random())


def pod_services(server: Server, agent: NodeAgent) -> dict[str, Service]:
    """The services that run Pods, by name."""
    from kapy.apiserver.controllers.workloads.controller_loop import WorkloadControllers
    from kapy.apiserver.kubelet import KubeletRequests
    from kapy.node_agent.pod_access import PodAccess

    server.pods = KubeletRequests(PodAccess(agent.worker), server.pods)
    return {"workloads": WorkloadControllers(server, _is_built_in).run, "node agent": agent.run}


def _is_built_in(document: Document) -> bool:
    """Whether a Deployment stands for controllers of this process."""
    return BUILT_IN in (document["metadata"].get("annotations") or {})
