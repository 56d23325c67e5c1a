"""A container engine for one test: dockerd with folders of its own, gone at the end.

It runs in the network and mount namespaces of the test, so that nothing that it or a cluster does
can leave the machine, and the host's packet filter stays as it is.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from aiodocker import Docker

from kapy.containers import Engine, EngineError, EngineUnreachable
from tests.real_clusters.images import ensure_images
from tests.real_clusters.parts import CACHE, HERE

RUNTIME: Final = "fewer-capabilities"
START: Final = 60.0
_SYSCTLS: Final = tuple(
    Path("/proc/sys") / name
    for name in ("kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory")
)
"""Settings of the host that a kubelet changes."""
_INSTANCES: Final = Path("/proc/sys/fs/inotify/max_user_instances")
_ENOUGH_INSTANCES: Final = 1024
"""Each node needs some twenty inotify instances, of usually 128 that root may have."""
_FILTERED: Final = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
"""Whether rules of the packet filter hold between containers of one network. Those of an internal
network would drop what Pods send to other nodes. The setting belongs to the network namespace."""
NETWORK: Final = {"Driver": "bridge", "Internal": True}
IPV6: Final = {"EnableIPv6": True, "IPAM": {"Config": [{"Subnet": "fc00:f853:ccd:e793::/64"}]}}
"""The range is that of kind."""
_OWN_NETWORKS: Final = {"bridge", "host", "none"}


@asynccontextmanager
async def container_engine(
    folder: Path, *, network: bool = True, nodes: bool = True, dual_stack: bool = False
) -> AsyncIterator[Engine]:
    """The engine, with the images of a real cluster. network: with the network of its nodes, which
    leads nowhere; kapy makes one otherwise. nodes: with images of nodes; else it is an empty one
    of this test alone. dual_stack: the network has IPv6, too."""
    before = _sysctls()
    settings = {
        "runtimes": {RUNTIME: {"path": str(HERE / "runtime.py")}},
        "default-runtime": RUNTIME,
        "storage-driver": "overlay2",
    }
    (folder / "daemon.json").write_text(json.dumps(settings))
    address = f"unix://{folder}/docker.sock"
    command = ["dockerd", "--config-file", str(folder / "daemon.json"), "-H", address]
    data = CACHE / "engine" if nodes else folder / "engine"
    command += ["--data-root", str(data), "--exec-root", str(folder / "exec")]
    command += ["--pidfile", str(folder / "pid"), "--bip", "10.88.0.1/24"]
    with (folder / "dockerd.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
    engine = Engine(address)
    try:
        await _answers(engine, folder)
        docker = Docker(address)
        try:
            await remove_everything(engine)
            async with docker._query("volumes/prune", "POST") as response:  # of a killed test
                assert response.status == 200, await response.text()
            if nodes:
                await ensure_images(docker)
        finally:
            await docker.close()
        if network:
            await engine.create_network("kind", NETWORK | (IPV6 if dual_stack else {}))
        _allow()
        yield engine
    finally:
        with suppress(EngineError):  # of one that did not start
            await remove_everything(engine)
        await engine.close()
        process.terminate()
        await process.wait()
        for path, value in before.items():
            path.write_text(value)


async def remove_everything(engine: Engine) -> None:
    """Remove all containers, and the network of nodes. Running containers may create more."""
    while containers := await engine.containers():
        for container in containers:
            await engine.remove(container.id)
    await engine.remove_network("kind")


async def leftovers(engine: Engine) -> list[str]:
    """Return the containers, volumes and networks of the engine, without its own networks."""
    docker = Docker(engine.address)
    try:
        async with docker._query("volumes") as response:
            volumes = (await response.json()).get("Volumes") or []
        networks = await docker.networks.list()
    finally:
        await docker.close()
    return [
        *(f"container {container.name}" for container in await engine.containers()),
        *(f"volume {volume['Name']}" for volume in volumes),
        *(
            f"network {network['Name']}"
            for network in networks
            if network["Name"] not in _OWN_NETWORKS
        ),
    ]


async def _answers(engine: Engine, folder: Path) -> None:
    deadline = asyncio.get_running_loop().time() + START
    while True:
        try:
            await engine.info()
        except EngineUnreachable as error:
            if asyncio.get_running_loop().time() > deadline:
                text = (folder / "dockerd.log").read_text()[-2000:]
                raise AssertionError(f"dockerd does not start: {text}") from error
            await asyncio.sleep(0.2)
        else:
            return


def _allow() -> None:
    """Let Pods reach other nodes, and nodes have what they need."""
    if _FILTERED.exists():
        _FILTERED.write_text("0")
    if int(_INSTANCES.read_text()) < _ENOUGH_INSTANCES:
        _INSTANCES.write_text(str(_ENOUGH_INSTANCES))


def _sysctls() -> Mapping[Path, str]:
    changed = (*_SYSCTLS, _INSTANCES, _FILTERED)
    return {path: path.read_text() for path in changed if os.access(path, os.W_OK)}
