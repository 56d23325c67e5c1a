"""Runs one Pod that is bound to the agent's Node: from its volumes to the end of its containers."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from kapy.api.times import stamp
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, NotFound, Unreachable
from kapy.kube.names import PODS
from kapy.kube.yaml import dump
from kapy.node_agent.container_loop import ContainerLoop
from kapy.node_agent.container_state import ContainerState
from kapy.node_agent.ending import end
from kapy.node_agent.environment import environment_of
from kapy.node_agent.expansion import expand
from kapy.node_agent.host import Host
from kapy.node_agent.pod_folder import PodFolder
from kapy.node_agent.pod_status import status_of
from kapy.node_agent.restarts import Policy
from kapy.node_agent.runtime import ContainerConfig, Exit, Runtime
from kapy.node_agent.signals import Signal
from kapy.node_agent.sources import MissingSource, Sources
from kapy.node_agent.supported import unsupported
from kapy.node_agent.tokens import Tokens
from kapy.node_agent.volumes import Volumes

_log = logging.getLogger(__name__)

PORTS: Final = "kapy.cluster.x-k8s.io/ports"
"""The annotation with the real ports of a Pod's containers, by those that they declare."""
REFRESH_SECONDS: Final = 30.0
"""The interval between looks at tokens. A timer: a token expires with time."""
RETRY_SECONDS: Final = 2.0
ADMIT_SECONDS: Final = 5.0
"""The interval between looks for a runtime. A timer: a container engine does not tell that it is
there."""
STOPPED: Final = "PlaneStopped"
"""The reason of a waiting container that was ended together with the plane."""
FAILED: Final = "ContainerCannotRun"
"""The reason of a waiting container whose agent failed."""
LONGEST_END: Final = 10.0
"""Seconds that containers have to end when the agent itself does."""


class PodWorker:
    """The worker of one Pod. `run` ends when the Pod and all of its processes, containers and files
    are gone."""

    def __init__(self, pod: Document, host: Host) -> None:
        self._pod = pod
        self._host = host
        self.folder = PodFolder(host.folder, pod)
        self._news = Signal()
        self._report = asyncio.Event()
        self._deleted = asyncio.Event()
        self._last = {**(pod.get("status") or {})}
        self._last.setdefault("startTime", stamp(host.clock()))
        self._tokens = Tokens(host.client, pod, host.clock)
        self._volumes = Volumes(self.folder.volumes, pod, self._tokens.current, host.authority)
        spec = pod["spec"]
        self.initial = [self._state(one) for one in spec.get("initContainers") or ()]
        self.containers = [self._state(one) for one in spec["containers"]]
        self.runtime: Runtime | None = None
        self._address = ""

    def _state(self, container: Document) -> ContainerState:
        state = ContainerState(container, self._report.set)
        before = self._pod.get("status") or {}
        for field in ("initContainerStatuses", "containerStatuses"):
            for one in before.get(field) or ():
                if one.get("name") == state.name:
                    state.restarts = int(one.get("restartCount") or 0)
                    told = one.get("state") or {}
                    waited = (told.get("waiting") or {}).get("reason")
                    state.ran = "running" in told or waited == STOPPED
        return state

    @property
    def pod(self) -> Document:
        """The last known state of the Pod."""
        return self._pod

    @property
    def key(self) -> Key:
        return Key.of(self._pod)

    @property
    def uid(self) -> str:
        return str(self._pod["metadata"]["uid"])

    def update(self, pod: Document | None) -> None:
        """Store a new state of the Pod; None means that it was deleted."""
        if pod is not None:
            self._pod = pod
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            self._deleted.set()

    def notify(self) -> None:
        """Report a change of an object that the Pod refers to."""
        self._news.notify()

    async def run(self) -> None:
        """Run the Pod until it is deleted; when cancelled, stop its containers and keep the Pod."""
        self.update(self._pod)
        async with asyncio.TaskGroup() as group:
            reporting = group.create_task(self._reported())
            life = group.create_task(self._live())
            try:
                await self._deleted.wait()
                seconds = self._grace()
            except asyncio.CancelledError:
                life.cancel()
                with suppress(TimeoutError):  # an engine does not answer
                    async with asyncio.timeout(LONGEST_END + 2):
                        await self._stop(min(self._grace(), LONGEST_END))
                reporting.cancel()
                await self._say_stopped()
                raise
            life.cancel()
            await asyncio.wait([life])
            await self._stop(seconds)
            reporting.cancel()
        await self._removed()

    async def deleted(self, *, within: float) -> None:
        """Wait until the Pod is deleted, at most so many seconds."""
        self.update(self._pod)
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._deleted.wait()

    async def fail(self, error: Exception, pause: float) -> None:
        """Stop the containers after an internal error of the agent, and report it in the status."""
        cause: BaseException = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        with suppress(Exception):  # what failed may fail again
            async with asyncio.timeout(LONGEST_END + 2):
                await self._stop(min(self._grace(), LONGEST_END))
        for one in (*self.initial, *self.containers):
            if one.ended is None:
                one.wait(
                    FAILED,
                    f"the node agent failed ({type(cause).__name__}: {cause}) and tries it again "
                    f"in {pause:.0f} s; this is a defect of kapy: `kapy logs` has the details",
                )
        with suppress(ApiError, Unreachable):
            await self._write(self._status())

    def _grace(self) -> float:
        meta = self._pod["metadata"]
        told = meta.get("deletionGracePeriodSeconds")
        if told is None:
            told = self._pod["spec"].get("terminationGracePeriodSeconds")
        return float(30 if told is None else told)

    async def _stop(self, seconds: float) -> None:
        """End all containers."""
        async with asyncio.TaskGroup() as group:
            for one in (*self.initial, *self.containers):
                if one.running is not None:
                    group.create_task(end(one.container, one.running, seconds))

    async def _say_stopped(self) -> None:
        """Write a status that stays true while no agent runs the Pod."""
        for one in self.containers:
            if one.ended is None:
                one.wait(STOPPED, "the plane that ran it was stopped, and starts it again")
        with suppress(ApiError, Unreachable):
            await self._write(self._status())

    async def _removed(self) -> None:
        """Finish the Pod's deletion, and delete its files."""
        if self.runtime is not None:
            await self.runtime.forget(self._pod)
        await asyncio.get_running_loop().run_in_executor(None, self.folder.remove)
        options: Document = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": self.uid},
        }
        path = PODS.path(self.key.namespace, self.key.name)
        while True:
            try:
                await self._host.client.raw("DELETE", path, body=options)
                return
            except NotFound:
                return
            except ApiError as error:
                if error.code == 409:  # another Pod has its name by now
                    return
                _log.warning("pod %s cannot be deleted: %s", self.key, error)
            except Unreachable as error:
                _log.warning("pod %s cannot be deleted: %s", self.key, error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _live(self) -> None:
        """Run the containers with a runtime, and switch when a preferred one can run the Pod (a
        program in place of its image)."""
        while True:
            runtime = self.runtime = await self._admitted()
            async with asyncio.TaskGroup() as group:
                living = group.create_task(self._run_by(runtime))
                other = group.create_task(self._until_another(runtime))
                await asyncio.wait([living, other], return_when=asyncio.FIRST_COMPLETED)
                replaced = other.done()
                living.cancel()
                other.cancel()
            if not replaced:
                return
            await self._stop(self._grace())
            await runtime.forget(self._pod)

    async def _until_another(self, runtime: Runtime) -> None:
        """Wait until a preferred runtime accepts the Pod."""
        earlier = list(itertools.takewhile(lambda one: one is not runtime, self._host.runtimes))
        while True:
            await self._news.wait()
            for one in earlier:
                if not await one.refusal(self._pod):
                    return

    async def _run_by(self, runtime: Runtime) -> None:
        if runtime.other_users:
            self._volumes.share()
        await self._prepared()
        policy: Policy = self._pod["spec"].get("restartPolicy") or "Always"
        async with asyncio.TaskGroup() as group:
            fresh = group.create_task(self._kept_fresh())
            before: Policy = "OnFailure" if policy == "Always" else policy
            initialized = await self._is_initialized(runtime)
            for state in self.initial:
                if initialized:
                    state.end(Exit(0, "Completed", self._host.clock()), for_good=True)
                    continue
                await self._loop(state, runtime, before).run()
                if state.ended is None or state.ended.code:
                    for one in self.containers:
                        one.wait("PodInitializing")
                    fresh.cancel()
                    return
            for state in self.containers:
                group.create_task(self._loop(state, runtime, policy).run())

    async def _is_initialized(self, runtime: Runtime) -> bool:
        """Whether the first container runs, as an earlier agent has started it: then the init
        containers had ended, and do not run again beside it."""
        first = self.containers[0]
        if not self.initial or not first.ran:
            return False
        return await self._loop(first, runtime, "Always").is_running()

    def _loop(self, state: ContainerState, runtime: Runtime, policy: Policy) -> ContainerLoop:
        return ContainerLoop(self._pod, state, runtime, self._configured, self._news.wait, policy)

    async def _admitted(self) -> Runtime:
        """The runtime of the Pod; waits until one accepts it."""
        wrong = unsupported(self._pod)
        if wrong:
            self._wait("UnsupportedField", f"this node does not support {', '.join(wrong)}")
            await asyncio.get_running_loop().create_future()
        while True:
            refusals = []
            for runtime in self._host.runtimes:
                refusal = await runtime.refusal(self._pod)
                if not refusal:
                    return runtime
                refusals.append(refusal)
            self._wait("NoRuntime", _way_out(self._pod, refusals))
            await self._changed(ADMIT_SECONDS)

    async def _prepared(self) -> None:
        """Prepare the volumes; wait for their sources."""
        await self._host.read(self.key.namespace)
        while True:
            try:
                await self._refresh()
                return
            except MissingSource as error:
                self._wait("ContainerCreating", f"MountVolume.SetUp failed: {error}")
            except (ApiError, Unreachable) as error:
                self._wait("ContainerCreating", str(error))
            except OSError as error:
                self._wait("ContainerCreating", f"{self.folder.volumes}: {error.strerror or error}")
            await self._changed(RETRY_SECONDS)

    async def _refresh(self) -> None:
        await self._tokens.refresh()
        self.folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._volumes.update(self._sources())
        if self._volumes.account is not None:
            _write_private(self.folder, self._kubeconfig())

    async def _kept_fresh(self) -> None:
        """Keep volumes and tokens up to date."""
        while True:
            await self._changed(REFRESH_SECONDS)
            try:
                await self._refresh()
            except (MissingSource, ApiError, Unreachable, OSError) as error:
                _log.warning("volumes of pod %s: %s", self.key, error)

    async def _changed(self, seconds: float) -> None:
        """Wait for a notification, or for so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    def _wait(self, reason: str, message: str) -> None:
        for one in (*self.initial, *self.containers):
            one.wait(reason, message)

    def _sources(self) -> Sources:
        host, own = self._host.address, self._address or self._host.address
        known = {"hostIP": host, "hostIPs": [{"ip": host}], "podIP": own, "podIPs": [{"ip": own}]}
        status = {**(self._pod.get("status") or {}), **known}
        return self._host.sources({**self._pod, "status": status})

    async def _configured(self, container: Document, restarts: int) -> ContainerConfig:
        """The configuration of a container. Raises MissingSource, OSError."""
        name = container["name"]
        self.folder.forget_logs(name, restarts)
        state = next(one for one in (*self.initial, *self.containers) if one.name == name)
        assert self.runtime is not None
        server = await self.runtime.server(self._pod, state.wait)
        self._address = self.runtime.address(self._pod)
        host, port = server or self._host.server
        given = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)}
        given["KUBERNETES_SERVICE_PORT_HTTPS"] = str(port)
        sources = self._sources()
        environment = environment_of(container, sources, given)
        account = self._volumes.account
        return ContainerConfig(
            pod=self._pod,
            container=container,
            command=[expand(one, environment) for one in container.get("command") or ()],
            args=[expand(one, environment) for one in container.get("args") or ()],
            environment=environment,
            mounts=self._volumes.mounts(container),
            folder=self.folder.container(name),
            kubeconfig=None if account is None else self.folder.kubeconfig,
            log=self.folder.log(name, restarts),
            restarts=restarts,
            server=server,
            address="" if server is None else self._address,
            pull_secrets=_pull_secrets(self._pod, sources),
            tell=state.wait,
        )

    def _kubeconfig(self) -> bytes:
        """A kubeconfig that refers to the token's file, which is renewed in place."""
        account = self._volumes.account
        host, port = self._host.server
        url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        cluster = {"server": url, "certificate-authority": f"{account}/ca.crt"}
        context = {"cluster": "kapy", "user": "pod", "namespace": self.key.namespace}
        return dump({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "kapy", "cluster": cluster}],
            "users": [{"name": "pod", "user": {"tokenFile": f"{account}/token"}}],
            "contexts": [{"name": "kapy", "context": context}],
            "current-context": "kapy",
        }).encode()  # fmt: skip

    async def _reported(self) -> None:
        """Write the status whenever it changes."""
        while True:
            self._report.clear()
            try:
                status = self._status()
                if status != self._last or self._untold_ports():
                    await self._write(status)
                    self._last = status
                await self._report.wait()
            except NotFound:
                await self._report.wait()
            except (ApiError, Unreachable) as error:
                _log.warning("the status of pod %s cannot be written: %s", self.key, error)
                await asyncio.sleep(RETRY_SECONDS)

    def _status(self) -> Document:
        now = stamp(self._host.clock())
        running = next((one.running for one in self.containers if one.running is not None), None)
        address = running.address if running is not None else self._address
        pod = {**self._pod, "status": self._last}
        return status_of(
            pod,
            self.initial,
            self.containers,
            address=address,
            host=self._host.address,
            now=now,
        )

    def _untold_ports(self) -> str:
        """The ports of the containers that the Pod's annotation does not list yet."""
        ports = _ports_of(self.containers)
        told = (self._pod["metadata"].get("annotations") or {}).get(PORTS, "")
        return "" if ports == told else ports

    async def _write(self, status: Document) -> None:
        ports = self._untold_ports()
        if ports:
            metadata = {"uid": self.uid, "annotations": {PORTS: ports}}
            await self._host.client.patch(PODS, self.key, {"metadata": metadata})
        body = {"metadata": {"uid": self.uid}, "status": status}
        await self._host.client.patch(PODS, self.key, body, subresource="status")


def _ports_of(containers: Sequence[ContainerState]) -> str:
    """The actual ports of the containers as the annotation's text, "" if all are as declared."""
    found: dict[str, int] = {}
    for one in containers:
        if one.running is not None:
            found |= {str(key): value for key, value in one.running.ports.items()}
    return json.dumps(found, sort_keys=True) if found else ""


def _pull_secrets(pod: Document, sources: Sources) -> list[dict[str, bytes]]:
    names = [one.get("name", "") for one in pod["spec"].get("imagePullSecrets") or ()]
    return [sources.secret_data(name, optional=True) or {} for name in names]


def _way_out(pod: Document, refusals: Sequence[str]) -> str:
    labels = pod["metadata"].get("labels") or {}
    name = labels.get("cluster.x-k8s.io/provider") or "TYPE-NAME"
    why = "; ".join(refusals)
    return (
        f"nothing runs this Pod here: {why}; or run the program of its container with "
        f"`kapy run provider {name} -- PATH`, or `kapy init --run {name}=PATH`"
    )


def _write_private(folder: PodFolder, content: bytes) -> None:
    path = folder.kubeconfig
    if path.exists() and path.read_bytes() == content:
        return
    fresh = path.with_suffix(".new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    fresh.replace(path)
