"""The inputs of one Pod's containers: tokens, volumes, environment and configuration."""

from __future__ import annotations

import os
from typing import Final

from kapy.kube import Document
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.yaml import dump
from kapy.node_agent.container_state import ContainerState
from kapy.node_agent.environment import environment_of, expand
from kapy.node_agent.full_disk import full_disk, is_disk_full
from kapy.node_agent.host import Host
from kapy.node_agent.pod_folder import PodFolder
from kapy.node_agent.runtime import ContainerConfig, Runtime
from kapy.node_agent.sources import MissingSource, Sources
from kapy.node_agent.tokens import Tokens
from kapy.node_agent.volumes import Volumes


class PodInputs:
    """The volumes, tokens and other inputs of a Pod. pod: the last known state of the Pod. address:
    the own address of the Pod, "" before it has one.
    """

    def __init__(self, pod: Document, host: Host, folder: PodFolder) -> None:
        self.pod = pod
        self.address = ""
        self._host = host
        self._folder = folder
        self._tokens = Tokens(host.client, pod, host.clock)
        self._volumes = Volumes(folder.volumes, pod, self._tokens.current, host.authority)

    def share(self) -> None:
        """Let users other than the agent's read the volumes."""
        self._volumes.share()

    async def read(self) -> None:
        """Read the objects that the Pod may refer to."""
        await self._host.read(self.pod["metadata"]["namespace"])

    async def refresh(self) -> None:
        """Bring tokens and volumes up to date. Raises MissingSource, ApiError, Unreachable,
        OSError."""
        await self._tokens.refresh()
        self._folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._volumes.update(self._sources())
        self._tokens.mark_written()
        if self._volumes.account is not None:
            _write_private(self._folder, self._kubeconfig())

    def reason(self, error: Exception) -> str:
        """Return the reason for which a refresh failed, in one sentence."""
        if isinstance(error, MissingSource):
            return f"MountVolume.SetUp failed: {error}"
        if is_disk_full(error):
            return full_disk(self._folder.path)
        if isinstance(error, OSError):
            return f"{self._folder.volumes}: {error.strerror or error}"
        return str(error)

    @property
    def expired(self) -> str:
        """Describe a token that has expired without renewal; "" for none."""
        return self._tokens.expired

    def _sources(self) -> Sources:
        host, own = self._host.address, self.address or self._host.address
        addresses = {
            "hostIP": host,
            "hostIPs": [{"ip": host}],
            "podIP": own,
            "podIPs": [{"ip": own}],
        }
        status = {**(self.pod.get("status") or {}), **addresses}
        return self._host.sources({**self.pod, "status": status})

    async def configuration(
        self, state: ContainerState, runtime: Runtime, restarts: int
    ) -> ContainerConfig:
        """Return the configuration of a container. Raises MissingSource, OSError, StartFailed."""
        name, container = state.name, state.container
        self._folder.forget_logs(name, restarts)
        server = await runtime.server(self.pod, state.set_waiting)
        self.address = runtime.address(self.pod)
        host, port = server or self._host.server
        service_variables = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)}
        service_variables["KUBERNETES_SERVICE_PORT_HTTPS"] = str(port)
        sources = self._sources()
        environment = environment_of(container, sources, service_variables)
        account = self._volumes.account
        return ContainerConfig(
            pod=self.pod,
            container=container,
            command=[expand(item, environment) for item in container.get("command") or ()],
            args=[expand(item, environment) for item in container.get("args") or ()],
            environment=environment,
            mounts=self._volumes.mounts(container),
            folder=self._folder.container(name),
            kubeconfig=None if account is None else self._folder.kubeconfig,
            log=self._folder.log(name, restarts),
            restarts=restarts,
            server=server,
            address="" if server is None else self.address,
            pull_secrets=_pull_secrets(self.pod, sources),
            tell=state.set_waiting,
        )

    def _kubeconfig(self) -> bytes:
        """Return a kubeconfig that refers to the token's file, which is renewed in place."""
        account = self._volumes.account
        host, port = self._host.server
        url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        cluster = {"server": url, "certificate-authority": f"{account}/ca.crt"}
        namespace = self.pod["metadata"]["namespace"]
        context = {"cluster": "kapy", "user": "pod", "namespace": namespace}
        return dump({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "kapy", "cluster": cluster}],
            "users": [{"name": "pod", "user": {"tokenFile": f"{account}/token"}}],
            "contexts": [{"name": "kapy", "context": context}],
            "current-context": "kapy",
        }).encode()  # fmt: skip


FAILURES: Final = (MissingSource, ApiError, Unreachable, OSError)
"""Exceptions that `PodInputs.refresh` raises."""


def _pull_secrets(pod: Document, sources: Sources) -> list[dict[str, bytes]]:
    names = [item.get("name", "") for item in pod["spec"].get("imagePullSecrets") or ()]
    return [sources.secret_data(name, optional=True) or {} for name in names]


def _write_private(folder: PodFolder, content: bytes) -> None:
    path = folder.kubeconfig
    if path.exists() and path.read_bytes() == content:
        return
    fresh = path.with_suffix(".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    fresh.replace(path)
