"""Kubernetes' conformance tests: the image that upstream's framework runs, and those of their Pods.

All are made without a registry: the programs are built of Kubernetes' Go module, what Pods call
besides are Debian packages. Tests that need other images than `POD_IMAGES` cannot run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aiodocker import Docker

from kapy.containers import Engine
from kapy.kube.yaml import dump, load
from tests.real.specs import parts as upstream
from tests.real_clusters import parts
from tests.real_clusters.image_archive import Start, layer, write_image

HERE: Final = Path(__file__).parent / "programs" / "conformance"
FOLDER: Final = upstream.CACHE / "conformance"
IMAGE: Final = f"registry.k8s.io/conformance:{parts.NEW.version}"
_KUBERNETES: Final = "k8s.io/kubernetes/test"
PROGRAMS: Final = {
    "ginkgo": ("build", "github.com/onsi/ginkgo/v2/ginkgo"),
    "agnhost": ("build", f"{_KUBERNETES}/images/agnhost"),
    "e2e.test": ("test", "-vet=off", "-c", f"{_KUBERNETES}/e2e"),
}
"""The Go command that builds each program; the last word is the package."""
_REGISTRY: Final = "registry.k8s.io/e2e-test-images"
POD_IMAGES: Final = {
    f"{_REGISTRY}/agnhost:2.63.0": Start(("/agnhost",), ("pause",)),
    f"{_REGISTRY}/busybox:1.37.0-1": Start((), ("sh",)),
}
"""The images of Pods, by the tags of this version of Kubernetes."""
_TOOLS: Final = "busybox,curl,dnsutils,netcat-openbsd,iproute2,bash,procps"
_APPLETS: Final = ("wget", "nslookup", "telnet", "httpd", "ping")
VARIABLE: Final = "KAPY_SPECS_SIGS"
SIGS: Final = os.environ.get(VARIABLE) or "api-machinery auth network storage"
"""The special interest groups of Kubernetes whose conformance tests run. Those of sig-cli need
httpd's image."""
FOCUS: Final = rf"\[sig-({'|'.join(SIGS.split())})\].*\[Conformance\]"
SKIP: Final = "|".join(
    (
        r"\[Serial\]",
        r"httpd|nginx|webserver|\[Slow\]",
        r"sample API Server|Aggregator",
        r"StatefulSet|Deployment|ReplicaSet|DaemonSet|ReplicationController",  # run httpd
        r"nonewprivs|AllowPrivilegeEscalation|sysctl|image defaults",
    )
)
"""Tests that need other images than those, or that upstream skips."""


def build() -> None:
    """Have the programs, and the archive of what Pods call."""
    if not (FOLDER / "go.mod").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path in HERE.iterdir():
            shutil.copy(path, FOLDER)
        _go("mod", "tidy")
    for name, (*command, package) in PROGRAMS.items():
        if not (FOLDER / name).exists():
            upstream.tell(f"building {name} of Kubernetes {parts.VERSION}")
            part = f"{name}.part"
            _go(*command, "-ldflags", _flags(), "-o", part, package)
            (FOLDER / part).rename(FOLDER / name)
    parts.debian_file_system("tools", _TOOLS)


def _flags() -> str:
    version = "k8s.io/component-base/version.gitVersion"
    return f"-s -w -X {version}={parts.VERSION}"


def _go(*command: str) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false"}
    ended = subprocess.run(
        ["go", *command], cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        sys.exit(f"go {' '.join(command)} failed:\n{ended.stderr[-2000:]}")


def archives(folder: Path) -> Mapping[str, Path]:
    """The archives of the images of Pods, by their names. folder: where they are written."""
    paths = {}
    for tag, start in POD_IMAGES.items():
        path = folder / f"{tag.rpartition('/')[2].partition(':')[0]}.tar"
        with path.open("wb") as target:
            write_image(target, tag, [_tools(), _own()], start)
        paths[path.name] = path
    return paths


async def load_image(engine: Engine, folder: Path) -> None:
    """Have the image of the tests in the engine."""
    files = {f"usr/local/bin/{name}": FOLDER / name for name in ("ginkgo", "e2e.test")}
    files["usr/local/bin/kubectl"] = parts.kubernetes(parts.NEW)
    path = folder / "conformance.tar"
    with path.open("wb") as target:
        write_image(target, IMAGE, [_tools(), layer(files)], Start(("/usr/local/bin/ginkgo",)))
    docker = Docker(engine.address)
    try:
        with path.open("rb") as content:
            await docker.images.import_image(content)
        await docker.images.inspect(IMAGE)
    finally:
        await docker.close()
        path.unlink()


def _tools() -> bytes:
    return parts.debian_file_system("tools", _TOOLS).read_bytes()


def _own() -> bytes:
    links = {f"usr/local/bin/{applet}": "/bin/busybox" for applet in _APPLETS}
    return layer({"agnhost": FOLDER / "agnhost"}, {**links, "agnhost-2": "/agnhost"})


def configured(settings: Path, folder: Path) -> Path:
    """Upstream's settings of the tests, for those that can be run."""
    document = load(settings.read_text())
    document |= {"ginkgo.focus": FOCUS, "ginkgo.skip": SKIP}
    path = folder / settings.name
    path.write_text(dump(document))
    return path
