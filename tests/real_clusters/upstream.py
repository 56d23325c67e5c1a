"""Upstream's docker manager v1.14 as a process, beside a plane of kapy that has none of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from aiodocker import Docker

from kapy._aio.clock import system_clock
from kapy.apps.all_in_one import Plane
from kapy.client.kubeconfig import Kubeconfig, with_context
from kapy.kube import Document
from kapy.kube.pki import issue, new_ca
from kapy.kube.yaml import dump_all
from kapy.providers.docker.engine import Engine
from tests.real_clusters.images import NODE
from tests.real_clusters.parts import program

CRICTL: Final = "#!/bin/sh\\nexec ctr --namespace k8s.io containers list -q > /dev/null\\n"
"""Upstream's manager asks crictl whether containerd is up, which is no Go module."""
GRACE: Final = 30.0


async def give_crictl(engine: Engine) -> None:
    """Put a crictl into the node image, under the image's name."""
    docker = Docker(engine.address)
    script = f"printf '{CRICTL}' > /usr/bin/crictl && chmod 755 /usr/bin/crictl"
    config: Document = {
        "Image": NODE,
        "Entrypoint": ["/bin/sh", "-c", script],
        "HostConfig": {"NetworkMode": "none"},
    }
    try:
        container = await docker.containers.create(config, name="kapy-gives-crictl")
        try:
            await container.start()
            assert (await container.wait())["StatusCode"] == 0
            repository, _, version = NODE.rpartition(":")
            changes = 'ENTRYPOINT ["/usr/local/bin/entrypoint"]'
            await container.commit(repository=repository, tag=version, changes=changes)
        finally:
            await container.delete(force=True, v=True)
    finally:
        await docker.close()


@asynccontextmanager
async def upstreams_manager(plane: Plane, engine: Engine, folder: Path) -> AsyncIterator[None]:
    """It looks after the plane's infrastructure while the context is open."""
    assert plane.access is not None
    _prepare(folder, plane.access)
    command = [str(program("upstream")), f"--webhook-cert-dir={folder}", "--webhook-port=0"]
    command += ["--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--health-addr=:0"]
    command += ["--leader-elect=false", "--skip-crd-migration-phases=All"]
    environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}
    environment["DOCKER_HOST"] = engine.address
    with (folder / "manager.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=log, stderr=log
        )
        try:
            yield
            assert process.returncode is None, (folder / "manager.log").read_text()[-2000:]
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), GRACE)
                except TimeoutError:
                    process.kill()
                    await process.wait()


def _prepare(folder: Path, access: Kubeconfig) -> None:
    """Its kubeconfig, and a certificate for its webhooks, which nobody calls here."""
    folder.mkdir(exist_ok=True)
    (folder / "kubeconfig").write_text(dump_all([with_context({}, "plane", access)]))
    now = system_clock()
    authority = new_ca("webhooks", now=now, algorithm="ECDSA-P256")
    made = issue(authority, "webhooks", now=now, usages=("server",), algorithm="ECDSA-P256")
    (folder / "tls.crt").write_bytes(made.certificate)
    (folder / "tls.key").write_bytes(made.key)
