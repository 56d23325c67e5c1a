"""Users, disks, mounts and NTP servers of a cloud-config as steps. `providers/hosts` runs them."""

from __future__ import annotations

import pytest

from kapy.kube.boot import BadBootData, BootPlan, RunCommand, as_command, read_boot_data
from kapy.kube.yaml import dump

ORDER = """
runcmd: [last]
write_files:
- {path: /etc/late, content: "", defer: true}
- {path: /etc/early, content: ""}
ntp: {servers: [time.example.com]}
users: [{name: ada}]
mounts: [[vdb, /data]]
fs_setup: [{device: /dev/vdb, filesystem: ext4}]
disk_setup: {/dev/vdb: {layout: true}}
bootcmd: [first]
growpart: {mode: auto}
"""


def plan(text: str, *, system: bool = True) -> BootPlan:
    return read_boot_data(f"#cloud-config\n{text}".encode(), system=system)


def words(text: str) -> tuple[str, ...]:
    """The words behind the script of the only step."""
    (step,) = plan(text).steps
    assert isinstance(step, RunCommand)
    assert step.repeatable
    return step.argv[4:]


def test_steps_come_in_cloud_inits_order() -> None:
    assert [step.entry for step in plan(ORDER).steps] == [
        "bootcmd[0]",
        "write_files[1] (/etc/early)",
        "disk_setup (/dev/vdb)",
        "fs_setup[0] (/dev/vdb)",
        "mounts",
        "users[0] (ada)",
        "ntp",
        "write_files[0] (/etc/late)",
        "runcmd[0]",
    ]
    assert plan(ORDER).ignored == ("growpart",)


def test_containers_get_no_system_settings() -> None:
    system_plan = plan(ORDER, system=False)
    assert set(system_plan.ignored) == {
        "growpart",
        "ntp",
        "users",
        "mounts",
        "fs_setup",
        "disk_setup",
    }
    assert len(system_plan.steps) == 4


def test_a_password_is_in_no_command_line() -> None:
    (step,) = plan("users: [{name: ada, passwd: $6$hash, ssh_authorized_keys: [key]}]").steps
    command = as_command(step)
    assert command.stdin == b"$6$hash\nkey\n"
    assert not any("hash\n" in word or "$6$" in word for word in command.argv)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("users: [ada]", ("ada", "new", "true", "", "")),
        (
            "users: [{name: ada, groups: [a, b], primary_group: c, lock_passwd: false, uid: 7}]",
            ("ada", "new", "false", "", "a b c", "--gid", "c", "--uid", "7", "--groups", "a,b,c"),
        ),
        ("users: [{name: ada, inactive: true}]", ("ada", "new", "true", "", "")),
        ("ntp: {servers: [a, b], pools: [c]}", ("server a", "server b", "pool c")),
        ("ntp:", ()),
        ("disk_setup: {sdb: {layout: true}}", ("/dev/sdb", "dos", "false", "100:")),
        (
            "disk_setup: {sdb: {layout: [50, [50, 07]], table_type: mbr, overwrite: true}}",
            ("/dev/sdb", "dos", "true", "50:", "50:07"),
        ),
        (
            "fs_setup: [{device: sdb, filesystem: xfs, label: a b, partition: 1, extra_opts: -q}]",
            ("/dev/sdb", "1", "xfs", "a b", "false", "", "-q"),
        ),
        ("mounts: [[vdb1, /data]]", ("/dev/vdb1", "/data", "auto", "defaults,nofail", "0", "2")),
        (
            "mounts: [[tmpfs, /t, tmpfs, size=1m, '0', '0'], [gone, null], [a]]",
            ("tmpfs", "/t", "tmpfs", "size=1m", "0", "0"),
        ),
    ],
)
def test_a_script_receives_its_arguments(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "users: [default]",
        "ntp: {enabled: false, servers: [a]}",
        "disk_setup: {sdb: {layout: false}}",
        "mounts: []",
    ],
)
def test_empty_boot_data_has_no_steps(text: str) -> None:
    assert plan(text) == BootPlan(())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("users: {ada: {}}", "users: the value must be a list"),
        ("users: [{name: 'a b'}]", r"users\[0\]: name cannot be 'a b'"),
        ("users: [{name: -rf}]", "name cannot be '-rf'"),
        ("users: [{name: a, groups: ['-x']}]", "a group cannot be '-x'"),
        ("users: [{name: a, gecos: 'a:b'}]", "gecos must not contain a colon"),
        (dump({"users": [{"name": "a", "sudo": "x\ny"}]}), "sudo must not contain a line break"),
        (dump({"users": [{"name": "a", "passwd": "x\ny"}]}), "password must not contain"),
        (dump({"users": [{"name": "a", "shell": "x\0y"}]}), "NUL"),
        ("ntp: [a]", "ntp: the value must be a mapping"),
        ("ntp: {servers: ['-x y']}", "ntp: each of servers cannot be '-x y'"),
        ("disk_setup: [sdb]", "disk_setup: the value must be a mapping"),
        ("disk_setup: {/etc/passwd: {layout: true}}", "a device is a path below /dev"),
        ("disk_setup: {sdb: {layout: true, table_type: x}}", "table_type must be mbr or gpt"),
        ("disk_setup: {sdb: {layout: [200]}}", "a percentage from 1 to 100"),
        ("disk_setup: {sdb: {layout: [1, 1, 1, 1, 1]}}", "layout must be"),
        ("disk_setup: {sdb: {layout: [[50, 85]], table_type: gpt}}", "no equivalent in a GPT"),
        ("disk_setup: {sdb: {layout: [[50, 'x;y']]}}", "type 'x;y' of a partition"),
        ("fs_setup: [{device: sdb, filesystem: '../x'}]", "filesystem cannot be"),
        ("fs_setup: [{device: sdb, filesystem: xfs, partition: swap}]", "partition cannot be"),
        ("fs_setup: [{device: sdb, cmd: [x]}]", "cmd is not known"),
        ("mounts: [[ephemeral0, /mnt]]", "ephemeral0 is a disk of a cloud"),
        ("mounts: [[a, b]]", "the mount point must be an absolute path"),
        ("mounts: [[a, /b, 'x y']]", "must not contain white space"),
        (f"users: {['a'] * 300}", "at most 256 entries"),
    ],
)
def test_invalid_system_settings_are_refused(text: str, message: str) -> None:
    with pytest.raises(BadBootData, match=message):
        plan(text)
