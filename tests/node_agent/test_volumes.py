"""Volumes of Pods as folders, which change all at once."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from kapy.kube import Document
from kapy.node_agent.sources import MissingSource, Sources
from kapy.node_agent.supported import unsupported_fields
from kapy.node_agent.volumes import TOKEN_FOLDER, Content, Volumes, publish_files


def pod(*volumes: Document, mounts: tuple[Document, ...] = (), **spec: Any) -> Document:
    container = {"name": "c", "volumeMounts": list(mounts)}
    named = [{"name": f"v{number}", **volume} for number, volume in enumerate(volumes)]
    metadata = {"name": "pod", "namespace": "ns", "uid": "1", "labels": {"a": "b"}}
    return {"metadata": metadata, "spec": {"containers": [container], "volumes": named, **spec}}


def secret(**data: str) -> Document:
    return {"data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}}


def folder_of(
    path: Path, document: Document, value: Document | None = None
) -> tuple[Volumes, Sources]:
    volumes = Volumes(path, document, lambda audience, seconds: f"T-{audience}-{seconds}", b"CA")
    return volumes, Sources(document, lambda _: value, lambda _: value, {})


def files(path: Path) -> dict[str, str]:
    paths = (item for item in sorted(path.rglob("*")) if ".." not in str(item.relative_to(path)))
    return {str(item.relative_to(path)): item.read_text() for item in paths if item.is_file()}


def test_every_kind_of_source_becomes_files(tmp_path: Path) -> None:
    items = [{"key": "a", "path": "deep/x", "mode": 0o400}]
    field = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
    sources = [
        {"serviceAccountToken": {"path": "t", "audience": "aud", "expirationSeconds": 600}},
        {"secret": {"name": "s", "items": items}},
        {"downwardAPI": {"items": [field]}},
    ]
    document = pod(
        {"secret": {"secretName": "s"}},
        {"configMap": {"name": "s", "optional": True}},
        {"projected": {"sources": sources}},
        {"emptyDir": {}},
    )
    volumes, result = folder_of(tmp_path, document, secret(a="1", b="2"))
    volumes.update(result)
    assert files(tmp_path / "v0") == {"a": "1", "b": "2"}
    projected = tmp_path / "v2"
    assert (projected / "deep" / "x").read_text() == "1"
    assert (projected / "deep" / "x").stat().st_mode & 0o777 == 0o400
    assert (projected / "t").read_text() == "T-aud-600"
    assert (projected / "labels").read_text() == 'a="b"'
    assert (tmp_path / "v3").is_dir()
    account = tmp_path / "kube-api-access"
    assert files(account) == {"ca.crt": "CA", "namespace": "ns", "token": "T--3607"}
    assert (account / "token").stat().st_mode & 0o077 == 0, "nobody else reads a token"


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "..data", ""])
def test_no_file_leaves_its_volume(tmp_path: Path, path: str) -> None:
    document = pod({"secret": {"secretName": "s", "items": [{"key": "a", "path": path}]}})
    volumes, sources = folder_of(tmp_path / "volumes", document, secret(a="1"))
    with pytest.raises(MissingSource, match="leads out of its volume"):
        volumes.update(sources)


def test_missing_sources_are_named(tmp_path: Path) -> None:
    volumes, sources = folder_of(tmp_path, pod({"secret": {"secretName": "s"}}))
    with pytest.raises(MissingSource, match='secret "s" not found'):
        volumes.update(sources)
    items = [{"key": "no", "path": "x"}]
    document = pod({"configMap": {"name": "s", "items": items}})
    volumes, sources = folder_of(tmp_path, document, {"data": {"a": "1"}})
    with pytest.raises(MissingSource, match="non-existent configmap s key: no"):
        volumes.update(sources)


def test_files_change_all_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "volume"
    assert publish_files(folder, {"a": Content(b"1"), "b": Content(b"1")})
    before = folder / os.readlink(folder / "..data")
    with (folder / "a").open() as held:
        assert not publish_files(folder, {"b": Content(b"1"), "a": Content(b"1")}), "nothing is new"
        assert publish_files(folder, {"a": Content(b"2"), "c/d": Content(b"2")})
        assert held.read() == "1"
    assert files(folder) == {"a": "2"}
    assert (folder / "c" / "d").read_text() == "2"
    assert not before.exists()
    assert not (folder / "b").is_symlink()


def test_a_container_sees_its_mounts_and_its_account(tmp_path: Path) -> None:
    host = {"hostPath": {"path": "/dev/null"}}
    mounts = (
        {"name": "v0", "mountPath": "/certs/", "readOnly": True},
        {"name": "v0", "mountPath": "/one", "subPath": "a"},
        {"name": "v1", "mountPath": "/null"},
    )
    document = pod({"secret": {"secretName": "s"}}, host, mounts=mounts)
    volumes, sources = folder_of(tmp_path, document, secret(a="1"))
    volumes.update(sources)
    results = {mount.path: mount for mount in volumes.mounts(document["spec"]["containers"][0])}
    assert results["/certs"].source == tmp_path / "v0"
    assert results["/one"].source.read_text() == "1"
    assert results["/null"].source == Path("/dev/null")
    assert results[TOKEN_FOLDER].source == tmp_path / "kube-api-access"
    without = pod(automountServiceAccountToken=False)
    assert folder_of(tmp_path, without)[0].mounts(without["spec"]["containers"][0]) == []


def test_fields_that_are_not_supported_are_named() -> None:
    document = pod({"nfs": {"server": "x"}}, mounts=({"name": "v0", "mountPropagation": "x"},))
    document["spec"] |= {"runtimeClassName": "x", "shareProcessNamespace": True, "tolerations": [1]}
    hooks = {"postStart": {"tcpSocket": {"port": 1}}, "preStop": {"exec": {}}, "stopSignal": "X"}
    document["spec"]["containers"][0] |= {"lifecycle": hooks, "stdin": False}
    assert unsupported_fields(document) == [
        "spec.runtimeClassName",
        "spec.shareProcessNamespace",
        "spec.containers[c].volumeMounts[None].mountPropagation",
        "spec.containers[c].lifecycle.stopSignal",
        "spec.containers[c].lifecycle.postStart.tcpSocket",
        "spec.volumes[v0].nfs",
    ]


def test_files_have_fields_and_resources_as_a_kubelet_writes_them(tmp_path: Path) -> None:
    items = [
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
        {"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}},
        {"path": "one", "fieldRef": {"fieldPath": "metadata.annotations['t']"}},
        {"path": "init", "resourceFieldRef": {
            "containerName": "i", "resource": "requests.memory", "divisor": "1Mi"}},
        {"path": "main", "resourceFieldRef": {"containerName": "m", "resource": "limits.cpu"}},
    ]  # fmt: skip
    document = pod({"downwardAPI": {"items": items}})
    document["metadata"]["annotations"] = {"t": 'a\t"b"\n', "s": "é"}
    document["spec"]["initContainers"] = [
        {"name": "i", "resources": {"requests": {"memory": "3Mi"}}}
    ]
    document["spec"]["containers"] = [{"name": "m"}]
    volumes, sources = folder_of(tmp_path, document)
    volumes.update(sources)
    assert files(tmp_path / "v0") == {
        "name": document["metadata"]["name"], "annotations": 's="é"\nt="a\\t\\"b\\"\\n"',
        "one": 'a\t"b"\n', "init": "3", "main": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ({"fieldRef": {"fieldPath": "status.podIP"}}, "a variable can have it"),
        ({"fieldRef": {"fieldPath": "metadata.finalizers"}}, "is not one"),
        ({"resourceFieldRef": {"resource": "limits.cpu"}}, "container  not found"),
        ({"resourceFieldRef": {"containerName": "x", "resource": "limits.cpu"}}, "x not found"),
    ],
)
def test_a_missing_source_of_a_file_is_named(tmp_path: Path, item: Document, why: str) -> None:
    document = pod({"downwardAPI": {"items": [{"path": "a", **item}]}})
    volumes, sources = folder_of(tmp_path, document)
    with pytest.raises(MissingSource, match=why):
        volumes.update(sources)
