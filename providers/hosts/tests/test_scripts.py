"""The scripts that a host runs, in a folder that stands for the host."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Awaitable, Callable, Iterator
from hashlib import sha256
from typing import TypeVar

import pytest
from kapy_hosts import remote
from kapy_hosts.boot_steps import BootStep, archive, boot_steps, file_step, step_names
from kapy_hosts.checks import Observed, general_problems, machine_problems
from kapy_hosts.install import install_steps
from kapy_hosts.kinds import Archive, HostMachineSpec, Install, Repository
from kapy_hosts.remote import HeldByAnother
from kapy_hosts.shell import HostFailure
from simulated_hosts.simulated_host import SimulatedHost, SimulatedShell

from kapy.sdk.boot import boot_plan

T = TypeVar("T")
CLOUD_CONFIG = b"""#cloud-config
write_files:
- {path: /etc/motd, content: "after"}
- {path: /etc/kubernetes/pki/ca.key, content: s3cr3t, permissions: "0600"}
runcmd:
- kubeadm init --config /run/kubeadm/kubeadm.yaml
"""


@pytest.fixture
def host() -> Iterator[SimulatedHost]:
    simulated_host = SimulatedHost()
    yield simulated_host
    simulated_host.close()


async def steps() -> list[BootStep]:
    return boot_steps(await boot_plan(CLOUD_CONFIG, "cloud-config"))


def problems(observed: Observed, *ignored: str, version: str = "v1.34.0") -> list[str]:
    now = float(observed["time"])
    listed = general_problems(observed, now, ignored) + machine_problems(
        observed, HostMachineSpec(), version, ignored, control_plane=True
    )
    return sorted({problem.check for problem in listed})


async def test_a_host_boots_and_comes_back_as_it_was(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    host.path("/etc/motd").write_text("before")
    assert problems(await remote.look(shell)) == []
    await remote.claim(shell, "u1", "plane", "default/one")
    await remote.start_boot(shell, "u1", archive(await steps()))
    assert (await remote.progress(shell, "u1")).state == "finished"
    assert host.path("/etc/motd").read_text() == "after"
    key = host.path("/etc/kubernetes/pki/ca.key")
    assert (key.read_text(), key.stat().st_mode & 0o777) == ("s3cr3t", 0o600)
    assert not any("s3cr3t" in call for call in host.calls)
    steps_left = list(host.path("/var/lib/kapy-hosts/boot/u1").glob("steps*"))
    assert steps_left == []  # they have secrets
    observed = await remote.look(shell)
    assert (observed["booted_id"], observed.claim) == ("boot-1", ("u1", "plane", "default/one"))
    assert problems(observed) == ["used"]
    assert await remote.release(shell, "u1") == []
    assert host.path("/etc/motd").read_text() == "before"
    assert not key.exists()
    assert host.claim == ""
    assert problems(await remote.look(shell)) == []
    assert "kubeadm reset --force" in host.calls


async def test_boot_data_without_steps_are_finished_at_once(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    await remote.claim(shell, "u1", "plane", "default/one")
    await remote.start_boot(shell, "u1", archive([]))
    assert (await remote.progress(shell, "u1")).state == "finished"


async def test_one_claim_wins_and_only_its_owner_can_act(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    await remote.claim(shell, "u1", "p1", "default/one")
    await remote.claim(shell, "u1", "p1", "default/one")
    with pytest.raises(HeldByAnother, match=r"default/one \(claim u1, management cluster p1\)"):
        await remote.claim(shell, "u2", "p2", "default/two")
    with pytest.raises(HeldByAnother):
        await remote.start_boot(shell, "u2", archive(await steps()))
    with pytest.raises(HeldByAnother):
        await remote.release(shell, "u2")
    await remote.unclaim(shell, "u2")
    assert host.claim.split()[0] == "u1"
    assert host.calls == []  # nothing was touched
    await remote.unclaim(shell, "u1")
    assert host.claim == ""


async def test_each_step_runs_once_and_an_interrupted_one_fails(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    await remote.claim(shell, "u1", "p", "o")
    once = BootStep("once", f"echo once >> {host.root}/said\n")
    await remote.start_boot(shell, "u1", archive([once, BootStep("bad", "echo why; exit 7\n")]))
    progress = await remote.progress(shell, "u1")
    assert (progress.state, progress.step, progress.code) == ("failed", "00001", "7")
    assert progress.lines.strip() == "why"
    boot = host.path("/var/lib/kapy-hosts/boot/u1")
    (boot / "failed").unlink()  # as if the host had been switched off in the second step
    assert (await remote.progress(shell, "u1")).state == "stopped"
    await remote.start_boot(shell, "u1", b"")
    progress = await remote.progress(shell, "u1")
    assert (progress.state, progress.code) == ("failed", "interrupted")
    assert "restarted while this step was running" in progress.lines
    assert (host.root / "said").read_text() == "once\n"


async def test_a_file_that_was_begun_is_written_again_after_a_restart(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    await remote.claim(shell, "u1", "p", "o")
    await remote.start_boot(shell, "u1", archive([file_step("/etc/one", "x", "one")]))
    boot = host.path("/var/lib/kapy-hosts/boot/u1")
    assert (boot / "finished").exists()
    assert step_names([file_step("/etc/one", "x", "one")]) == {"00000": "one"}


async def test_remnants_are_reported_and_the_claim_stays(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    await remote.claim(shell, "u1", "p", "o")
    await remote.start_boot(shell, "u1", archive(await steps()))
    keeps = host.root / "bin/ctr"
    keeps.unlink()
    keeps.write_text("#!/bin/sh\necho stubborn\n")
    keeps.chmod(0o755)
    assert await remote.release(shell, "u1") == ["container stubborn"]
    assert host.claim.split()[0] == "u1"
    keeps.write_text("#!/bin/sh\n")
    assert await remote.release(shell, "u1") == []
    assert await remote.release(shell, "u1") == []


async def test_a_slow_kubelet_is_waited_for(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    await remote.claim(shell, "u1", "p", "o")
    await remote.start_boot(shell, "u1", archive(await steps()))
    assert (host.root / "processes/kubelet").exists()
    systemctl = host.root / "bin/systemctl"
    systemctl.unlink()
    slowly = f"(sleep 0.5; rm -f {host.root}/processes/kubelet) </dev/null >/dev/null 2>&1 &"
    systemctl.write_text(f'#!/bin/sh\n[ "$1" = stop ] && {slowly}\n')
    systemctl.chmod(0o755)
    assert await remote.release(shell, "u1") == []


@pytest.mark.parametrize(
    ("path", "content", "check"),
    [
        ("proc/swaps", "Filename\n/dev/sda2 partition\n", "swap"),
        ("proc/net/tcp", "  sl\n   0: 00000000:192B 00000000:0000 0A\n", "ports"),
        ("sys/fs/cgroup/cgroup.controllers", "cpu\n", "cgroups"),
        ("free", "10\n", "disk"),
        ("proc/meminfo", "MemTotal: 1000 kB\n", "memory"),
        ("version", "v1.33.1\n", "kubeadm"),
        ("version", "v1.33.1\n", "kubelet"),
        ("etc/kubernetes/kubelet.conf", "x", "used"),
    ],
)
async def test_each_check_reports_its_problem(host: SimulatedHost, path: str, content: str, check: str) -> None:
    place = host.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)
    observed = await remote.look(SimulatedShell(host))
    assert check in problems(observed)
    assert check not in problems(observed, check)


async def test_a_clock_that_differs_is_found(host: SimulatedHost) -> None:
    observed = await remote.look(SimulatedShell(host))
    [problem] = general_problems(observed, float(observed["time"]) + 60, ())
    assert str(problem) == "time: the clock differs by -60 s; run an NTP client"


async def test_haproxy_is_served_and_its_file_is_restored(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    config = host.path("/etc/haproxy/haproxy.cfg")
    config.parent.mkdir()
    config.write_text("before")
    await remote.claim(shell, "u1", "p", "o")
    await remote.serve_haproxy(shell, "u1", "one")
    await remote.serve_haproxy(shell, "u1", "two")
    assert config.read_text() == "two"
    assert "systemctl reload-or-restart haproxy" in host.calls
    assert await remote.release(shell, "u1") == []
    assert config.read_text() == "before"
    assert "systemctl restart haproxy" in host.calls
    assert "systemctl disable --quiet haproxy" not in host.calls


async def test_haproxy_that_did_not_run_before_does_not_run_afterwards(host: SimulatedHost) -> None:
    (host.root / "disabled").touch()
    shell = SimulatedShell(host)
    await remote.claim(shell, "u1", "p", "o")
    await remote.serve_haproxy(shell, "u1", "one")
    assert await remote.release(shell, "u1") == []
    assert "systemctl disable --quiet haproxy" in host.calls
    assert "systemctl restart haproxy" not in host.calls


async def test_a_script_that_fails_says_why(host: SimulatedHost) -> None:
    (host.root / "fails/haproxy").write_text("cannot parse, token abcdef.0123456789abcdef\n")
    shell = SimulatedShell(host)
    await remote.claim(shell, "u1", "p", "o")
    with pytest.raises(HostFailure, match="haproxy ended with 1: cannot parse, token …"):
        await remote.serve_haproxy(shell, "u1", "one")


async def test_a_kubelet_that_is_installed_is_the_one_that_runs(host: SimulatedHost) -> None:
    (host.root / "unit").write_text("[Service]\nExecStart=/usr/bin/kubelet $KUBECONFIGS $ARGS\n")
    shell = SimulatedShell(host)
    folder = host.path("/opt/kubernetes")
    folder.mkdir(parents=True)
    for name in ("kubeadm", "kubelet"):
        (folder / name).write_text(name)
    steps = install_steps(Install(folder="/opt/kubernetes"), "v1.34.0", "amd64")
    await remote.claim(shell, "u1", "p", "o")
    await remote.start_boot(shell, "u1", archive(steps))
    assert (await remote.progress(shell, "u1")).state == "finished"
    changed = host.path("/etc/systemd/system/kubelet.service.d/99-kapy-hosts.conf").read_text()
    program = host.path("/usr/local/bin/kubelet")
    assert changed == f"[Service]\nExecStart=\nExecStart={program} $KUBECONFIGS $ARGS\n"


async def test_kubernetes_is_copied_from_a_folder_of_the_host(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    folder = host.path("/opt/kubernetes/v1.34.0")
    folder.mkdir(parents=True)
    for name in ("kubeadm", "kubelet"):
        (folder / name).write_text(name)
    install = Install(folder="/opt/kubernetes/{version}")
    await remote.claim(shell, "u1", "p", "o")
    await remote.start_boot(shell, "u1", archive(install_steps(install, "v1.34.0", "amd64")))
    progress = await remote.progress(shell, "u1")
    assert progress.state == "finished", progress
    assert host.path("/usr/local/bin/kubelet").read_text() == "kubelet"
    assert await remote.release(shell, "u1") == []


async def test_kubernetes_comes_from_an_archive_with_the_right_checksum_only(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    with tarfile.open(host.root / "archive", "w:gz") as tar:
        for name in ("bin/kubeadm", "bin/kubelet"):
            info = tarfile.TarInfo(name)
            info.size = len(name)
            tar.addfile(info, io.BytesIO(name.encode()))
    right = sha256((host.root / "archive").read_bytes()).hexdigest()
    programs = host.path("/usr/local/bin")
    for uid, checksum in (("u1", "0" * 64), ("u2", right)):
        source = Archive(url="https://example.com/{version}/{arch}.tar.gz", sha256=checksum)
        steps = install_steps(Install(archive=source), "v1.34.0", "amd64")
        await remote.claim(shell, uid, "p", "o")
        await remote.start_boot(shell, uid, archive(steps))
        progress = await remote.progress(shell, uid)
        assert progress.state == ("finished" if checksum == right else "failed"), progress
        assert (programs / "kubelet").exists() == (checksum == right)
        assert await remote.release(shell, uid) == []
    assert (programs / "kubelet").read_text() == "bin/kubelet"
    assert any(call.endswith("https://example.com/v1.34.0/amd64.tar.gz") for call in host.calls)


async def test_packages_replace_copied_programs(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    folder = host.path("/opt/kubernetes")
    folder.mkdir(parents=True)
    for name in ("kubeadm", "kubelet"):
        (folder / name).write_text(name)
    host.path("/usr/local/bin").mkdir(parents=True, exist_ok=True)
    (host.path("/usr/local/bin") / "other").touch()
    repository = Repository(url="https://example.com/{minor}")
    for uid, install in (("u1", Install(folder="/opt/kubernetes")), ("u2", Install(repository=repository))):
        steps = install_steps(install, "v1.34.0", "amd64")
        host.path("/etc/apt/sources.list.d").mkdir(parents=True, exist_ok=True)
        await remote.claim(shell, uid, "p", "o")
        await remote.start_boot(shell, uid, archive(steps))
        progress = await remote.progress(shell, uid)
        assert progress.state == "finished", progress
        assert await remote.release(shell, uid) == []
    assert [file.name for file in host.path("/usr/local/bin").iterdir()] == ["other"]


@pytest.mark.parametrize(
    ("source", "tool"),
    [
        (Install(archive=Archive(url="https://example.com/a", sha256="0" * 64)), "curl"),
        (Install(repository=Repository(url="https://example.com")), "apt-get"),
    ],
)
def test_tools_of_an_installation_are_checked_before_it(source: Install, tool: str) -> None:
    spec = HostMachineSpec(install=source)
    values = {"missing": f"haproxy {tool}", "runtime": "x", "cpus": "64", "memory": "64000", "disk": "64000"}
    results = machine_problems(Observed(values), spec, "v1.34.0", (), control_plane=False)
    assert [problem.check for problem in results] == ["install"]
    assert tool in results[0].message
    values["missing"] = "haproxy"
    assert machine_problems(Observed(values), spec, "v1.34.0", (), control_plane=False) == []


SYSTEM = b"""#cloud-config
users:
- default
- name: ada
  groups: adm, docker
  shell: /bin/bash
  passwd: $6$s3cr3t
  sudo: ALL=(ALL) NOPASSWD:ALL
  ssh_authorized_keys: [ssh-ed25519 AAAA ada]
ntp: {enabled: true, servers: [time.example.com]}
disk_setup:
  /dev/vdb: {table_type: gpt, layout: [[25, 82], 75]}
fs_setup:
- {label: data, filesystem: ext4, device: /dev/vdb, partition: '2'}
mounts:
- [LABEL=data, /var/lib/etcd-disk]
- [vdb1, none, swap, sw]
"""


async def system_steps() -> list[BootStep]:
    return boot_steps(await boot_plan(SYSTEM, "cloud-config", system=True))


async def test_users_clock_and_disks_are_set_up_and_restored(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    fstab, chrony = host.path("/etc/fstab"), host.path("/etc/chrony/chrony.conf")
    chrony.parent.mkdir()
    fstab.write_text("LABEL=root / ext4 defaults 0 1\n")
    chrony.write_text("pool debian\n")
    await remote.claim(shell, "u1", "p", "o")
    await remote.start_boot(shell, "u1", archive(await system_steps()))
    progress = await remote.progress(shell, "u1")
    assert progress.state == "finished", progress
    assert "useradd --create-home --shell /bin/bash --groups adm,docker -- ada" in host.calls
    assert "groupadd -- docker" in host.calls
    assert "usermod --lock -- ada" in host.calls
    assert (host.root / "password").read_text() == "ada:$6$s3cr3t\n"
    assert not any("s3cr3t" in call for call in host.calls)
    assert (host.root / "home/ada/.ssh/authorized_keys").read_text() == "ssh-ed25519 AAAA ada\n"
    rules = host.path("/etc/sudoers.d/95-boot-data")
    assert rules.read_text() == "ada ALL=(ALL) NOPASSWD:ALL\n"
    assert rules.stat().st_mode & 0o777 == 0o440
    assert chrony.read_text().splitlines()[0] == "server time.example.com iburst"
    swap = "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f"
    assert (host.root / "sfdisk").read_text() == f"label: gpt\nsize=250MiB, type={swap}\n,\n"
    assert "mkfs.ext4 -F -L data /dev/vdb2" in host.calls
    place = host.path("/var/lib/etcd-disk")
    assert fstab.read_text().splitlines()[1:] == [
        f"LABEL=data\t{place}\tauto\tdefaults,nofail,x-boot-data\t0\t2",
        "/dev/vdb1\tnone\tswap\tsw,x-boot-data\t0\t2",
    ]
    mounts = [call for call in host.calls if call.startswith(("mount ", "swapon"))]
    assert mounts == [f"mount -- {place}", "swapon /dev/vdb1"]
    assert await remote.release(shell, "u1") == []
    assert fstab.read_text() == "LABEL=root / ext4 defaults 0 1\n"
    assert chrony.read_text() == "pool debian\n"
    assert not place.exists()
    assert not rules.exists()
    assert not (host.root / "home/ada").exists()
    ends = ["userdel --remove -- ada", "groupdel -- docker", "swapoff /dev/vdb1", f"umount -- {place}"]
    assert [call for call in host.calls if call in ends] == ends


async def test_a_user_who_is_there_already_stays(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    keys = host.root / "home/ada/.ssh/authorized_keys"
    keys.parent.mkdir(parents=True)
    keys.write_text("ssh-ed25519 BBBB before\n")
    (host.root / "users").mkdir()
    (host.root / "users/ada").touch()
    await remote.claim(shell, "u1", "p", "o")
    await remote.start_boot(shell, "u1", archive([step for step in await system_steps() if "ada" in step.entry]))
    assert (await remote.progress(shell, "u1")).state == "finished"
    assert keys.read_text().splitlines()[1] == "ssh-ed25519 AAAA ada"
    assert not (host.root / "password").exists()
    assert await remote.release(shell, "u1") == []
    assert keys.read_text() == "ssh-ed25519 BBBB before\n"
    assert (host.root / "users/ada").exists()


async def test_a_disk_with_contents_stays_unchanged(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    (host.root / "lsblk").write_text("part 0x83 /mnt\n")
    await remote.claim(shell, "u1", "p", "o")
    disks = [step for step in await system_steps() if "disk_setup" in step.entry]
    await remote.start_boot(shell, "u1", archive(disks))
    assert (await remote.progress(shell, "u1")).state == "finished"
    assert not (host.root / "sfdisk").exists()
    log = host.path("/var/lib/kapy-hosts/boot/u1/log/00000").read_text()
    assert "has contents, and overwrite is not set" in log


async def retry(work: Callable[[], Awaitable[T]]) -> T:
    """Do as a controller: what was cut off is tried again."""
    while True:
        try:
            return await work()
        except HostFailure as failure:
            if failure.reason != "NoAnswer":
                raise


async def life(shell: SimulatedShell, packed: bytes) -> list[str]:
    """Use a host for one machine, and clean it."""
    await retry(lambda: remote.claim(shell, "u1", "p", "o"))
    await retry(lambda: remote.look(shell))
    await retry(lambda: remote.start_boot(shell, "u1", packed))
    progress = await retry(lambda: remote.progress(shell, "u1"))
    assert progress.state == "finished", progress
    return await retry(lambda: remote.release(shell, "u1"))


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("cut", range(5))
async def test_a_connection_that_is_cut_changes_nothing(host: SimulatedHost, cut: int, before: bool) -> None:
    said = host.root / "said"
    once = BootStep("once", f"echo once >> {said}\n")
    packed = archive([once, file_step("/etc/motd", "after", "motd")])
    host.path("/etc/motd").write_text("before")
    host.cuts = {cut: before}
    assert await life(SimulatedShell(host), packed) == []
    assert host.cuts == {}
    assert said.read_text() == "once\n"
    assert host.path("/etc/motd").read_text() == "before"
    assert host.claim == ""
    assert not host.path("/var/lib/kapy-hosts/boot").exists()


async def test_a_full_disk_fails_the_upload_before_the_boot_begins(host: SimulatedHost) -> None:
    shell = SimulatedShell(host)
    tar = host.root / "bin/tar"
    tar.write_text("#!/bin/sh\necho 'tar: No space left on device' >&2\nexit 2\n")
    tar.chmod(0o755)
    await remote.claim(shell, "u1", "p", "o")
    with pytest.raises(HostFailure, match="No space left on device") as failure:
        await remote.start_boot(shell, "u1", archive(await steps()))
    assert failure.value.reason == "Broken"
    assert (await remote.progress(shell, "u1")).state == "absent"
    tar.unlink()
    await remote.start_boot(shell, "u1", archive(await steps()))
    assert (await remote.progress(shell, "u1")).state == "finished"
