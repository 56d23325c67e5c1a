"""The life of a real cluster, through kapy alone, from its creation to its deletion.

Its chapters build on each other, so they are one test: a cluster takes most of a minute.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachine
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.kube.names import SECRETS
from tests.real_clusters.draining import drain
from tests.real_clusters.engine import container_engine, leftovers
from tests.real_clusters.growing import (
    create,
    grow,
    grow_control_plane,
    shrink,
    shrink_control_plane,
)
from tests.real_clusters.healing import lose_a_worker, lose_the_leader, lose_the_load_balancer
from tests.real_clusters.life import CLUSTER, PATIENCE, Life, living, plane
from tests.real_clusters.moving import host_itself, move_to
from tests.real_clusters.parts import VERSION, tell
from tests.real_clusters.renewing import renew_certificates, renew_the_kubeconfig
from tests.real_clusters.upgrading import upgrade

pytestmark = pytest.mark.sockets


async def test_a_real_cluster_is_created_scaled_upgraded_and_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path, monkeypatch) as (life, first):
        await create(life)
        await grow(life)
        await renew_the_kubeconfig(life)
        await drain(life)
        await upgrade(life)
        await renew_certificates(life)
        await grow_control_plane(life)
        await lose_the_leader(life)
        await shrink_control_plane(life)
        await lose_a_worker(life)
        await lose_the_load_balancer(life)
        await shrink(life)
        async with plane() as second:
            await move_to(life, first, second)
            await host_itself(life, second)
            await delete(life)


async def test_the_quickstart_gives_a_real_cluster(tmp_path: Path) -> None:
    async with container_engine(tmp_path, network=False) as engine:
        command = ("quickstart", "--infrastructure", "docker", "--kubernetes-version", VERSION)
        quickstart = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kapy.cli.main", *command, "--exit", "--port", "0"),
            env={**os.environ, "DOCKER_HOST": engine.address, "HOME": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert quickstart.stdout is not None
        message = (await quickstart.stdout.read()).decode()
        assert await quickstart.wait() == 0, message
        assert "Cluster default/capybara is Available: 1 control plane + 1 worker" in message
        assert "containers are gone" in message
        assert await leftovers(engine) == []
        tell(next(line for line in message.splitlines() if "is Available" in line))


async def delete(life: Life) -> None:
    """Nothing is left: no container, no volume, no object. The network was there before."""
    await life.client.delete(Cluster.RESOURCE, CLUSTER)
    await life.story.until_gone(Cluster, "real", within=PATIENCE)
    assert await leftovers(life.engine) == ["network kind"]
    for kind in (Machine.RESOURCE, DevMachine.RESOURCE, KubeadmConfig.RESOURCE, SECRETS):
        remaining = (await life.client.list(kind, CLUSTER.namespace)).items
        assert remaining == [], f"{len(remaining)} {kind.plural} are left"
    life.done("deleted")
