"""The parts of a real cluster on a machine that pulls no image: programs, and a file system.

Programs are built as Go modules, the file system of a node is made of Debian packages. Both are
kept in a cache outside of the repository, by what they are made from. Run before the network is
left behind: `python -m tests.real_clusters.parts`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
CACHE: Final = Path(
    os.environ.get("KAPY_REAL_CLUSTERS_CACHE") or Path.home() / ".cache" / "kapy-real-clusters"
)
VERSION: Final = "v1.36.3"
PAUSE: Final = "3.10.2"
"""The version of the image that containerd keeps a Pod's namespaces with."""
_PAUSE_OF_KUBEADM: Final = {"v1.34": "3.10.1", "v1.35": "3.10.1"}
"""The version that kubeadm wants to have in the node, by minor version; PAUSE for others."""
FROM: Final = os.environ.get("KAPY_REAL_CLUSTERS_FROM") or "v1.36.2"
"""The version of Kubernetes before the upgrade. A patch version of the same minor version is the
same source linked as that version, which takes seconds; another minor version is built from its
own source, which takes as long as the first build."""


@dataclass(frozen=True, slots=True)
class Release:
    """A version of Kubernetes, and the images of etcd and CoreDNS that clusters of it have here.

    coredns: the tag only; the program is the same.
    """

    version: str
    etcd: str
    coredns: str

    @property
    def source(self) -> str:
        """The version of the Go modules."""
        return VERSION if self.minor == VERSION.rpartition(".")[0] else self.version

    @property
    def minor(self) -> str:
        """The minor version, as in v1.36."""
        return self.version.rpartition(".")[0]

    @property
    def pause(self) -> str:
        """The image that kubeadm of this version wants, besides containerd's own."""
        return _PAUSE_OF_KUBEADM.get(self.minor, PAUSE)


OLD: Final = Release(FROM, "3.6.6-0", "v1.13.1")
NEW: Final = Release(os.environ.get("KAPY_REAL_CLUSTERS_TO") or VERSION, "3.6.8-0", "v1.14.2")
RELEASES: Final = (OLD, NEW)

NODE_PROGRAMS: Final = ("pause", "network", "coredns")
"""Programs in the images of nodes."""
PROGRAMS: Final = (*NODE_PROGRAMS, "pod")
"""Programs of which one version is enough."""
_PACKAGES: Final = {"upstream": "sigs.k8s.io/cluster-api/test/infrastructure/docker"}
"""Programs that are built from a package of another repository."""
UPSTREAM: Final = "KAPY_REAL_UPSTREAM"
"""Set to run upstream's docker manager, too, whose first build takes several minutes."""
PACKAGES: Final = (
    "systemd,systemd-sysv,dbus,containerd,runc,containernetworking-plugins,iptables,nftables,"
    "iproute2,ipset,conntrack,ebtables,ethtool,socat,util-linux,mount,kmod,procps,ca-certificates,"
    "libseccomp2,haproxy"
)
PYTHON_PACKAGES: Final = "python3,python3-venv,python-is-python3"
PYTHON_VERSION: Final = "3.11"
"""Of Debian 12, on which kapy's image is built here."""
NEEDED: Final = {
    "dockerd": "apt-get install --no-install-recommends docker.io",
    "docker": "apt-get install --no-install-recommends docker.io",
    "mmdebstrap": "apt-get install mmdebstrap",
    "go": "Go 1.26 or newer",
    "unshare": "apt-get install util-linux",
    "ip": "apt-get install iproute2",
}


def missing() -> str:
    """Return the unmet requirements of a real cluster, as one line; "" for none."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "real clusters need root on Linux"
    lacks = [f"{name} ({how})" for name, how in NEEDED.items() if shutil.which(name) is None]
    if lacks:
        return f"real clusters need {', '.join(lacks)}"
    command = ["unshare", "--net", "--mount", "--propagation", "slave", "true"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    message = tried.stderr.strip()
    return f"real clusters need network and mount namespaces: {message}" if tried.returncode else ""


def program(name: str) -> Path:
    """The program of that name, built if the cache has it not."""
    return _built(name, {}, "")


def etcd(release: Release) -> Path:
    """etcd of the version that a release has."""
    version = release.etcd.partition("-")[0]
    return _built("etcd", {NEW.etcd.partition("-")[0]: version}, "")


def kubernetes(release: Release) -> Path:
    """All programs of Kubernetes in one, for a release."""
    of_modules = {VERSION: release.source, _module(VERSION): _module(release.source)}
    return _built("kubernetes", of_modules, release.version)


def _module(version: str) -> str:
    """The version of the libraries of a Kubernetes version."""
    return version.replace("v1.", "v0.", 1)


def _built(name: str, replaced: Mapping[str, str], version: str) -> Path:
    """A program. replaced: versions in its go.mod. version: which it says that it has."""
    source = HERE / "programs" / name
    texts = {path.name: path.read_text() for path in sorted(source.iterdir())}
    for old, new in replaced.items():
        texts["go.mod"] = texts["go.mod"].replace(old, new)
    mark = hashlib.sha256("".join((*texts.values(), version)).encode()).hexdigest()[:12]
    cache = CACHE / f"{name}-{mark}"
    if not cache.exists():
        folder = CACHE / "source" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file, text in texts.items():
            (folder / file).write_text(text)
        tell(f"building {name} {version}".rstrip())
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false"}
        _run(["go", "mod", "tidy"], folder, environment)
        part = cache.with_suffix(".part")
        flags = _flags(version) if version else "-s -w"
        command = ["go", "build", "-ldflags", flags, "-o", str(part), _PACKAGES.get(name, ".")]
        _run(command, folder, environment)
        part.rename(cache)
    return cache


def root_file_system() -> Path:
    """The archive of a node's file system, without Kubernetes."""
    return debian_file_system("root", PACKAGES)


def python_file_system() -> Path:
    """The archive of a file system with Python, on which kapy's image is built."""
    return debian_file_system("python", PYTHON_PACKAGES)


def debian_file_system(name: str, packages: str) -> Path:
    """The archive of a file system of Debian packages, made if the cache has it not."""
    cache = CACHE / f"{name}-{hashlib.sha256(packages.encode()).hexdigest()[:12]}.tar"
    if not cache.exists():
        tell(f"making a file system of Debian packages: {name}")
        part = cache.with_suffix(".part.tar")
        command = ["mmdebstrap", "--variant=minbase", f"--include={packages}", "bookworm"]
        _run([*command, str(part)], CACHE)
        part.rename(cache)
    return cache


def wheels() -> Path:
    """A folder with all Python packages that kapy's image needs: its build has no network."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project_file = tomllib.load(file)
    wanted = sorted(
        (*project_file["build-system"]["requires"], *project_file["project"]["dependencies"])
    )
    cache = CACHE / f"wheels-{hashlib.sha256(repr(wanted).encode()).hexdigest()[:12]}"
    if not cache.exists():
        tell("fetching the Python packages of kapy's image")
        part = cache.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        kind = ["--only-binary=:all:", "--python-version", PYTHON_VERSION]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *kind]
        _run([*command, "--dest", str(part), *wanted], CACHE)
        part.rename(cache)
    return cache


def _flags(version: str) -> str:
    """kubeadm refuses a server without a version."""
    major, minor, _ = version.removeprefix("v").split(".")
    values = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": "0",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    settings = (
        f"-X {package}.{name}={value}" for package in packages for name, value in values.items()
    )
    return f"-s -w {' '.join(settings)}"


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    process = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{process.stderr[-2000:]}")


def tell(line: str) -> None:
    """Say what takes its time."""
    sys.stderr.write(f"real clusters: {line}\n")


def main() -> None:
    """Build everything, or say what is missing."""
    if lack := missing():
        sys.exit(lack)
    CACHE.mkdir(parents=True, exist_ok=True)
    for name in (*PROGRAMS, *(["upstream"] if os.environ.get(UPSTREAM) else [])):
        program(name)
    for release in RELEASES:
        etcd(release)
        kubernetes(release)
    root_file_system()
    python_file_system()
    wheels()


if __name__ == "__main__":
    main()
