"""The cluster autoscaler, run as a process for the clusters of a plane.

Upstream's spec deploys it into its workload cluster, where machines in memory run nothing. Here
the Deployment's arguments are given to a program on this machine, with the kubeconfig of the
workload cluster, and the one of the Secret that the spec writes for the management cluster.

To scale up from zero, it reads what a machine of a template has (`status.capacity`). The docker
backend tells it; the in-memory backend does not, so the capacity of Nodes is written here.

The Go proxy does not have its module: `KAPY_SPECS_AUTOSCALER` names the program, which is built in
a checkout of kubernetes/autoscaler (`go build -tags clusterapi` in the folder cluster-autoscaler).
"""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachineTemplate
from kapy.client.blocking import BlockingApiTransport, run_without_loop
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig, parse
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import DEPLOYMENTS, NODES, SECRETS

VARIABLE: Final = "KAPY_SPECS_AUTOSCALER"
NAME: Final = Key("cluster-autoscaler-system", "cluster-autoscaler")
MANAGEMENT: Final = Key(NAME.namespace, "kubeconfig-management-cluster")
CLOUD: Final = "--cloud-config="
EVERY: Final = 1.0


def missing() -> str:
    """Return the missing requirement of the spec, or "" if there is none."""
    path = os.environ.get(VARIABLE, "")
    if path and os.access(path, os.X_OK):
        return ""
    return f"the spec of the autoscaler needs its program in {VARIABLE}; see {__name__}"


@dataclass
class _Autoscalers:
    """The autoscalers of the clusters of a plane. folder: of their files. capacity: of Nodes."""

    client: Client
    folder: Path
    processes: dict[Key, subprocess.Popen[bytes]] = field(default_factory=dict)
    capacity: dict[str, str] = field(default_factory=dict)

    def look(self) -> None:
        """Begin and end what is due."""
        clusters = {
            Key.of(item) for item in run_without_loop(self.client.list(Cluster.RESOURCE)).items
        }
        for key in self.processes.keys() - clusters:
            self.processes.pop(key).kill()
        for key in clusters - self.processes.keys():
            with suppress(KapyError):
                self._begin(key)
        for document in run_without_loop(self.client.list(DevMachineTemplate.RESOURCE)).items:
            if self.capacity and not (document.get("status") or {}).get("capacity"):
                patch = {"status": {"capacity": self.capacity}}
                key = Key.of(document)
                run_without_loop(
                    self.client.patch(DevMachineTemplate.RESOURCE, key, patch, subresource="status")
                )

    def end(self) -> None:
        """End all of them."""
        for process in self.processes.values():
            process.kill()
            process.wait()

    def _begin(self, key: Key) -> None:
        secret = run_without_loop(
            self.client.get(SECRETS, Key(key.namespace, f"{key.name}-kubeconfig"))
        )
        text = _value(secret, "value")
        transport = BlockingApiTransport(parse(text))
        with closing(transport):
            there = Client(transport)
            deployment = run_without_loop(there.get(DEPLOYMENTS, NAME))
            management = _value(run_without_loop(there.get(SECRETS, MANAGEMENT)), "kubeconfig")
            self.capacity = run_without_loop(there.list(NODES)).items[0]["status"]["capacity"]
        folder = self.folder / key.name
        folder.mkdir(parents=True)
        (folder / "workload").write_bytes(text)
        (folder / "management").write_bytes(management)
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        arguments = [arg for arg in container["args"] if not arg.startswith(CLOUD)]
        with (folder / "log").open("wb") as log:
            self.processes[key] = subprocess.Popen(
                [
                    *(os.environ[VARIABLE], *arguments, f"{CLOUD}{folder / 'management'}"),
                    *(f"--kubeconfig={folder / 'workload'}", "--address=127.0.0.1:0"),
                ],
                env={**os.environ, "POD_NAMESPACE": NAME.namespace},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def _value(secret: Document, name: str) -> bytes:
    return base64.b64decode(secret["data"][name])


@contextmanager
def autoscalers(access: Kubeconfig, folder: Path) -> Iterator[None]:
    """Run the autoscalers that specs deploy meanwhile."""
    ended = threading.Event()
    transport = BlockingApiTransport(access)
    running = _Autoscalers(Client(transport), folder)

    def follow() -> None:
        with closing(transport):
            while not ended.wait(EVERY):
                with suppress(KapyError):
                    running.look()

    thread = threading.Thread(target=follow)
    with ExitStack() as stack:
        thread.start()
        stack.callback(running.end)
        stack.callback(thread.join)
        stack.callback(ended.set)
        yield
