"""Ignition configs as steps."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from typing import Any

import pytest

from kapy.kube.boot import BadBootData, BootPlan, RunCommand, WriteFile, read_boot_data


def _plan(version: str = "2.3.0", **sections: Any) -> BootPlan:
    config = {"ignition": {"version": version}, **sections}
    return read_boot_data(json.dumps(config).encode(), "ignition")


def _files(*files: Any, version: str = "2.3.0") -> list[WriteFile]:
    steps = _plan(version, storage={"files": list(files)}).steps
    return [step for step in steps if isinstance(step, WriteFile)]


def _source(source: str) -> dict[str, str]:
    return {"source": source}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"contents": _source("data:,a%20b"), "mode": 0o600}, (b"a b", 0o600, "root:root", False)),
        ({"contents": _source("data:;base64,YQ==")}, (b"a", 0o644, "root:root", False)),
        ({"contents": _source(" data:text/plain;charset=utf-8;base64,YQ== ")}, None),
        ({"contents": {"source": None}}, (b"", 0o644, "root:root", False)),
        ({"append": True, "contents": _source("data:,a")}, (b"a", 0o644, "root:root", True)),
        ({"user": {"name": "etcd"}}, (b"", 0o644, "etcd:root", False)),
        ({"user": {"id": 500}, "group": {"id": 501}}, (b"", 0o644, "500:501", False)),
    ],
)
def test_an_ignition_file_becomes_a_step(
    fields: Any, expected: tuple[bytes, int, str, bool] | None
) -> None:
    (step,) = _files({"path": "/etc/a", **fields})
    results = (step.content, step.mode, step.owner, step.append)
    assert results == (expected or (b"a", 0o644, "root:root", False))


def test_compressed_contents_are_unpacked_and_verified() -> None:
    packed = base64.b64encode(gzip.compress(b"text")).decode()
    digest = hashlib.sha512(b"text").hexdigest()
    contents = {
        **_source(f"data:;base64,{packed}"),
        "compression": "gzip",
        "verification": {"hash": f"sha512-{digest}"},
    }
    assert _files({"path": "/a", "contents": contents})[0].content == b"text"
    contents["verification"] = {"hash": f"sha512-{digest[:-1]}0"}
    with pytest.raises(BadBootData, match=r"storage\.files\[0\] \(/a\): the content does not have"):
        _files({"path": "/a", "contents": contents})


def test_additions_of_version_3_are_read() -> None:
    additions = [_source("data:,b"), _source("data:,c")]
    steps = _files(
        {"path": "/a", "contents": _source("data:,a"), "append": additions},
        {"path": "/d", "append": additions[:1]},
        version="3.4.0",
    )
    assert [(step.path, step.content, step.append) for step in steps] == [
        ("/a", b"a", False),
        ("/a", b"b", True),
        ("/a", b"c", True),
        ("/d", b"b", True),
    ]


def test_units_become_steps() -> None:
    units = [
        {
            "name": "kubeadm.service",
            "enabled": True,
            "contents": "[Service]\n",
            "dropins": [{"name": "10.conf", "contents": "[Unit]\n"}],
        },
        {"name": "locksmithd.service", "mask": True},
        {"name": "ntpd.service", "enable": True},
        {"name": "a@b.socket", "enabled": None, "contents": None},
    ]
    steps = _plan(systemd={"units": units}).steps
    folder = "/etc/systemd/system"
    written = [(step.path, step.content) for step in steps if isinstance(step, WriteFile)]
    assert written == [
        (f"{folder}/kubeadm.service", b"[Service]\n"),
        (f"{folder}/kubeadm.service.d/10.conf", b"[Unit]\n"),
    ]
    commands = [step for step in steps if isinstance(step, RunCommand)]
    assert [command.argv for command in commands] == [
        ("ln", "-sfn", "--", "/dev/null", f"{folder}/locksmithd.service"),
        ("systemctl", "daemon-reload"),
        ("systemctl", "enable", "--now", "kubeadm.service"),
        ("systemctl", "enable", "--now", "ntpd.service"),
    ]
    assert commands[2].entry == "systemd.units[0] (kubeadm.service)"
    assert "--unit=kubeadm.service" in commands[2].diagnosis
    assert steps.index(commands[1]) > steps.index(commands[0])


def test_folders_and_links_become_steps() -> None:
    steps = _plan(
        storage={
            "directories": [{"path": "/opt/a", "mode": 0o700}],
            "links": [{"path": "/opt/a/l", "target": "../b"}],
        }
    ).steps
    folder, link = (step for step in steps if isinstance(step, RunCommand))
    assert folder.argv[-3:] == ("/opt/a", "root:root", "0700")
    assert link.argv[-4:] == ("/opt/a", "../b", "/opt/a/l", "root:root")


def test_sections_that_are_not_applied_are_named() -> None:
    plan = _plan(
        networkd={"units": [{}]},
        storage={"disks": [{"device": "/dev/sda"}], "raid": [], "files": []},
        passwd={"users": [{"name": "core"}]},
        systemd={},
    )
    assert plan.ignored == ("networkd.units", "storage.disks", "passwd.users")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("[]", "ignition: the boot data is not a JSON object"),
        ("a: b", "ignition: the boot data is not JSON"),
        ("[" * 9000, "ignition: the boot data is not JSON"),
        ('{"ignition": {"version": "1.0.0"}}', "version '1.0.0' is not read; use version 2 or 3"),
        ('{"ignition": {"version": 2}}', "version 2 is not read"),
        ('{"ignition": {"config": {"merge": [{}]}}}', "ignition.config.merge: configs from"),
        ('{"storage": []}', "storage must be an object"),
        ('{"storage": {"files": [1]}}', "storage.files: files must be a list of objects"),
        ('{"storage": {"files": [{}]}}', "storage.files[0]: path '' is not an absolute path"),
        ('{"storage": {"files": [{"path": "a"}]}}', "path 'a' is not an absolute path"),
        ('{"storage": {"files": [{"path": "/a", "mode": -1}]}}', "(/a): mode must be a number"),
        (
            '{"storage": {"files": [{"path": "/a", "user": {"name": "-x"}}]}}',
            "'-x' is not the name",
        ),
        (
            '{"storage": {"files": [{"path": "/a", "user": {"id": 1e99}}]}}',
            "(/a): the ID of a user",
        ),
        (
            '{"storage": {"files": [{"path": "/a",'
            ' "contents": {"source": "https://x/y?token=z"}}]}}',
            '(/a): the source "https://x/y" would have to be fetched',
        ),
        (
            '{"storage": {"files": [{"path": "/a", "contents": {"source": "data:a"}}]}}',
            "(/a): the data URL has no comma",
        ),
        (
            '{"storage": {"files": [{"path": "/a", "contents": {"source": "data:,a",'
            ' "compression": "xz"}}]}}',
            '(/a): compression "xz" is not known',
        ),
        ('{"storage": {"links": [{"path": "/a"}]}}', "storage.links[0] (/a): target must name"),
        ('{"systemd": {"units": [{"name": "../a.service"}]}}', "is not the name of a systemd unit"),
        ('{"systemd": {"units": [{"name": "-a"}]}}', "systemd.units[0]: name '-a' is not the name"),
        (
            '{"systemd": {"units": [{"name": "a.service", "dropins": [{"name": "a/b.conf"}]}]}}',
            "systemd.units[0] (a.service).dropins[0]: name 'a/b.conf' is not the name of a drop-in",
        ),
    ],
)
def test_invalid_ignition_is_refused(config: str, message: str) -> None:
    with pytest.raises(BadBootData) as caught:
        read_boot_data(config.encode(), "ignition")
    assert message in str(caught.value)


def test_packed_content_is_bounded() -> None:
    packed = base64.b64encode(gzip.compress(b"\0" * (17 << 20))).decode()
    contents = {**_source(f"data:;base64,{packed}"), "compression": "gzip"}
    with pytest.raises(BadBootData, match=r"storage\.files\[0\] \(/a\): .* larger than 16 MiB"):
        _files({"path": "/a", "contents": contents})
