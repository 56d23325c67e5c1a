"""A host on paper: the provider's scripts run in a folder that stands for `/`.

Absolute paths of a command are moved into the folder, and programs that would change a machine are
replaced by a script that writes down how it was called.
"""

from __future__ import annotations

import io
import re
import socket
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from kapy_hosts.shell import HostFailure, Output, Target

_PATH = re.compile(rb"(?<![\w.}/*-])/(etc|var|run|proc|sys|opt|root|usr/local)(?=[/\"'\s;)*]|$)")
_FAKED = [
    "kubeadm",
    "kubelet",
    "systemctl",
    "systemd-run",
    "pgrep",
    "ip",
    "iptables-save",
    "iptables-restore",
    "ip6tables-save",
    "ip6tables-restore",
    "nft",
    "ctr",
    "crictl",
    "umount",
    "mount",
    "hostname",
    "nproc",
    "df",
    "date",
    "id",
    "uname",
    "haproxy",
    "ipvsadm",
    "curl",
    "apt-get",
    "useradd",
    "userdel",
    "usermod",
    "groupadd",
    "groupdel",
    "getent",
    "mountpoint",
    "swapon",
    "swapoff",
    "mkswap",
    "blockdev",
    "partprobe",
    "udevadm",
    "chronyd",
    "chpasswd",
    "chown",
    "timedatectl",
    "mkfs.ext4",
    "wipefs",
    "sfdisk",
    "lsblk",
    "blkid",
]
_FAKE = r"""#!/bin/sh
name=${0##*/}
R={root}
case "$name" in
nproc|df|date|id|uname|pgrep|hostname|ip|getent|lsblk|blkid) ;;
*) echo "$name $*" >> "$R/calls" ;;
esac
[ -e "$R/fails/$name" ] && { cat "$R/fails/$name" >&2; exit 1; }
case "$name $1" in
"kubeadm version") cat "$R/version" ;;
"kubelet --version") echo "Kubernetes $(cat "$R/version")" ;;
"kubeadm init"|"kubeadm join")
    mkdir -p "$R/etc/kubernetes/manifests" "$R/var/lib/kubelet" "$R/processes"
    touch "$R/etc/kubernetes/kubelet.conf" "$R/var/lib/kubelet/config.yaml" "$R/processes/kubelet"
    echo "token abcdef.0123456789abcdef" ;;
"systemctl stop") for one in "$@"; do rm -f "$R/processes/$one"; done ;;
"systemctl cat") cat "$R/unit" 2>/dev/null || true ;;
"systemctl is-enabled"|"systemctl is-active") [ ! -e "$R/disabled" ] ;;
"curl --fail") while [ "$1" != --output ]; do shift; done; cp "$R/archive" "$2" ;;
"pgrep -x") [ -e "$R/processes/$2" ] ;;
"nproc ") echo 4 ;;
"df -Pm") printf 'Filesystem\nx 1 1 %s\n' "$(cat "$R/free")" ;;
"date +%s") cat "$R/time" 2>/dev/null || exec /bin/date +%s ;;
"id -u") [ $# = 1 ] && echo 0 || [ -e "$R/users/$3" ] ;;
"useradd --create-home") for one in "$@"; do :; done; mkdir -p "$R/users" "$R/home/$one"; touch "$R/users/$one" ;;
"userdel --remove") rm -rf "$R/users/$3" "$R/home/$3" ;;
"getent group") [ "$2" = adm ] ;;
"getent ahosts") echo "$2 STREAM $2" ;;
"ip -o") [ "$2 $3 $4" = "address show to" ] && cat "$R/address" 2>/dev/null || true ;;
"ip address") echo "ip $*" >> "$R/calls" ;;
"getent passwd") echo "$2:x:1000:1000::$R/home/$2:/bin/sh" ;;
"chpasswd "*) cat > "$R/password" ;;
"mountpoint -q") exit 1 ;;
"lsblk "*) cat "$R/lsblk" 2>/dev/null || true ;;
"sfdisk --quiet") cat > "$R/sfdisk" ;;
"blockdev "*) echo 1048576000 ;;
"uname -s") echo Linux ;;
"uname -m") echo x86_64 ;;
"hostname -I") cat "$R/addresses" ;;
"systemd-run --quiet") while [ "$1" != /bin/sh ]; do shift; done; "$@"; exit 0 ;;
*) exit 0 ;;
esac
"""


@dataclass
class SimulatedHost:
    """A host in a folder with fake system programs, on which the provider's scripts run. silent: whether the host does
    not respond. cuts: the numbers of commands at which the connection is lost; True: before the command has run.
    """

    version: str = "v1.34.0"
    silent: bool = False
    cuts: dict[int, bool] = field(default_factory=dict)
    commands: int = 0
    host_key: str = "ssh-ed25519 AAAApaper"
    jump_key: str = ""

    def __post_init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="h-", dir="/tmp")
        self.root = root = Path(self._folder.name)
        for folder in [
            "etc",
            "run/systemd/system",
            "run/containerd",
            "proc/net",
            "proc/sys/kernel/random",
            "fails",
            "sys/fs/cgroup",
            "var/lib",
            "bin",
            "processes",
        ]:
            (root / folder).mkdir(parents=True)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(root / "run/containerd/containerd.sock"))
        fake = root / "bin/fake"
        fake.write_text(_FAKE.replace("{root}", str(root)))
        fake.chmod(0o755)
        for name in _FAKED:
            (root / "bin" / name).symlink_to("fake")
        for path, text in {
            "etc/os-release": 'PRETTY_NAME="Simulated Linux 1"\n',
            "proc/meminfo": "MemTotal: 4096000 kB\n",
            "proc/swaps": "Filename\n",
            "proc/mounts": "",
            "proc/net/tcp": "  sl\n   0: 00000000:0016 00000000:0000 0A\n",
            "proc/sys/kernel/random/boot_id": "boot-1\n",
            "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n",
            "addresses": "10.0.0.7 fd00::7\n",
            "free": "50000\n",
            "version": f"{self.version}\n",
        }.items():
            (root / path).write_text(text)

    def close(self) -> None:
        """Remove the folder of the host."""
        self._socket.close()
        self._folder.cleanup()

    def path(self, path: str) -> Path:
        """Return where a path of the host is."""
        return self.root / path.lstrip("/")

    @property
    def claim(self) -> str:
        """The content of the claim file, "" if there is none."""
        place = self.path("/var/lib/kapy-hosts/claim")
        return place.read_text() if place.exists() else ""

    @property
    def calls(self) -> list[str]:
        """The recorded calls of programs, with their arguments."""
        place = self.root / "calls"
        return place.read_text().splitlines() if place.exists() else []

    def execute(self, command: bytes, stdin: bytes) -> tuple[int, bytes, bytes]:
        """Run a command as an SSH server does."""
        self.commands += 1
        result = subprocess.run(
            ["/bin/sh", "-c", self._move(command)],
            input=self._moved_archive(stdin) if b"\0" in stdin else self._move(stdin),
            capture_output=True,
            env={"PATH": f"{self.root}/bin:/usr/bin:/bin", "HOME": str(self.root)},
            cwd=self.root,
            timeout=30,
        )
        return result.returncode, result.stdout, result.stderr

    def _move(self, text: bytes) -> bytes:
        base = str(self.root).encode()
        return _PATH.sub(lambda match: base + match[0], text)

    def _moved_archive(self, packed: bytes) -> bytes:
        """Move the absolute paths in the scripts of an archive into the folder."""
        result = io.BytesIO()
        with tarfile.open(fileobj=io.BytesIO(packed)) as before, tarfile.open(fileobj=result, mode="w") as after:
            for member in before:
                content = before.extractfile(member)
                assert content is not None
                text = content.read()
                if not member.name.endswith(".in"):
                    text = self._move(text)
                member.size = len(text)
                after.addfile(member, io.BytesIO(text))
        return result.getvalue()


class SimulatedShell:
    """A shell on a simulated host, without a network."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host
        self.host_key = host.host_key
        self.jump_key = host.jump_key

    async def run(self, script: str, *arguments: str, stdin: bytes = b"", seconds: float = 30.0) -> Output:
        host, number = self._host, self._host.commands
        if host.silent:
            raise HostFailure("NoAnswer", "the host does not answer")
        cut = host.cuts.pop(number, None)
        if cut:
            host.commands += 1
            raise HostFailure("NoAnswer", "the connection was lost before the command")
        words = ["/bin/sh", "-c", script, "sh", *arguments]
        command = " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in words)
        code, stdout, stderr = host.execute(command.encode(), stdin)
        if cut is not None:
            raise HostFailure("NoAnswer", "the connection was lost after the command")
        return Output(code, stdout.decode(), stderr.decode())


@dataclass
class SimulatedDialer:
    """Connects to simulated hosts, by address."""

    hosts: dict[str, SimulatedHost] = field(default_factory=dict)

    async def connect(self, target: Target) -> SimulatedShell:
        host = self.hosts.get(target.address)
        if host is None:
            raise HostFailure("Refused", f"{target} refuses connections")
        if host.silent:
            raise HostFailure("NoAnswer", f"{target} did not answer")
        if target.host_key and target.host_key != host.host_key:
            raise HostFailure("HostKeyChanged", f"{target} shows {host.host_key}")
        return SimulatedShell(host)

    async def close(self) -> None:
        """Remove all hosts."""
        for host in self.hosts.values():
            host.close()
