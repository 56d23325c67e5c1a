"""Boot data of made-up KubeadmConfigs, equal to what upstream's writer made of them.

`written.jsonl.gz` has upstream's answers: user data in both forms, or that Ignition is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from kapy.kube.boot import BadBootData, read_boot_data
from kapy.providers.kubeadm.bootstrap import cloudinit, ignition
from kapy.providers.kubeadm.bootstrap.cloudinit import MachineSetup
from tests.oracle.topic import records

_DATA: Final = Path(__file__).parents[2] / "data" / "boot_data"
_CASES: Final = list(records(_DATA / "written.jsonl.gz"))


def _setup(case: dict[str, Any]) -> MachineSetup:
    spec = case["spec"]
    return MachineSetup(
        files=[*case["certificateFiles"], *spec.get("files", ())],
        boot_commands=spec.get("bootCommands", ()),
        pre_kubeadm_commands=spec.get("preKubeadmCommands", ()),
        post_kubeadm_commands=spec.get("postKubeadmCommands", ()),
        users=spec.get("users", ()),
        ntp=spec.get("ntp"),
        disk_setup=spec.get("diskSetup"),
        mounts=spec.get("mounts", ()),
        verbosity=case["verbosity"],
    )


def _configuration(case: dict[str, Any]) -> list[str]:
    init = case["kind"] == "init"
    names = ("clusterConfiguration", "initConfiguration") if init else ("joinConfiguration",)
    return [case[name] for name in names]


def _ignition(case: dict[str, Any]) -> dict[str, str]:
    additions = (case["ignitionSpec"] or {}).get("containerLinuxConfig") or {}
    try:
        return {"out": ignition.render_user_data(_setup(case), additions, *_configuration(case))}
    except (ignition.CannotRender, ignition.CannotTranslate) as error:
        return {"error": str(error)}


def test_ignition_equals_that_of_upstream() -> None:
    different = []
    for number, case in enumerate(_CASES):
        result, recorded = _ignition(case), case["ignition"]
        same = "error" in result if "error" in recorded else result == recorded
        if not same:
            different.append((number, recorded, result))
    assert different == []
    assert sum("out" in case["ignition"] for case in _CASES) >= 150


def test_cloud_config_equals_that_of_upstream() -> None:
    writers: dict[str, Callable[..., str]] = {
        "init": cloudinit.init_control_plane,
        "join-control-plane": cloudinit.join_control_plane,
        "join-worker": cloudinit.join_worker,
    }
    for case in _CASES:
        result = writers[case["kind"]](_setup(case), *_configuration(case))
        assert result == case["cloud_config"]


def test_ignition_configs_can_be_read_again() -> None:
    """All but those with files that have to be fetched, and with names that no machine takes."""
    refused = 0
    written = [out for case in _CASES if (out := case["ignition"].get("out"))]
    for out in written:
        try:
            plan = read_boot_data(out.encode(), "ignition")
        except BadBootData:
            refused += 1
        else:
            assert any(step.entry.endswith("(kubeadm.service)") for step in plan.steps)
    assert refused < len(written) / 4


@pytest.mark.parametrize(
    ("additional", "message"),
    [
        ("etcd: {version: 3.0.0}", "line 1: the section etcd is not supported: use systemd.units"),
        ("flannel: {}", "line 1: the section flannel is not supported"),
        ("storage:\n  <<: {files: []}", "line 2: storage.<<: merge keys are not supported"),
        ("storage: {files: [{path: x, mode: 0600}]}", "storage.files[0].path: 'x' is not an"),
        (
            "storage: {files: [{mode: rw}]}",
            "storage.files[0].mode must be a whole number, not 'rw'",
        ),
        (
            "storage: {files: [{path: /a, contents: {local: x}}]}",
            "a local file cannot be read here",
        ),
        ("systemd: {units: [{name: a}]}", "systemd.units[0].name: 'a' must end with one of"),
        ("a: [", "additionalConfig is not YAML: line 2"),
        (
            "storage: {disks: [{device: /dev/a, partitions: [{size: 1kB}]}]}",
            "size: '1kB' has no uni",
        ),
        ("[1]", "the config must be a mapping"),
    ],
)
def test_a_refused_config_is_reported_with_its_line(additional: str, message: str) -> None:
    with pytest.raises(ignition.CannotTranslate) as caught:
        ignition.render_user_data(MachineSetup(), {"additionalConfig": additional}, "kind: X\n")
    assert message in str(caught.value)
    assert "spec.ignition.containerLinuxConfig.additionalConfig" in str(caught.value)


@pytest.mark.parametrize(
    ("additional", "message"),
    [
        ("nonsense: 1", "line 1: nonsense is not known"),
        ("storage: {files: [{path: /a}]}", "storage.files[0].mode is not given, 0644 is taken"),
        (
            "storage: {directories: [{path: /a}]}",
            "directories[0].mode is not given, 0755 is",
        ),
        (
            "storage: {files: [{path: /a, mode: 0600, filesystem: data}]}",
            "storage.files[0].filesystem: the file system 'data' is not defined here",
        ),
        (
            'systemd: {units: [{name: a.service, enabled: true, contents: "[Unit]\\nA=b"}]}',
            "systemd.units[0]: a.service is enabled, but has no section Install",
        ),
        ("update: {group: odd}", "update.group: 'odd' is not one of stable, beta, alpha"),
        ("# nothing", "the config is empty"),
    ],
)
def test_a_doubtful_config_is_refused_only_in_strict_mode(additional: str, message: str) -> None:
    additions = {"additionalConfig": additional}
    assert ignition.render_user_data(MachineSetup(), additions, "kind: X\n")
    with pytest.raises(ignition.CannotTranslate) as caught:
        ignition.render_user_data(MachineSetup(), {**additions, "strict": True}, "kind: X\n")
    assert message in str(caught.value)


def test_text_cannot_end_the_boot_data_early() -> None:
    setup = MachineSetup(users=[{"name": "a", "gecos": "x\n---\n"}])
    with pytest.raises(ignition.CannotTranslate):
        ignition.render_user_data(setup, {}, "kind: X\n")


def test_aliases_do_not_multiply_the_work() -> None:
    texts = "x: &t [" + "a," * 1000 + "]\n"
    users = "passwd: {users: [" + "{name: a, groups: *t}," * 1000 + "]}\n"
    with pytest.raises(ignition.CannotTranslate, match="too large with its aliases written out"):
        ignition.render_user_data(MachineSetup(), {"additionalConfig": texts + users}, "kind: X\n")


def test_a_mount_needs_a_folder() -> None:
    with pytest.raises(ignition.CannotRender, match=r"mounts: \['data'\] has no mount point"):
        ignition.render_user_data(MachineSetup(mounts=[["data"]]), {}, "kind: X\n")


@pytest.mark.parametrize(
    "config", ["- - - -\n" * 5000, "a: b\n" * 5000, "[" + "a," * 100_000 + "]"]
)
async def test_a_large_config_is_translated_on_a_thread(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_threads: list[Any] = []

    async def to_thread(call: Callable[..., str], *arguments: Any) -> str:
        on_threads.append(call)
        return call(*arguments)

    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    case = _CASES[0]
    additions = {"additionalConfig": config, "strict": True}
    with pytest.raises(ignition.CannotTranslate):
        await ignition.user_data(_setup(case), additions, *_configuration(case))
    assert len(on_threads) == 1


def test_a_config_of_too_many_values_is_refused() -> None:
    case = _CASES[0]
    additions = {"additionalConfig": "- - - -\n" * 180_000}
    with pytest.raises(ignition.CannotTranslate, match="more than 100000 values"):
        ignition.render_user_data(_setup(case), additions, *_configuration(case))
