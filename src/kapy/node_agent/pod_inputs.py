"""The inputs of one Pod's containers: tokens, volumes, environment and configuration.

ServiceAccount tokens are requested, stored, and renewed before they expire.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kapy._aio.clock import Clock
from kapy.api.times import stamp
from kapy.client.client import Client
from kapy.kube import Document
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.names import Resource
from kapy.kube.yaml import dump
from kapy.node_agent.container_state import ContainerState
from kapy.node_agent.full_disk import full_disk, is_disk_full
from kapy.node_agent.host import Host
from kapy.node_agent.pod_folder import PodFolder
from kapy.node_agent.runtime import ContainerConfig, Runtime
from kapy.node_agent.sources import MissingSource, Sources, environment_of, expand
from kapy.node_agent.volumes import Volumes

_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount")
_LIFE: Final = 3607
"""Seconds of a token for the API server, as kubelets ask for them."""
_USED: Final = 0.8
"""The part of a token's life after which it is replaced."""


class PodInputs:
    """The volumes, tokens and other inputs of a Pod. pod: the last known state of the Pod. address:
    the own address of the Pod, "" before it has one.
    """

    def __init__(self, pod: Document, host: Host, folder: PodFolder) -> None:
        self.pod = pod
        self.address = ""
        self._host = host
        self._folder = folder
        self._tokens = _Tokens(host.client, pod, host.clock)
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


@dataclass(frozen=True, slots=True)
class _Issued:
    token: str
    renew: datetime
    expires: datetime


class _Tokens:
    """The tokens of one Pod, each bound to it: they become invalid with the Pod."""

    def __init__(self, client: Client, pod: Document, clock: Clock) -> None:
        self._client = client
        self._pod = pod
        self._clock = clock
        self._issued: dict[tuple[str, int], _Issued] = {}
        self._token_requests = set(_token_requests(pod))
        self._written: tuple[_Issued, ...] = ()
        """The tokens that the containers can read: a full disk may keep new ones from them."""

    def current(self, audience: str, seconds: int) -> str:
        """Return the token for an audience. Raises MissingSource before it is issued."""
        result = self._issued.get((audience, seconds))
        if result is None:
            raise MissingSource("its ServiceAccount token is not issued yet")
        return result.token

    @property
    def expired(self) -> str:
        """The reason that a token of the containers is not accepted any more, "" if all are."""
        now = self._clock()
        times = [item.expires for item in self._written if item.expires <= now]
        return f"its ServiceAccount token expired at {stamp(min(times))}" if times else ""

    def mark_written(self) -> None:
        """Record that the containers can read the tokens as they are now."""
        self._written = tuple(self._issued.values())

    async def refresh(self) -> bool:
        """Renew the tokens that are due; whether there were any. Raises ApiError."""
        now = self._clock()
        due = [
            item
            for item in self._token_requests
            if item not in self._issued or self._issued[item].renew <= now
        ]
        for audience, seconds in due:
            self._issued[audience, seconds] = await self._issue(audience, seconds, now)
        return bool(due)

    async def _issue(self, audience: str, seconds: int, now: datetime) -> _Issued:
        meta = self._pod["metadata"]
        account = self._pod["spec"].get("serviceAccountName") or "default"
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        spec: Document = {"expirationSeconds": seconds, "boundObjectRef": bound}
        if audience:
            spec["audiences"] = [audience]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = _ACCOUNTS.path(meta["namespace"], account, "token")
        answer = await self._client.raw("POST", path, body=body)
        life = timedelta(seconds=seconds)
        return _Issued(answer["status"]["token"], now + life * _USED, now + life)


def _token_requests(pod: Document) -> Iterator[tuple[str, int]]:
    """The audiences and lifetimes of a Pod's tokens."""
    if pod["spec"].get("automountServiceAccountToken") is not False:
        yield "", _LIFE
    for volume in pod["spec"].get("volumes") or ():
        for item in (volume.get("projected") or {}).get("sources") or ():
            source = item.get("serviceAccountToken")
            if source is not None:
                yield source.get("audience") or "", source.get("expirationSeconds") or 3600
