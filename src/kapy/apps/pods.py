"""Runs Pods on a plane: the workload controllers create them, and a node agent runs them."""

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
    from kapy.apps.container_listener import ContainerListener
    from kapy.apps.settings import Settings
    from kapy.engine.runtime import Runtime
    from kapy.node_agent.agent import AgentConfig, NodeAgent
    from kapy.node_agent.containers.runtime import Containers
    from kapy.node_agent.runtime import WorkloadName

NODE: Final = "kapy"
"""The name of a plane's Node."""
CERTIFICATES_USER: Final = User(
    "system:serviceaccount:kapy-system:certificates", ("system:masters", "system:authenticated")
)
AGENT: Final = User(
    f"system:node:{NODE}", ("system:nodes", "system:masters", "system:authenticated")
)


def pod_services(
    server: Server,
    settings: Settings,
    access: Kubeconfig,
    listener: ContainerListener,
    clock: Clock,
) -> dict[str, Service]:
    """Return the services that run Pods, by name. access: the kubeconfig for programs; listener:
    serves the plane to containers.
    """
    from kapy.apiserver.controllers.workloads.controller_loop import WorkloadControllers
    from kapy.apiserver.kubelet.requests import KubeletRequests
    from kapy.node_agent.pod_access import PodAccess

    assert settings.pods is not None
    place = _node_environment(settings.pods, access)

    def workload(pod: Document) -> str:
        return agent.workload_of(pod)

    enabled = settings.run_pods == "containers"
    containers = _containers(place, listener, clock, workload, enabled=enabled)
    agent = _agent(server, place, clock, containers)
    server.kubelet_requests = KubeletRequests(
        PodAccess(agent.worker), server.kubelet_requests, clock
    )
    return {
        "workloads": WorkloadControllers(server.context, _is_built_in).run,
        "node agent": agent.run,
    }


def _node_environment(folder: Path, access: Kubeconfig) -> AgentConfig:
    from kapy.node_agent.agent import AgentConfig

    parts = urlsplit(access.server)
    return AgentConfig(
        name=NODE,
        folder=folder / "node",
        plane=folder,
        server=(parts.hostname or "127.0.0.1", parts.port or 443),
        authority=access.certificate_authority,
    )


def _containers(
    place: AgentConfig,
    listener: ContainerListener,
    clock: Clock,
    workload: WorkloadName,
    *,
    enabled: bool,
) -> Containers:
    from kapy.containers import Engine
    from kapy.node_agent.containers.runtime import Containers

    return Containers(
        place.plane,
        place.folder,
        open_engine=Engine.from_environment,
        listen=listener.listen,
        clock=clock,
        host_address=place.address,
        workload=workload,
        enabled=enabled,
    )


def _agent(server: Server, place: AgentConfig, clock: Clock, containers: Containers) -> NodeAgent:
    from kapy.node_agent.agent import NodeAgent

    client = Client(server.transport(AGENT), field_manager="kapy-node-agent")
    return NodeAgent(client, place, clock=clock, random=random.Random(), runtimes=[containers])


def _is_built_in(document: Document) -> bool:
    """Return whether a Deployment represents controllers of this process."""
    return BUILT_IN in (document["metadata"].get("annotations") or {})


def certificate_runtime(server: Server, clock: Clock) -> Runtime:
    """Return a runtime with the controllers of cert-manager's kinds, for the Certificates of
    releases and users.
    """
    from kapy.apps.certificates.controllers import add_certificates
    from kapy.apps.certificates.injection import add_injection
    from kapy.engine.runtime import Runtime

    runtime = Runtime.on(
        server.transport(CERTIFICATES_USER), clock=clock, field_manager="kapy-certificates"
    )
    add_injection(add_certificates(runtime))
    return runtime
