"""`kapy init` of released providers, whose images a container engine in memory has."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from kapy._aio.clock import system_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.settings import ControllerConfig, ManagerName, Serving, Settings
from kapy.client.kinds import Kinds
from kapy.client.kubeconfig import with_context
from kapy.clusterctl.components import Components
from kapy.clusterctl.components.reading import components_of
from kapy.clusterctl.config import load
from kapy.clusterctl.inventory import CONTRACT, compatible
from kapy.clusterctl.waiting import has_condition, wait_until
from kapy.containers import Engine, Image
from kapy.kube import Document, Key
from kapy.kube.names import CRDS, DEPLOYMENTS, PODS
from kapy.kube.yaml import dump_all
from kapy.node_agent.host_access import access_of
from kapy.node_agent.probes import Outcome, Probe
from tests.node_agent.fake_engine import FakeEngine
from tests.released_managers.releases import Release, releases

pytestmark = [pytest.mark.recorded, pytest.mark.sockets, pytest.mark.slow]

LONG: Final = 120.0
IMAGE: Final = Image("sha256:1", ("registry.example/manager@sha256:2",), "65532", ())
LABELS: Final[Mapping[str, ManagerName]] = {
    "cluster-api": "core",
    "bootstrap-kubeadm": "bootstrap-kubeadm",
    "control-plane-kubeadm": "control-plane-kubeadm",
    "infrastructure-docker": "infrastructure-dev",
}
"""The managers of a plane that are the same as a released provider."""


class EveryImage(dict[str, Image]):
    """The images of an engine that has all of them."""

    def get(self, name: str, default: object = None) -> Image:
        return IMAGE

    def __getitem__(self, name: str) -> Image:
        return IMAGE

    def __contains__(self, name: object) -> bool:
        return True


async def _well(_: Probe, __: object) -> Outcome:
    """Return the outcome of the probe of a healthy manager."""
    return Outcome(well=True)


@asynccontextmanager
async def _plane(folder: Path, label: str) -> AsyncIterator[ManagementPlane]:
    disabled = frozenset([LABELS[label]]) if label in LABELS else frozenset[ManagerName]()
    settings = Settings(
        data=folder / "data",
        serving=Serving(pki=folder / "pki"),
        pods=folder,
        run_pods="containers",
        inventory=True,
        controllers=ControllerConfig(disabled_managers=disabled),
    )
    async with management_plane(settings, clock=system_clock) as plane:
        yield plane


@pytest.mark.parametrize("release", releases(), ids=str)
async def test_a_released_provider_is_installed(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command: each object of its is there, its CRDs are established, its containers have
    been started as its Deployments say, and its Deployments are available. A release of a contract
    that is no longer supported is refused, and nothing of it is installed."""
    engine = FakeEngine()
    engine.chosen = "127.0.0.0/8"
    engine.images = engine.registry = EveryImage()
    monkeypatch.setattr(Engine, "from_environment", lambda: engine)
    monkeypatch.setattr(Probe, "run", _well)
    configuration = tmp_path / "clusterctl.yaml"
    configuration.write_text(release.configuration())
    async with _plane(tmp_path / "plane", release.provider.label) as plane:
        assert plane.kubeconfig is not None
        (tmp_path / "plane" / "plane.json").write_text("{}")  # the command is on its machine
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(dump_all([with_context({}, "plane", plane.kubeconfig)]))
        code, message = await _init(release, configuration, kubeconfig)
        components = _read(release, configuration)
        if release.contract in compatible(CONTRACT):
            assert code == 0, message
            await _check_installed(plane, components, message)
        else:
            assert f"detected contract version {release.contract} for provider" in message
            await _check_nothing(plane, components)


def _read(release: Release, configuration: Path) -> Components:
    return components_of(
        release.components.read_text(),
        release.provider,
        release.version,
        load(str(configuration), {}),
    )


async def _init(release: Release, configuration: Path, kubeconfig: Path) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kapy.cli.main", "init", *release.arguments()),
        *(
            "--config",
            str(configuration),
            "--kubeconfig",
            str(kubeconfig),
            "--wait-providers",
            "--wait-provider-timeout",
            "60",
        ),
        env=os.environ | {"HOME": str(configuration.parent)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    data, _ = await process.communicate()
    return process.returncode, data.decode()


async def _check_installed(plane: ManagementPlane, components: Components, message: str) -> None:
    await _check_objects(plane, components)
    for deployment in (obj for obj in components.objects if obj["kind"] == "Deployment"):
        await _check_pods(plane, deployment)
        for access in access_of(deployment["spec"]["template"]["spec"]):
            assert access in message, "what it may do at this machine is told"


async def _check_nothing(plane: ManagementPlane, components: Components) -> None:
    """Nothing of a refused release is there."""
    listed = (await plane.client.list(CRDS)).items
    names = {document["metadata"]["name"] for document in listed}
    assert not names & {obj["metadata"]["name"] for obj in components.objects}


async def _check_objects(plane: ManagementPlane, components: Components) -> None:
    kinds = Kinds(plane.client)
    for obj in components.objects:
        document = await plane.client.get(await kinds.of(obj), Key.of(obj))
        if obj["kind"] == CRDS.kind:
            assert has_condition(document, "Established"), document["status"]


async def _check_pods(plane: ManagementPlane, deployment: Document) -> None:

    def is_available(document: Document | None) -> bool:
        return document is not None and has_condition(document, "Available")

    # The command waits for those with a container `manager` only, as upstream's.
    await wait_until(plane.client, DEPLOYMENTS, Key.of(deployment), is_available, within=LONG)
    selector = deployment["spec"]["selector"]["matchLabels"]
    pods = [
        document
        for document in (await plane.client.list(PODS, Key.of(deployment).namespace)).items
        if selector.items() <= document["metadata"]["labels"].items()
    ]
    assert pods, "a Deployment has a Pod"
