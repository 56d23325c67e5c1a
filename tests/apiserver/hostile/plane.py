"""A plane as a process of its own, with one hostile user and others."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from ssl import SSLContext, create_default_context
from typing import Any
from urllib.parse import urlencode, urlsplit

from kapy.client import kubeconfig_files
from tests.apiserver.hostile.corpus import CRD, Call
from tests.apiserver.hostile.corpus.case import NAMESPACE
from tests.apiserver.hostile.watched import Held

ADMIN, HOSTILE, OTHER = "admin-token", "hostile-token", "other-token"
TOKENS = f"{ADMIN},admin,1,system:masters\n{HOSTILE},hostile,2\n{OTHER},other,3\n"  # a CSV file
QUIET = "quiet"
"""The namespace of the other user."""

PATIENCE = 900.0
http.client._MAXHEADERS = 10_000  # type: ignore[attr-defined]  # each warning is one


@dataclass(frozen=True)
class Plane:
    """A running plane. process: its number. held: for how long its event loop was."""

    host: str
    port: int
    tls: SSLContext
    process: int
    held: Held

    def connect(self) -> HTTPSConnection:
        """A connection of its own."""
        return HTTPSConnection(self.host, self.port, context=self.tls, timeout=PATIENCE)

    def ask(self, call: Call, token: str) -> tuple[int, bytes]:
        """The answer to one request; 0 when there is none."""
        connection = self.connect()
        target = f"{call.path}?{urlencode(call.query)}" if call.query else call.path
        headers = {"authorization": f"Bearer {token}"}
        if call.body:
            headers["content-type"] = call.media
        if call.accept:
            headers["accept"] = call.accept
        try:
            connection.request(call.method, target, call.body or None, headers)
            with connection.getresponse() as response:
                return response.status, response.read()
        except OSError as error:
            return 0, str(error).encode()
        finally:
            connection.close()

    def memory(self) -> Mapping[str, int]:
        """Resident memory in MiB: now, and at its highest since `forget_peak`."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        sizes = dict(line.split(":", 1) for line in lines if line.startswith(("VmRSS", "VmHWM")))
        return {name: int(value.split()[0]) // 1024 for name, value in sizes.items()}

    def forget_peak(self) -> None:
        """Let the highest memory be that of now."""
        Path(f"/proc/{self.process}/clear_refs").write_text("5")

    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(folder: Path) -> Iterator[Plane]:
    """A plane with its controllers, on disk; the hostile user may do anything in his namespace."""
    tokens, config = folder / "tokens.csv", folder / "kubeconfig"
    tokens.write_text(TOKENS)
    held = Held(folder / "held")
    command = [sys.executable, "-m", "tests.apiserver.hostile.watched", str(folder / "held")]
    command += ["up", "--port", "0"]
    command += ["--data-dir", str(folder / "plane"), "--kubeconfig", str(config)]
    command += ["--token-auth-file", str(tokens)]
    environ = {**os.environ, "HOME": str(folder), "KAPY_HOME": str(folder / "kapy")}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, env=environ, stdout=log, stderr=log) as process,
    ):
        try:
            plane = _reached(config, process, held)
            _furnish(plane)
            yield plane
        finally:
            process.terminate()


def _reached(config: Path, process: subprocess.Popen[bytes], held: Held) -> Plane:
    ends = time.monotonic() + 120
    while time.monotonic() < ends and process.poll() is None:
        time.sleep(0.2)
        if not config.exists():
            continue
        access = kubeconfig_files.load([config], "")
        url = urlsplit(access.server)
        tls = create_default_context(cadata=access.certificate_authority.decode())
        assert url.hostname is not None
        assert url.port is not None
        plane = Plane(url.hostname, url.port, tls, process.pid, held)
        if plane.ask(Call("GET", "/readyz"), ADMIN)[0] == 200:
            return plane
    raise RuntimeError("the plane did not start")


def _furnish(plane: Plane) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces"
    entries: list[tuple[str, Any]] = [(definitions, CRD)]
    for name, user in ((NAMESPACE, "hostile"), (QUIET, "other")):
        metadata = {"name": "everything"}
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        group = "rbac.authorization.k8s.io"
        role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata}
        subject = {"kind": "User", "name": user, "apiGroup": group}
        reference = {"kind": "Role", "name": "everything", "apiGroup": group}
        binding = {**role, "kind": "RoleBinding", "subjects": [subject], "roleRef": reference}
        entries += [
            ("/api/v1/namespaces", space),
            (f"{rbac}/{name}/roles", {**role, "rules": [rule]}),
            (f"{rbac}/{name}/rolebindings", binding),
        ]
    probed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probed"}}
    entries.append((f"/api/v1/namespaces/{QUIET}/configmaps", probed))
    for path, document in entries:
        status, answer = plane.ask(Call("POST", path, json.dumps(document).encode()), ADMIN)
        assert status == 201, answer
    time.sleep(1)  # the definition is established
