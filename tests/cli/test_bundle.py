"""`kapy bundle`: from where there is a network to where there is none."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from aiohttp import web

from kapy.cli.root import run
from kapy.kube import yaml
from tests.clusterctl.bundle.test_bundle import releases
from tests.clusterctl.repository.servers import Server, serving
from tests.waiting import LIMIT

ASKED = ("-i", "herd:v1.2.0", "--no-image-digests")


def kapy(home: Path, *arguments: str) -> int:
    os.environ["HOME"] = str(home)
    os.environ.pop("XDG_CONFIG_HOME", None)
    return run(arguments)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "")


def test_a_bundle_made_elsewhere_is_configured_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there, here, file = tmp_path / "there", tmp_path / "here", str(tmp_path / "b.tar")
    config = releases(there).file.source
    assert kapy(there, "bundle", "create", "-o", file, "--config", config, *ASKED) == 0
    assert "infrastructure-herd v1.2.0, cert-manager v1.2.0; 5 images are listed" in (
        capsys.readouterr().out
    )
    assert kapy(here, "bundle", "load", file) == 0
    usual = here / ".config" / "cluster-api"
    assert f"{usual}/clusterctl.yaml names it" in capsys.readouterr().out
    assert kapy(here, "config", "repositories", "-o", "yaml") == 0
    listed = yaml.load(capsys.readouterr().out)
    assert {
        "Name": "herd",
        "ProviderType": "InfrastructureProvider",
        "URL": f"{usual}/repository/infrastructure-herd/latest/",
        "File": "herd.yaml",
    } in listed
    assert kapy(here, "bundle", "load", file, "--to", str(tmp_path / "other")) == 0


def test_a_failed_bundle_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, file = releases(tmp_path).file.source, tmp_path / "b.tar"
    for wrong, message in (
        (["-i", "heard:v1.2.0"], "the nearest names are herd"),
        (["-i", "herd:v9.0.0"], "the releases there are v1.2.0"),
        (["-i", "herd:"], "version cannot be empty"),
    ):
        arguments = ["bundle", "create", "-o", str(file), "--config", config, *wrong]
        assert kapy(tmp_path, *arguments) == 1
        err = capsys.readouterr().err
        assert message in err
        assert err.rpartition("Error: ")[2].count("\n") == 1
    assert not file.exists()


@pytest.mark.sockets
async def test_ctrl_c_in_the_middle_of_a_download_is_reported_in_a_sentence(tmp_path: Path) -> None:
    request = asyncio.Event()

    async def never(_: Server, __: web.Request) -> web.StreamResponse:
        request.set()
        await asyncio.sleep(3600)
        raise AssertionError

    async with serving(Server(never)) as server:
        slow = {"name": "slow", "type": "AddonProvider"}
        slow["url"] = f"oci+http://{server.url.removeprefix('http://')}/slow"
        config = releases(tmp_path).file
        document = {**config.values, "providers": [*config.values["providers"], slow]}
        (tmp_path / "c.yaml").write_text(yaml.dump(document))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kapy.cli.main", "bundle", "create", "--config", "c.yaml"),
            *("-o", "b.tar", "--addon", "slow", "--no-cert-manager"),
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(LIMIT):
            await request.wait()
            process.send_signal(signal.SIGINT)
            _, errors = await process.communicate()
    assert process.returncode == 1
    assert errors.decode().splitlines()[-1].startswith("Error: stopped in the middle; nothing was")
    assert not (tmp_path / "b.tar").exists()
