"""Upstream's end-to-end specs, built from Go modules in a cache outside of the repository.

`KAPY_SPECS_CACHE` names the cache. Nothing of upstream is copied into the repository.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

VERSION: Final = "v1.14.0"
KUSTOMIZE: Final = "v5.7.1"
"""The newest release that Go 1.26 builds."""

MODULE: Final = "sigs.k8s.io/cluster-api"
VARIABLE: Final = "KAPY_SPECS_CACHE"
CACHE: Final = Path(os.environ.get(VARIABLE) or Path.home() / ".cache" / "kapy-specs")
MANAGERS: Final = {
    "core": "./core",
    "bootstrap-kubeadm": "./bootstrap/kubeadm",
    "control-plane-kubeadm": "./controlplane/kubeadm",
    "infrastructure-dev": "./infrastructure/docker",
}
NEEDED: Final = {
    "go": "Go 1.26 or newer",
    "kubectl": "a client of Kubernetes",
    "jq": "apt-get install jq",
    "curl": "apt-get install curl",
}


def missing() -> str:
    """Return the programs that this machine lacks for the specs, as one line; "" if it has all."""
    lacks = [f"{name} ({how})" for name, how in NEEDED.items() if shutil.which(name) is None]
    return f"upstream's specs need {', '.join(lacks)}" if lacks else ""


def source(version: str = VERSION) -> Path:
    """Upstream's source tree of a version: its three Go modules in one folder."""
    cache = CACHE / version / "source"
    if not cache.exists():
        part = cache.with_name("source.part")
        shutil.rmtree(part, ignore_errors=True)
        for name in ("", "api", "test"):
            module = "/".join(filter(None, (MODULE, name)))
            if (path := _downloaded(module, version)) is not None:
                shutil.copytree(path, part / name, dirs_exist_ok=True, copy_function=shutil.copy)
                subprocess.run(["chmod", "-R", "u+w", str(part)], check=True)
        part.rename(cache)
    return cache


def specs() -> Path:
    """The program of upstream's specs."""
    tested = source() / "test"
    return _built("e2e.test", tested, "test", "-c", "-tags", "e2e", package="./e2e")


def extension() -> Path:
    """Upstream's runtime extension for tests."""
    return _built("extension", source() / "test", "build", package="./extension")


def clusterctl(version: str) -> Path:
    """Upstream's clusterctl of a version."""
    flags = _version_flags(version)
    return _built(
        "clusterctl", source(version), "build", *flags, package="./cmd/clusterctl", version=version
    )


def manager(name: str, version: str) -> Path:
    """One of upstream's managers of a version, by the name of kapy's."""
    package = MANAGERS[name]
    if name == "core" and not (source(version) / "core" / "main.go").exists():
        package = "."  # before v1.14
    folder = source(version) / ("test" if name == "infrastructure-dev" else "")
    flags = _version_flags(version)
    return _built(f"manager-{name}", folder, "build", *flags, package=package, version=version)


def kustomize() -> Path:
    """kustomize, which makes templates and components out of upstream's bases."""
    folder = CACHE / "kustomize"
    if not (folder / "go.mod").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _run(["go", "mod", "init", "kustomize"], folder)
        _run(["go", "get", f"sigs.k8s.io/kustomize/kustomize/v5@{KUSTOMIZE}"], folder)
    package = "sigs.k8s.io/kustomize/kustomize/v5"
    return _built("kustomize", folder, "build", package=package, version=KUSTOMIZE)


def build() -> None:
    """Everything that most specs need."""
    kustomize(), specs(), extension()


def tell(line: str) -> None:
    """Say what takes its time."""
    sys.stderr.write(f"upstream's specs: {line}\n")


def _downloaded(module: str, version: str) -> Path | None:
    """A module's folder in Go's cache; None where that version is no module of its own."""
    command = ["go", "mod", "download", "-json", f"{module}@{version}"]
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    document = json.loads(ended.stdout or "{}")
    if "Dir" in document:
        return Path(document["Dir"])
    if module.endswith("/api"):
        return None  # part of the main module before v1.11
    sys.exit(f"{module}@{version} cannot be had: {document.get('Error', ended.stderr)[:500]}")


def _built(name: str, folder: Path, *command: str, package: str, version: str = VERSION) -> Path:
    cache = CACHE / version / name
    if not cache.exists():
        tell(f"building {name} {version}")
        cache.parent.mkdir(parents=True, exist_ok=True)
        part = cache.with_suffix(".part")
        _run(["go", *command, "-o", str(part), package], folder)
        part.rename(cache)
    return cache


def _version_flags(version: str) -> tuple[str, str]:
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitMajor": major, "gitMinor": minor, "gitVersion": version, "gitCommit": "0"}
    package = f"{MODULE}/version"
    return "-ldflags", " ".join(f"-X {package}.{key}={value}" for key, value in values.items())


def _run(command: list[str], folder: Path) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false"}
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{ended.stderr[-2000:]}")
