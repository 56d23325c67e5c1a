"""Harnesses of boot data: cloud-config and Ignition, read into steps."""

from __future__ import annotations

from typing import Final

from kapy.kube.boot import BadBootData, BootPlan, as_command, for_containers, read_boot_data
from kapy.providers.kubeadm.bootstrap.cloudinit import MachineSetup
from kapy.providers.kubeadm.bootstrap.ignition import CannotTranslate
from kapy.providers.kubeadm.bootstrap.ignition import render_user_data as user_data
from tests.fuzz.harness import Harness
from tests.fuzz.of_values import text_of


def _plan(data: bytes, data_format: str) -> None:
    plan: BootPlan = read_boot_data(data, data_format, instance={"local_hostname": "m"})
    for step in for_containers(plan).steps:
        command = as_command(step)
        assert command.entry
        assert command.argv
        assert not any("\0" in word for word in command.argv)


def _cloud_config(data: bytes) -> None:
    _plan(data, "cloud-config")


def _ignition(data: bytes) -> None:
    _plan(data, "ignition")


def _container_linux_config(data: bytes) -> str:
    additions = {"additionalConfig": text_of(data), "strict": data[:1] == b"#"}
    written = user_data(MachineSetup(), additions, "kind: JoinConfiguration\n")
    read_boot_data(written.encode(), "ignition")
    return written


_INIT: Final = b"""\
## template: jinja
#cloud-config
write_files:
- path: /run/kubeadm/kubeadm.yaml
  owner: root:root
  permissions: '0640'
  content: |
    ---
    kind: ClusterConfiguration
    ---
    kind: InitConfiguration
    nodeRegistration: {name: '{{ ds.meta_data.local_hostname }}', kubeletExtraArgs: []}
- {path: /a, encoding: gz+b64, content: H4sIAAAAAAAAA0sEAEO+t+gBAAAA, append: true, defer: true}
runcmd:
- kubeadm init --config /run/kubeadm/kubeadm.yaml
- [kubeadm, join, 1]
bootcmd: [ls]
"""
_FILES: Final = b"""\
{"ignition": {"version": "2.3.0"}, "storage": {"files": [{"path": "/etc/kubeadm.yml", "mode": 384,
"contents": {"source": "data:;base64,YQ==", "verification": {}}, "user": {"id": 5}},
{"path": "/etc/kubeadm.sh", "append": [{"source": "data:,kubeadm%20init"}]}],
"directories": [{"path": "/a/b"}], "links": [{"path": "/l", "target": "a", "hard": true}]},
"systemd": {"units": [{"name": "a.service", "enabled": true, "mask": false, "contents": "[Unit]",
"dropins": [{"name": "a.conf", "contents": "x"}]}]}, "passwd": {"users": [{"name": "core"}]}}
"""
_ADDITIONS: Final = b"""\
systemd:
  units:
  - name: a.service
    enabled: yes
    contents: |
      [Unit]
      A=b
      [Install]
      WantedBy=multi-user.target
    dropins: [{name: a.conf, contents: "[Service]"}]
storage:
  disks:
  - {device: /dev/sda, partitions: [{size: 1.5GiB, number: 1, type_guid: raid_partition}]}
  files:
  - {path: /a, mode: 0600, contents: {remote: {url: 'https://[::1]:80/a b?c#d'}}}
  - {path: /b, filesystem: data, contents: {inline: !!binary eA==}, user: {id: 5}}
  filesystems: [{name: data, mount: {device: /dev/a, format: ext4, label: x}}]
  raid: [{name: md0, level: raid1, devices: [/dev/a]}]
networkd: {units: [{name: a.network}]}
passwd: {users: [{name: core, uid: 5}], groups: [{name: g, gid: 7}]}
update: {group: stable}
locksmith: {reboot_strategy: off, window_start: Sun 1:00, window_length: 1h}
docker: {flags: [a]}
ignition: {timeouts: {http_total: 5}, config: {append: [{source: 'data:text/plain;base64,YQ=='}]}}
"""

HARNESSES = (
    Harness(
        "cloud-config",
        _cloud_config,
        (BadBootData,),
        (_INIT, b"runcmd: [&a [ls, *a]]", b"write_files: [{path: /a, permissions: 0640}]"),
        (b"write_files:", b"- path: ", b"content: ", b"&a ", b"*a", b"base64", b"kind: "),
    ),
    Harness(
        "container-linux-config",
        _container_linux_config,
        (CannotTranslate, BadBootData),
        (
            _ADDITIONS,
            b"storage: {files: [&a {path: /a, mode: 0644}, *a]}",
            b"#\npasswd: {users: []}",
        ),
        (b"storage:", b"- name: ", b"contents: ", b"&a ", b"*a", b"!!binary ", b"url: ", b"0x"),
    ),
    Harness("ignition", _ignition, (BadBootData,), (_FILES,), structured=True),
)
