"""Harnesses of boot data: cloud-config and Ignition, read into steps."""

from __future__ import annotations

from typing import Final

from kapy.kube.boot import BadBootData, BootPlan, as_command, for_containers, read_boot_data
from tests.fuzz.harness import Harness


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

HARNESSES = (
    Harness(
        "cloud-config",
        _cloud_config,
        (BadBootData,),
        (_INIT, b"runcmd: [&a [ls, *a]]", b"write_files: [{path: /a, permissions: 0640}]"),
        (b"write_files:", b"- path: ", b"content: ", b"&a ", b"*a", b"base64", b"kind: "),
    ),
    Harness("ignition", _ignition, (BadBootData,), (_FILES,), structured=True),
)
