"""The configuration of upstream's specs: upstream's own, for a plane of kapy."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Final

from kapy.kube.yaml import dump, load
from tests.real.specs import conformance, containers, old_release, parts
from tests.real.specs.catalogue import Machines, Spec
from tests.real.specs.templates import in_memory

RELEASES: Final = {
    ("cluster-api", "CoreProvider"): "core",
    ("kubeadm", "BootstrapProvider"): "bootstrap-kubeadm",
    ("kubeadm", "ControlPlaneProvider"): "control-plane-kubeadm",
    ("docker", "InfrastructureProvider"): "infrastructure-dev",
}
"""Providers whose components kapy prints, by the provider's name and type."""

EXTENSION: Final = "RuntimeExtensionProvider"
"""Its release wants cert-manager. Beside a plane it is a process; a cluster of containers that
becomes its own management cluster has none."""
STEPS: Final = {"kcp-adoption": ("step1", "step2")}
POLL: Final = "2s"
"""The polling interval of the specs; upstream's ten seconds suit slower clusters."""


def written(folder: Path, kapy: str, spec: Spec) -> Path:
    """The configuration for a spec, written into a folder with all that it names."""
    machines = spec.machines
    document = load((_upstream() / "config" / "docker.yaml").read_text())
    document["images"] = containers.images() if machines == "containers" else []
    document["providers"] = [
        _provider(provider, folder, kapy, spec)
        for provider in document["providers"]
        if machines == "memory" or provider["type"] != EXTENSION
    ]
    variables = document["variables"]
    for name in ("CNI", "KUBETEST_CONFIGURATION", "AUTOSCALER_WORKLOAD"):
        variables[name] = str(_upstream() / variables[name])
    if machines == "containers":
        variables |= containers.VARIABLES
        if spec.old:
            images = old_release.image_names(spec.old)
            variables["DOCKER_PRELOAD_IMAGES"] = f"[{', '.join(images)}]"
    variables["KUBERNETES_VERSION_LATEST_CI"] = variables["KUBERNETES_VERSION"]
    if spec.conformance:
        settings = Path(variables["KUBETEST_CONFIGURATION"])
        variables["KUBETEST_CONFIGURATION"] = str(conformance.configured(settings, folder))
    document["intervals"] = {
        name: [limit, POLL if step == "10s" else step]
        for name, (limit, step) in document["intervals"].items()
    }
    path = folder / "config.yaml"
    path.write_text(dump(document))
    return path


def _provider(provider: dict[str, Any], folder: Path, kapy: str, spec: Spec) -> dict[str, Any]:
    """A provider's current version, and the old one that a spec begins with."""
    machines = spec.machines
    *before, current = provider["versions"]
    old = [element for element in before if spec.old and f"@{spec.old}}}" in element["name"]]
    current["name"] = parts.VERSION  # as the inventory of a plane has it
    if release := RELEASES.get((provider["name"], provider["type"])):
        path = folder / "components" / f"{release}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        options = containers.components(release) if machines == "containers" else ()
        command = [kapy, "components", release, *options]
        printed = subprocess.run(command, capture_output=True, check=True)
        path.write_bytes(printed.stdout)
        current |= {"type": "url", "value": f"file://{path}"}
    else:
        current["value"] = str(_path(current["value"]))
    current["files"] = [
        {"sourcePath": str(_file(_path(file["sourcePath"]), folder, machines))}
        for file in current["files"]
    ]
    for item in old:
        item["files"] = [{"sourcePath": str(_path(file["sourcePath"]))} for file in item["files"]]
    return {**provider, "versions": [*old, current]}


def _file(path: Path, folder: Path, machines: Machines) -> Path:
    """A file of the release; templates are made from upstream's bases."""
    if path.name == "metadata.yaml":
        return path
    result = folder / "templates" / path.name
    result.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.exists() else _rendered(path)
    result.write_text(in_memory(text) if machines == "memory" else text)
    return result


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
