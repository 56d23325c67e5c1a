"""`kapy up` and `kapy init --run`, with the managers of releases that somebody has built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kapy.clusterctl.provider import ProviderType
from tests.released_managers.releases import FLAGS

pytestmark = [pytest.mark.sockets, pytest.mark.slow]

FOLDER = Path(os.environ.get("KAPY_MANAGERS", "."))
LABELS = sorted(path.parent.name for path in FOLDER.glob("*/manager"))
BUILT_IN = {
    "cluster-api": "core",
    "bootstrap-kubeadm": "bootstrap-kubeadm",
    "control-plane-kubeadm": "control-plane-kubeadm",
}


class Kapy:
    """The command line, for planes in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environ = os.environ | {
            "KAPY_HOME": str(folder / "home"),
            "KUBECONFIG": str(folder / "kubeconfig"),
        }

    def run(self, *arguments: str) -> str:
        """Run a command, and return its output. Fails with all of the output."""
        done = subprocess.run(
            [sys.executable, "-m", "kapy.cli.main", *arguments],
            capture_output=True, text=True, env=self._environ, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def pods(self) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = json.loads(self.run("status", "-o", "json"))["pods"]
        return results


@pytest.fixture
def kapy(tmp_path: Path) -> Iterator[Kapy]:
    """The command line; planes that were started end with the test."""
    result = Kapy(tmp_path)
    try:
        yield result
    finally:
        result.run("down")


def _parts(label: str) -> tuple[ProviderType, str]:
    """The type and the name of a provider, of its label."""
    if label == "cluster-api":
        return ProviderType.CORE, label
    for of_type in FLAGS:
        prefix = f"{of_type.value.removesuffix('Provider').lower()}-"
        plain = label.replace("control-plane", "controlplane", 1)
        if plain.startswith(prefix):
            return of_type, plain.removeprefix(prefix)
    raise AssertionError(f"{label} is no label of a provider")


def _version(label: str) -> str:
    (components,) = (FOLDER / label).glob("*/*-components.yaml")
    return components.parent.name


def _configuration(folder: Path) -> Path:
    providers = []
    for label in LABELS:
        of_type, name = _parts(label)
        (components,) = (FOLDER / label).glob("*/*-components.yaml")
        url = FOLDER / label / "latest" / components.name
        providers.append({"name": name, "url": str(url), "type": of_type.value})
    path = folder / "clusterctl.yaml"
    path.write_text(json.dumps({"providers": providers}))
    return path


def test_all_managers_run_beside_each_other(kapy: Kapy, tmp_path: Path) -> None:
    """Each is ready, also after the plane was stopped and started."""
    without = [f"--without={BUILT_IN[text]}" for text in LABELS if text in BUILT_IN]
    kapy.run("up", "--detach", *without)
    arguments = ["--config", str(_configuration(tmp_path)), "init", "--wait-providers"]
    for label in LABELS:
        of_type, name = _parts(label)
        wanted = f"{name}:{_version(label)}"
        arguments += [FLAGS[of_type], wanted, "--run", f"{label}={FOLDER / label / 'manager'}"]
    kapy.run(*arguments)
    assert {pod["provider"]: pod["message"] for pod in kapy.pods()} == dict.fromkeys(LABELS, "")
    kapy.run("down")
    kapy.run("up", "--detach", *without)
    assert {pod["provider"] for pod in kapy.pods()} == set(LABELS)
