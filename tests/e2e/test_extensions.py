"""Extensions as operators meet them: one plane, the examples as processes beside it, one in Go.

One holds, one refuses, one is dead; what they say stands in the Cluster's condition. Others patch,
check and plan, and have a Machine updated in place.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.extension_config import ExtensionConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig_files import load
from kapy.conditions import is_true, message_of
from kapy.kube import Document, Key, pki
from kapy.remote.secrets import KUBECONFIG
from kapy.testing.story import Story
from tests.absent import has_go
from tests.core.topology.topology_story import objects as sample
from tests.e2e.extended_clusters import has_variables, is_released, released_class, resized
from tests.e2e.shell import Shell
from tests.examples.test_platform_patches import EXTERNAL
from tests.foreign.program import Program, running, until
from tests.stories.plane import own_kinds

EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"
MODULES = (
    "addon_before_upgrade",
    "backup_before_delete",
    "change_freeze",
    "conformance_after_upgrade",
    "memory=in_place_memory",
    "platform=platform_patches",
    "quota_gate",
    "registry=registry_patches",
    "scale=in_memory_class",
)
GATES = "RuntimeSDK=true,InPlaceUpdates=true,MachineTaintPropagation=true"
OF_RELEASE = {"discover-variables.scale", "generate-patches.scale"}
NOT_SEEN = {
    "can-resize-machine.memory",  # no control plane makes room before it grows
    "generate-upgrade-plan.scale",  # by hand, and not by the plane
}
HANDLERS = {
    *OF_RELEASE,
    *NOT_SEEN,
    "can-resize-machines.memory",
    "registry-check.registry",
    "registry-patches.registry",
    "registry-variables.registry",
    "resize.memory",
    "backup.backup-before-delete",
    "cloud-agent.addon-before-upgrade",
    "conformance.conformance-after-upgrade",
    "freeze.change-freeze",
    "machines.quota-gate",
    "owner.owner",
    "platform-check.platform",
    "platform-patches.platform",
    "platform-variables.platform",
}
NAME, WITHIN = "capybara", 60.0
RECONCILED = "TopologyReconciled"

pytestmark = [
    pytest.mark.sockets,
    pytest.mark.skipif(not has_go(), reason="go is not on PATH"),
]


def build(program: Path) -> None:
    """The program in Go; what debuggers need of it is left out, since that takes as long again."""
    source = EXAMPLES / "go" / "main.go"
    subprocess.run(["go", "build", "-ldflags=-s -w", "-o", program, source], check=True)


def certified(folder: Path) -> int:
    """The certificate of the program in Go, in files, and a port that is free."""
    ca = pki.new_ca("given", now=system_clock(), algorithm="ECDSA-P256")
    pair = pki.issue(ca, "owner", now=system_clock(), names=["127.0.0.1"], usages=("server",))
    for name, content in (("ca", ca.certificate), ("crt", pair.certificate), ("key", pair.key)):
        (folder / f"owner.{name}").write_bytes(content)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


class Herders:
    """The person, and what runs for them."""

    def __init__(self, folder: Path) -> None:
        self.shell = Shell(folder, {"PYTHONPATH": str(EXAMPLES)})
        self._port = certified(folder)

    @contextmanager
    def owner(self) -> Iterator[Program]:
        """The extension in Go."""
        program = self.shell.home / "owner"
        if not program.exists():
            build(program)
        command = (program, "owner.crt", "owner.key", str(self._port))
        with running(self.shell, "owner", *command) as result:
            yield result

    @contextmanager
    def plane(self) -> Iterator[Program]:
        """A plane and the processes beside it, which take a while to begin."""
        places = [*MODULES, f"owner=https://127.0.0.1:{self._port}", "dead=https://127.0.0.1:1"]
        words = [word for place in places for word in ("--extension", place)]
        gates = ("--feature-gates", GATES)
        more = ("--port", "0", "--in-memory", "--extension-ca", "owner.ca", *gates)
        with running(self.shell, "plane", "kapy", "up", *more, *words) as program:
            yield program

    @asynccontextmanager
    async def story(self) -> AsyncIterator[Story]:
        transport = ApiTransport(load([self.shell.home / ".kube" / "config"]))
        try:
            yield Story(Client(transport), own_kinds())
        finally:
            await transport.aclose()


def objects() -> list[Document]:
    """The sample's class and Cluster, with patches more."""
    results = sample()
    for document in results:
        if document["kind"] == "ClusterClass":
            document["spec"]["patches"].append(EXTERNAL)
    return results


async def says(story: Story, text: str) -> None:
    """Wait until the Cluster says what it waits for."""
    await story.until(
        Cluster,
        NAME,
        lambda cluster: text in message_of(cluster.status.conditions, RECONCILED),
        within=WITHIN,
    )


async def change(story: Story, **metadata: Any) -> None:
    await story.merge(Cluster, NAME, {"metadata": metadata})


async def test_the_answers_of_extensions_take_effect(tmp_path: Path) -> None:
    herders = Herders(tmp_path)
    with herders.plane() as plane, herders.owner() as owner:
        until("the plane", lambda: "kubectl context" in plane.log.read_text())
        async with herders.story() as story:
            watching = ("kapy", "hooks", "watch", "-o", "json")
            with running(herders.shell, "calls", *watching) as calls:
                until("somebody who looks on", lambda: "following" in calls.log.read_text())
                await held(story, herders, owner)
                with herders.owner():
                    await created(story)
                    await side_by_side(story, herders)
                    await deleted(story)
                assert plane.stop() == 0
                until("the end, for who looks on", lambda: "ended" in calls.log.read_text())
                seen(calls)
    assert "Traceback" not in plane.log.read_text()


async def discovers(story: Story, name: str, holds: Callable[[ExtensionConfig], bool]) -> None:
    await story.until(ExtensionConfig, name, holds, namespace="", within=WITHIN)


def is_refused(config: ExtensionConfig) -> bool:
    return "connection refused" in message_of(config.status.conditions, "Discovered")


async def held(story: Story, herders: Herders, owner: Program) -> None:
    await discovers(story, "dead", is_refused)
    await discovers(story, "owner", lambda config: bool(config.status.handlers))
    listed = herders.shell.ok("kapy", "hooks", "list")
    assert {line.split()[0] for line in listed.splitlines()[1:]} == {*HANDLERS, "dead"}
    *class_objects, cluster = objects()
    await story.create(class_objects)
    await has_variables(story, "meadow")
    await story.create([cluster])
    await says(story, 'settings.machines of the ExtensionConfig is "", not a number')
    settings = {"spec": {"settings": {"machines": "3"}}}
    await story.client.patch(ExtensionConfig, Key("", "quota-gate"), settings)
    await says(story, "the Cluster needs the label example.com/owner")
    owner.kill()
    await change(story, labels={"example.com/owner": "herders"})
    await says(story, "connection refused")


async def created(story: Story) -> None:
    await story.until(
        Cluster,
        NAME,
        lambda cluster: is_true(cluster.status.conditions, "Available"),
        within=WITHIN,
    )

    control_plane = await story.get(KubeadmControlPlane, f"{NAME}-control-plane")
    assert control_plane is not None
    configuration = control_plane.spec.kubeadm_config_spec.cluster_configuration
    assert configuration.image_repository == "registry.example.com"


async def side_by_side(story: Story, herders: Herders) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(upgraded(story, herders))
        group.create_task(resized(story))
        if is_released():
            group.create_task(released_class(story, herders.shell))


async def upgraded(story: Story, herders: Herders) -> None:
    await change(story, labels={"example.com/frozen": "fair"})
    await story.merge(Cluster, NAME, {"spec": {"topology": {"version": "v1.35.0"}}})
    await says(story, "waits until the label example.com/frozen (fair) is taken away")
    await change(story, labels={"example.com/frozen": None})
    await story.until(
        Cluster,
        NAME,
        lambda cluster: is_true(cluster.status.conditions, "Conformant"),
        within=WITHIN,
    )
    access = herders.shell.ok("kapy", "get", "kubeconfig", NAME)
    (herders.shell.home / KUBECONFIG).write_text(access)
    agent = herders.shell.json(f"--kubeconfig {KUBECONFIG} -n kube-system get cm cloud-agent")
    assert agent["data"] == {"image": "registry.example.com/cloud-agent:v1.35.0"}


async def deleted(story: Story) -> None:
    await story.client.delete(Cluster, Key("default", NAME))
    await says(story, "a backup is being made")
    await change(story, annotations={"example.com/backup": "done"})
    await story.until_gone(Cluster, NAME, within=WITHIN)


def seen(calls: Program) -> None:
    """Check the calls that the observer printed."""
    lines = [json.loads(line) for line in calls.log.read_text().splitlines() if line[0] == "{"]
    handlers = HANDLERS - NOT_SEEN if is_released() else HANDLERS - NOT_SEEN - OF_RELEASE
    assert {line["handler"] for line in lines if line["handler"]} == handlers
    failed = next(line for line in lines if line["handler"] == "machines.quota-gate")
    assert failed["response"]["status"] == "Failure"
    assert failed["request"]["cluster"]["metadata"]["name"] == NAME
    assert any("connection refused" in line.get("error", "") for line in lines)
