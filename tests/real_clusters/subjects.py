"""Workloads for tests of faults on a plane: a released manager, or a small program."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from kapy.kube import Document, Key
from kapy.kube.names import DEPLOYMENTS
from tests.real_clusters.parts import program
from tests.real_clusters.plane_command import Kapy

MANAGERS: Final = "KAPY_MANAGERS"
"""The folder of released managers, as `tests/released_managers` has them."""
_LABEL: Final = "ipam-in-cluster"
_SPACE: Final = "foo-system"


@dataclass(frozen=True)
class Subject:
    """One Deployment with one container. release: its components, None for the small program."""

    key: Key
    container: str
    image: str
    program: Path
    args: Sequence[str]
    configuration: Path | None

    def libraries(self) -> Mapping[str, Path]:
        """The shared libraries of the program, by their paths in a container; mostly none."""
        done = subprocess.run(
            ["ldd", str(self.program)], capture_output=True, text=True, check=False
        )
        paths = (part for part in done.stdout.split() if part.startswith("/"))
        return {path.lstrip("/"): Path(path).resolve() for path in paths}

    async def install(self, kapy: Kapy) -> None:
        """Install it on a plane."""
        if self.configuration is None:
            await self._create(kapy)
            return
        name = _LABEL.removeprefix("ipam-")
        await kapy.manage("init", "--ipam", name, "--config", str(self.configuration))

    async def _create(self, kapy: Kapy) -> None:
        labels = {"app": self.key.name}
        probe = {"httpGet": {"path": "/readyz", "port": 8081}, "periodSeconds": 1}
        container = {
            "name": self.container, "image": self.image, "args": list(self.args),
            "readinessProbe": probe,
        }  # fmt: skip
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        deployment: Document = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self.key.name, "namespace": self.key.namespace},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }
        space = {
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.key.namespace}
        }  # fmt: skip
        async with kapy.client() as client:
            await client.raw("POST", "/api/v1/namespaces", body=space)
            await client.create(DEPLOYMENTS, deployment)


def subject(folder: Path) -> Subject:
    """The manager of IPAM in-cluster where somebody has built it, else the small program."""
    managers = os.environ.get(MANAGERS)
    if not managers:
        key = Key(_SPACE, "foo")
        return Subject(key, "main", "kapy.test/pod:v1", program("pod"), [":8081"], None)
    release = Path(managers) / _LABEL
    (components,) = release.glob("*/*-components.yaml")
    return _released(release, components, folder)


def _released(release: Path, components: Path, folder: Path) -> Subject:
    """A release whose image is on the machine only, so that it is never asked for elsewhere."""
    documents = list(yaml.safe_load_all(components.read_text()))
    (deployment,) = (document for document in documents if document["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["imagePullPolicy"] = "IfNotPresent"
    container["command"] = [f"/usr/local/bin/{(release / 'manager').resolve().name}"]
    path = folder / "releases" / _LABEL / components.parent.name
    path.mkdir(parents=True)
    (path / components.name).write_text(yaml.safe_dump_all(documents))
    (path / "metadata.yaml").write_text((components.parent / "metadata.yaml").read_text())
    own: dict[str, Any] = {
        "name": _LABEL.removeprefix("ipam-"),
        "url": str(path.parent / "latest" / components.name),
        "type": "IPAMProvider",
    }
    configuration = folder / "clusterctl.yaml"
    configuration.write_text(json.dumps({"providers": [own]}))
    return Subject(
        Key.of(deployment),
        container["name"],
        container["image"],
        (release / "manager").resolve(),
        container["args"],
        configuration,
    )
