"""The tutorial of a cluster on three machines, followed to the letter, on containers."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
import tomllib
from pathlib import Path
from typing import Final

import asyncssh
import pytest

from kapy.containers import Engine
from tests.real_clusters.engine import container_engine
from tests.real_clusters.host_containers import start_hosts, traces
from tests.real_clusters.images import PAUSE_IMAGE
from tests.real_clusters.parts import HERE, NEW, ROOT, tell

pytestmark = pytest.mark.sockets
TUTORIAL: Final = ROOT / "docs" / "tutorial" / "three-machines.md"
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROJECT: Final = ROOT / "providers" / "hosts"
HOSTS: Final = ("first", "second", "third")
LIMIT: Final = 3600.0


async def test_the_tutorial_leads_from_three_machines_to_a_cluster_and_back(tmp_path: Path) -> None:
    values, *others = BLOCK.findall(TUTORIAL.read_text(encoding="utf-8"))
    assert len(others) == 7
    key = asyncssh.generate_private_key("ssh-ed25519")
    (tmp_path / "key").write_bytes(key.export_private_key())
    (tmp_path / "providers").symlink_to(ROOT / "providers")
    async with container_engine(tmp_path) as engine:
        public = key.export_public_key().decode().strip()
        addresses = await start_hosts(engine, HOSTS, public, NEW)
        await _provide_images(engine, re.findall(r"--image (\S+)", "".join(others)))
        block = _own_values(values, addresses, tmp_path)
        (tmp_path / "all.sh").write_text("\n".join([_PIP, block, *map(_timed, others)]))
        began = time.monotonic()
        try:
            said = await _typed(tmp_path)
        finally:
            await _down(tmp_path)
        tell(f"the tutorial of three machines: {time.monotonic() - began:.0f} s\n{said}")
        for host in HOSTS:
            assert await traces(engine, host) == ""


def _own_values(block: str, addresses: dict[str, str], folder: Path) -> str:
    """The values that a reader replaces by their own."""
    own = {name.upper(): addresses[name] for name in HOSTS}
    own |= {"KEY": f"{folder}/key", "VERSION": NEW.version, "NETWORK": f"{HERE}/network.yaml"}
    names = re.findall(r"(\w+)=", block)
    assert set(names) == set(own)
    return "".join(f"export {name}={own[name]}\n" for name in names)


_PIP: Final = """\
pip() { test "$*" = "install . ./providers/hosts" && test -f providers/hosts/pyproject.toml; }
"""
"""A replacement of pip: the packages are installed already, and this machine downloads nothing."""


def _timed(block: str) -> str:
    return f"{block}\necho block: $SECONDS s\n"


async def _typed(home: Path) -> str:
    """Run the commands, all of which must succeed, and return their output."""
    process = await asyncio.create_subprocess_exec(
        *("bash", "-e", "-x", "-o", "pipefail", "all.sh"),
        cwd=home,
        env=_environment(home),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(LIMIT):
            data, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = data.decode()
    assert process.returncode == 0, text[-6000:]
    return text


async def _down(home: Path) -> None:
    """End the plane, if a block has failed before the last one."""
    (home / "all.sh").write_text("kapy down || true\n")
    await _typed(home)


def _environment(home: Path) -> dict[str, str]:
    """With the commands that the two projects install."""
    commands = home / "bin"
    commands.mkdir(exist_ok=True)
    scripts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["scripts"]
    for name, entry in {**scripts, "kapy": "kapy.cli.main:main"}.items():
        module, _, function = entry.partition(":")
        program = commands / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\n"
            f"sys.exit({function}())\n"
        )
        program.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
    return {
        **inherited,
        "HOME": str(home),
        "KAPY_HOME": str(home / "kapy"),
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{PROJECT}",
    }


async def _provide_images(engine: Engine, images: list[str]) -> None:
    """Give the hosts another name for an image that they have, as they can pull none."""
    assert images
    tag = ("ctr", "-n", "k8s.io", "images", "tag", "--force", PAUSE_IMAGE)
    for host in HOSTS:
        for image in images:
            done = await engine.run(host, [*tag, f"docker.io/library/{image}"])
            assert done.exit_code == 0, done
