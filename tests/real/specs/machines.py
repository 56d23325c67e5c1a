"""The commands of boot data that come before kubeadm, run on this machine.

Machines in memory run nothing. A template whose control plane has `preKubeadmCommands` makes its
DevMachines paused (`templates`); here their files are written into a folder, their commands run in
it, and when these have succeeded the DevMachine goes on.
"""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kapy.api.dev_machine import DevMachine
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.client.blocking import BlockingApiTransport, run_without_loop
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document, Key
from kapy.kube.boot import RunCommand, WriteFile, read_boot_data
from kapy.kube.errors import KapyError
from kapy.kube.names import SECRETS

EVERY: Final = 0.5


@dataclass
class _Machines:
    """The processes of machines that boot. folder: of their files."""

    client: Client
    folder: Path
    processes: dict[Key, subprocess.Popen[bytes]] = field(default_factory=dict)

    def look(self) -> None:
        """Begin, end and finish what is due."""
        results = {
            Key.of(item): item
            for item in run_without_loop(self.client.list(DevMachine.RESOURCE)).items
        }
        for key in self.processes.keys() - results.keys():
            _end(self.processes.pop(key))
        for key, document in results.items():
            if Annotation.PAUSED not in (document["metadata"].get("annotations") or {}):
                continue
            leaves = "deletionTimestamp" in document["metadata"]
            if not leaves and key not in self.processes:
                self._begin(key, document)
            elif leaves or self.processes[key].poll() == 0:
                patch = {"metadata": {"annotations": {Annotation.PAUSED: None}}}
                run_without_loop(self.client.patch(DevMachine.RESOURCE, key, patch))

    def end(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            _end(process)

    def _begin(self, key: Key, document: Document) -> None:
        owners = document["metadata"].get("ownerReferences") or []
        name = next((owner["name"] for owner in owners if owner["kind"] == "Machine"), "")
        if not name:
            return
        machine = run_without_loop(self.client.get(Machine.RESOURCE, Key(key.namespace, name)))
        secret = machine["spec"]["bootstrap"].get("dataSecretName")
        if not secret:
            return
        data = run_without_loop(self.client.get(SECRETS, Key(key.namespace, secret)))["data"]
        self.processes[key] = _boot(base64.b64decode(data["value"]), self.folder / key.name)


def _boot(data: bytes, folder: Path) -> subprocess.Popen[bytes]:
    """Write the files and run the commands before kubeadm, with the folder as the root."""
    commands = []
    for step in read_boot_data(data).steps:
        if isinstance(step, WriteFile):
            path = folder / step.path.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(step.content)
            path.chmod(step.mode)
        elif isinstance(step, RunCommand):
            commands.append(step.argv)
    script = [str(argv[-1]) for argv in commands]
    before = script[
        : next((at for at, text in enumerate(script) if "kubeadm " in text), len(script))
    ]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            ["sh", "-ec", "\n".join(before)],
            cwd=folder,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def machines(access: Kubeconfig, folder: Path) -> Iterator[None]:
    """Boot the paused DevMachines of a plane meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    ended = threading.Event()
    transport = BlockingApiTransport(access)
    booting = _Machines(Client(transport), folder)

    def follow() -> None:
        with closing(transport):
            while not ended.wait(EVERY):
                with suppress(KapyError):
                    booting.look()

    thread = threading.Thread(target=follow)
    with ExitStack() as stack:
        thread.start()
        stack.callback(booting.end)
        stack.callback(thread.join)
        stack.callback(ended.set)
        yield
