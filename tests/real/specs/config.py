"""The configuration of upstream's specs: upstream's own, for a plane with in-memory machines."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Final

from kapy.kube.yaml import dump, load
from tests.real.specs import parts
from tests.real.specs.templates import in_memory

RELEASES: Final = {
    ("cluster-api", "CoreProvider"): "core",
    ("kubeadm", "BootstrapProvider"): "bootstrap-kubeadm",
    ("kubeadm", "ControlPlaneProvider"): "control-plane-kubeadm",
    ("docker", "InfrastructureProvider"): "infrastructure-dev",
}
"""Whose components kapy prints, by the provider's name and type."""

STEPS: Final = {"kcp-adoption": ("step1", "step2")}
POLL: Final = "2s"
"""How often the specs look; upstream's ten seconds suit slower clusters."""


def written(folder: Path, kapy: str, *, old: bool = False) -> Path:
    """The configuration, written into a folder with all that it names. old: with upstream's old
    releases, too."""
    document = load((_upstream() / "config" / "docker.yaml").read_text())
    document["images"] = []
    document["providers"] = [_provider(one, folder, kapy, old=old) for one in document["providers"]]
    variables = document["variables"]
    for name in ("CNI", "KUBETEST_CONFIGURATION", "AUTOSCALER_WORKLOAD"):
        variables[name] = str(_upstream() / variables[name])
    document["intervals"] = {
        name: [limit, POLL if step == "10s" else step]
        for name, (limit, step) in document["intervals"].items()
    }
    path = folder / "config.yaml"
    path.write_text(dump(document))
    return path


def _provider(provider: dict[str, Any], folder: Path, kapy: str, *, old: bool) -> dict[str, Any]:
    """A provider's current version; with old ones where they are wanted."""
    *before, current = provider["versions"]
    current["name"] = parts.VERSION  # as the inventory of a plane has it
    if release := RELEASES.get((provider["name"], provider["type"])):
        made = folder / "components" / f"{release}.yaml"
        made.parent.mkdir(parents=True, exist_ok=True)
        printed = subprocess.run([kapy, "components", release], capture_output=True, check=True)
        made.write_bytes(printed.stdout)
        current |= {"type": "url", "value": f"file://{made}"}
    else:
        current["value"] = str(_path(current["value"]))
    for version in before if old else []:
        version["files"] = [
            {"sourcePath": str(_path(one["sourcePath"]))} for one in version["files"]
        ]
    current["files"] = [
        {"sourcePath": str(_file(_path(one["sourcePath"]), folder))} for one in current["files"]
    ]
    return {**provider, "versions": [*(before if old else []), current]}


def _file(path: Path, folder: Path) -> Path:
    """A file of the release; templates are made from upstream's bases, for in-memory machines."""
    if path.name == "metadata.yaml":
        return path
    made = folder / "templates" / path.name
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(in_memory(path.read_text() if path.exists() else _rendered(path)))
    return made


def _rendered(path: Path) -> str:
    base = path.with_suffix("")
    steps = STEPS.get(base.name.removeprefix("cluster-template-"), ("",))
    command = [str(parts.kustomize()), "build", "--load-restrictor", "LoadRestrictionsNone"]
    return "---\n".join(
        subprocess.run(
            [*command, str(base / step)], capture_output=True, text=True, check=True
        ).stdout
        for step in steps
    )


def _upstream() -> Path:
    return parts.source() / "test" / "e2e"


def _path(relative: str) -> Path:
    """A path of upstream's configuration."""
    return (_upstream() / "config" / relative).resolve()
