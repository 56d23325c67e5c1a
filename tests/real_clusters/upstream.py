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
from kapy.apps.all_in_one import ManagementPlane
from kapy.client.kubeconfig import Kubeconfig, with_context
from kapy.containers import Engine
from kapy.kube import Document
from kapy.kube.pki import issue, new_ca
from kapy.kube.yaml import dump_all
from tests.real_clusters.images import BALANCER, node_image
from tests.real_clusters.parts import RELEASES, program

CRICTL: Final = """\
cat > /usr/bin/crictl <<'EOF'
#!/bin/sh
exec ctr --namespace k8s.io containers list -q > /dev/null
EOF
chmod 755 /usr/bin/crictl
"""
"""Upstream's manager asks crictl whether containerd is up, which is no Go module."""
HAPROXY: Final = """\
mkdir -p /usr/local/etc/haproxy
cat > /usr/local/etc/haproxy/haproxy.cfg <<'EOF'
defaults
  mode tcp
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend none
  bind *:6443
EOF
cat > /usr/local/sbin/haproxy <<'EOF'
#!/bin/sh
exec /usr/sbin/haproxy -n 9000 "$@"
EOF
chmod 755 /usr/local/sbin/haproxy
"""
"""Upstream's manager starts haproxy before it writes a configuration: the image brings one. Its
configuration asks for more connections than the hard limit of files allows here."""
GRACE: Final = 30.0


async def complete_images(engine: Engine) -> None:
    """Put into the images what kind's images have and only upstream's manager needs."""
    docker = Docker(engine.address)
    try:
        for release in RELEASES:
            changes = 'ENTRYPOINT ["/usr/local/bin/entrypoint"]'
            await _commit(docker, node_image(release), CRICTL, changes)
        await _commit(docker, BALANCER, HAPROXY, "CMD []")
    finally:
        await docker.close()


async def _commit(docker: Docker, image: str, script: str, changes: str) -> None:
    """Run a script in an image, under whose name the result is kept."""
    config: Document = {
        "Image": image,
        "Entrypoint": ["/bin/sh", "-c", script],
        "HostConfig": {"NetworkMode": "none"},
    }
    container = await docker.containers.create(config, name="kapy-completes-an-image")
    try:
        await container.start()
        assert (await container.wait())["StatusCode"] == 0
        repository, _, version = image.rpartition(":")
        await container.commit(repository=repository, tag=version, changes=changes)
    finally:
        await container.delete(force=True, v=True)


@asynccontextmanager
async def upstreams_manager(
    plane: ManagementPlane, engine: Engine, folder: Path
) -> AsyncIterator[None]:
    """It looks after the plane's infrastructure while the context is open."""
    assert plane.kubeconfig is not None
    _prepare(folder, plane.kubeconfig)
    command = [str(program("upstream")), f"--webhook-cert-dir={folder}", "--webhook-port=0"]
    command += ["--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", "--health-addr=:0"]
    command += ["--leader-elect=false", "--skip-crd-migration-phases=StorageVersionMigration"]
    command += ["--skip-crd-migration-phases=CleanupManagedFields"]
    environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}
    environment["DOCKER_HOST"] = engine.address
    with (folder / "manager.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=log, stderr=log
        )
        try:
            async with asyncio.TaskGroup() as group:
                dying = group.create_task(_dies(process, folder / "manager.log"))
                yield
                dying.cancel()
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), GRACE)
                except TimeoutError:
                    process.kill()
                    await process.wait()


async def _dies(process: asyncio.subprocess.Process, log: Path) -> None:
    code = await process.wait()
    raise AssertionError(f"upstream's manager ended with {code}: {_end_of(log)}")


def _end_of(log: Path) -> str:
    return log.read_text()[-2000:]


def _prepare(folder: Path, access: Kubeconfig) -> None:
    """Its kubeconfig, and a certificate for its webhooks, which nobody calls here."""
    folder.mkdir(exist_ok=True)
    (folder / "kubeconfig").write_text(dump_all([with_context({}, "plane", access)]))
    now = system_clock()
    authority = new_ca("webhooks", now=now, algorithm="ECDSA-P256")
    certificate = issue(authority, "webhooks", now=now, usages=("server",), algorithm="ECDSA-P256")
    (folder / "tls.crt").write_bytes(certificate.certificate)
    (folder / "tls.key").write_bytes(certificate.key)
