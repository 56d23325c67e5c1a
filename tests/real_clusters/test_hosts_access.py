"""Hosts behind a jump host, with an agent and sudo, which get Kubernetes from somewhere else."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kapy.containers import Engine
from kapy.kube import Document
from tests.real_clusters.engine import container_engine
from tests.real_clusters.host_containers import start_hosts
from tests.real_clusters.host_setup import KEY, Setup, plane_of_hosts, public_key
from tests.real_clusters.package_sources import web_server, write_archive, write_repository
from tests.real_clusters.parts import NEW, OLD, Release

pytestmark = pytest.mark.sockets

USER = "admin"
_MAKE_USER = f"""
useradd --create-home --shell /bin/bash --password '*' {USER}
echo '{USER} ALL=(ALL) NOPASSWD:ALL' > /etc/sudoers.d/{USER}
install -d -m 700 -o {USER} /home/{USER}/.ssh
install -m 600 -o {USER} /root/.ssh/authorized_keys /home/{USER}/.ssh/authorized_keys
mkdir -p /etc/ssh/sshd_config.d
echo 'AllowUsers @ALLOWED@' > /etc/ssh/sshd_config.d/users.conf
grep -q '^Include' /etc/ssh/sshd_config
systemctl restart ssh
"""


async def test_kubernetes_comes_from_an_archive_and_then_from_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker lets nobody in but the user of the jump host, which is the other host."""
    served = tmp_path / "served"
    served.mkdir()
    async with container_engine(tmp_path) as engine:
        addresses = await start_hosts(engine, ["cp-1", "worker-1"], public_key())
        jump = addresses["cp-1"]
        await _make_user(engine, "cp-1", USER)
        await _make_user(engine, "worker-1", f"{USER}@{jump}")
        login: Document = {"user": USER, "sudo": True}
        through = {"jumpHost": {"address": jump, "user": USER}}
        specs = {"cp-1": login, "worker-1": login | through}
        with _agent(tmp_path) as socket:
            monkeypatch.setenv("HOSTS_SSH_AUTH_SOCK", socket)
            gateway = f"{jump.rpartition('.')[0]}.1"
            async with (
                web_server(served, gateway) as url,
                plane_of_hosts(engine, addresses, specs) as hosts,
            ):
                archive = write_archive(served, NEW)
                source = {
                    "url": f"{url}/kubernetes-{{version}}-{{arch}}.tar",
                    "sha256": archive.sha256,
                }
                await _live(hosts, "blue", NEW, {"archive": source})
                key = write_repository(served, OLD)
                packages = {"url": f"{url}/deb/", "key": key}
                await _live(hosts, "green", OLD, {"repository": packages})


async def _live(hosts: Setup, name: str, release: Release, install: Document) -> None:
    """A cluster is created of one control plane machine and one worker, and deleted."""
    address = hosts.addresses["cp-1"]
    await hosts.create(
        name,
        VERSION=release.version,
        ETCD=release.etcd,
        COREDNS=release.coredns,
        ENDPOINT=f"{{controlPlaneEndpoint: {{host: {address}, port: 6443}}}}",
        CONTROL_PLANES="1",
        WORKERS="1",
        CONTROL_PLANE_LABELS="{role: cp}",
        WORKER_LABELS="{role: worker}",
        INSTALL=json.dumps(install),
    )
    await hosts.runs(name, release, 2)
    await hosts.delete(name)


async def _make_user(engine: Engine, host: str, allowed: str) -> None:
    script = _MAKE_USER.replace("@ALLOWED@", allowed)
    done = await engine.run(host, ["/bin/sh", "-ec", script])
    assert not done.exit_code, done


@contextmanager
def _agent(folder: Path) -> Iterator[str]:
    """An SSH agent with the key of the hosts; the value is its socket."""
    key = folder / "key"
    key.write_bytes(KEY.export_private_key())
    key.chmod(0o600)
    socket = str(folder / "agent.sock")
    process = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    try:
        environment = {**os.environ, "SSH_AUTH_SOCK": socket}
        command = ["ssh-add", "-q", str(key)]
        subprocess.run(
            ["sh", "-c", f"until [ -S {socket} ]; do sleep 0.1; done"], check=True, timeout=30
        )
        subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL)
        key.unlink()
        yield socket
    finally:
        process.terminate()
        process.wait()
