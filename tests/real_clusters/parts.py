"""What a real cluster is made of on a machine that pulls no image: programs, and a file system.

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
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
CACHE: Final = Path(
    os.environ.get("KAPY_REAL_CLUSTERS_CACHE") or Path.home() / ".cache" / "kapy-real-clusters"
)
VERSION: Final = "v1.36.3"
ETCD: Final = "3.6.8-0"
COREDNS: Final = "v1.14.2"
PAUSE: Final = "3.10.2"
"""What kubeadm of that version asks for."""

PROGRAMS: Final = ("pause", "etcd", "network", "coredns", "kubernetes")
PACKAGES: Final = (
    "systemd,systemd-sysv,dbus,containerd,runc,containernetworking-plugins,iptables,nftables,"
    "iproute2,ipset,conntrack,ebtables,ethtool,socat,util-linux,mount,kmod,procps,ca-certificates,"
    "libseccomp2,haproxy"
)
NEEDED: Final = {
    "dockerd": "apt-get install --no-install-recommends docker.io",
    "mmdebstrap": "apt-get install mmdebstrap",
    "go": "Go 1.26 or newer",
    "unshare": "apt-get install util-linux",
    "ip": "apt-get install iproute2",
}


def missing() -> str:
    """What this machine lacks for a real cluster, as one line; "" where it lacks nothing."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "real clusters need root on Linux"
    lacks = [f"{name} ({how})" for name, how in NEEDED.items() if shutil.which(name) is None]
    return f"real clusters need {', '.join(lacks)}" if lacks else ""


def program(name: str) -> Path:
    """The program of that name, built if the cache has it not."""
    source = HERE / "programs" / name
    text = b"".join(one.read_bytes() for one in sorted(source.iterdir()))
    made = CACHE / f"{name}-{hashlib.sha256(text).hexdigest()[:12]}"
    if not made.exists():
        folder = CACHE / "source" / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        tell(f"building {name}")
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false"}
        _run(["go", "mod", "tidy"], folder, environment)
        part = made.with_suffix(".part")
        _run(["go", "build", "-ldflags", _flags(), "-o", str(part), "."], folder, environment)
        part.rename(made)
    return made


def root_file_system() -> Path:
    """The archive of a node's file system, without Kubernetes."""
    made = CACHE / f"root-{hashlib.sha256(PACKAGES.encode()).hexdigest()[:12]}.tar"
    if not made.exists():
        tell("making a root file system of Debian packages")
        part = made.with_suffix(".part.tar")
        command = ["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm"]
        _run([*command, str(part)], CACHE)
        part.rename(made)
    return made


def _flags() -> str:
    """kubeadm refuses a server without a version."""
    major, minor, _ = VERSION.removeprefix("v").split(".")
    values = {
        "gitVersion": VERSION,
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": "0",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    settings = (f"-X {one}.{name}={value}" for one in packages for name, value in values.items())
    return f"-s -w {' '.join(settings)}"


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    found = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if found.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{found.stderr[-2000:]}")


def tell(line: str) -> None:
    """Say what takes its time."""
    sys.stderr.write(f"real clusters: {line}\n")


def main() -> None:
    """Build everything, or say what is missing."""
    if lack := missing():
        sys.exit(lack)
    CACHE.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        program(name)
    root_file_system()


if __name__ == "__main__":
    main()
