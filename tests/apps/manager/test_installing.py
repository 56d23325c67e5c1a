"""The releases of our managers are installed by `kapy init`, from a folder."""

from __future__ import annotations

import json
from pathlib import Path

from kapy._aio.clock import loop_clock
from kapy.apps.manager.programs import PROGRAMS
from kapy.apps.manager.release import FILES, write_release
from kapy.client.client import Client
from kapy.clusterctl import install
from kapy.clusterctl.config import Config, load
from kapy.clusterctl.install import InstallOptions
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.progress import no_progress
from kapy.clusterctl.provider import ProviderType
from kapy.kube import Key
from kapy.kube.names import DEPLOYMENTS
from tests.clusterctl.releases import management_cluster

TYPES = {
    "core": "CoreProvider",
    "bootstrap-kubeadm": "BootstrapProvider",
    "control-plane-kubeadm": "ControlPlaneProvider",
    "infrastructure-dev": "InfrastructureProvider",
}


def configuration(folder: Path) -> Config:
    """Write the releases, and return a clusterctl configuration with their locations."""
    providers = []
    for name, of_type in TYPES.items():
        label = PROGRAMS[name].provider
        place = write_release(name, folder)
        called = "cluster-api" if name == "core" else label.rpartition("-")[2]
        url = f"file://{place / FILES[name]}"
        providers.append({"name": called, "type": of_type, "url": url})
    path = folder / "clusterctl.yaml"
    path.write_text(json.dumps({"providers": providers}))
    return load(str(path), {"HOME": str(folder)})


async def test_init_installs_all_four_with_variables_filled_in(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    async with management_cluster() as client:
        providers = RequestedProviders({ProviderType.INFRASTRUCTURE: ["docker"]})
        await install.init(
            client,
            config,
            providers,
            options=InstallOptions(),
            clock=loop_clock(),
            progress=no_progress,
        )
        there = {installed.label for installed in await Inventory(client).installed()}
        messages = {name: await arguments(client, name) for name in PROGRAMS}
    assert there == {program.provider for program in PROGRAMS.values()}
    assert all("--diagnostics-address=:8443" in entry for entry in messages.values())
    assert not [text for entry in messages.values() for text in entry if "${" in text]


async def arguments(client: Client, name: str) -> list[str]:
    program = PROGRAMS[name]
    key = Key(program.namespace, f"{program.prefix}-controller-manager")
    deployment = await client.get(DEPLOYMENTS, key)
    args: list[str] = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    return args
