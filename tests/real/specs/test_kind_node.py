"""Answers to kind about nodes that are planes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.real.specs.kind_node import FOLDER, LABEL, main

KUBECONFIG = (
    "apiVersion: v1\nclusters:\n- cluster:\n    server: https://127.0.0.1:6443\n  name: one\n"
)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    path = tmp_path / "one-control-plane"
    path.mkdir()
    (path / "kubeconfig").write_text(KUBECONFIG)
    for name, text in {"version": "v1.34.0", "cluster": "one", "pid": "1"}.items():
        (path / name).write_text(text)
    return path


def test_nodes_are_listed_by_their_cluster(node: Path) -> None:
    names = ["--format", "{{.Names}}"]
    assert main(["ps", "-a", "--filter", f"label={LABEL}=one", *names]) == node.name
    assert main(["ps", "-a", "--filter", f"label={LABEL}=other", *names]) == ""
    of = '{{.Label "io.x-k8s.kind.cluster"}}'
    assert main(["ps", "-a", "--filter", f"label={LABEL}", "--format", of]) == "one"


def test_a_node_has_version_kubeconfig_and_address(node: Path) -> None:
    flags = ["--privileged", "-i", "-e", "NO_PROXY=x"]
    assert main(["exec", *flags, node.name, "cat", "/kind/version"]) == "v1.34.0"
    assert main(["exec", node.name, "cat", "/etc/kubernetes/admin.conf"]) == KUBECONFIG
    assert main(["exec", "--privileged", node.name, "kubeadm", "init"]) == ""
    ports = '{{ with (index (index .NetworkSettings.Ports "6443/tcp") 0) }}'
    assert main(["inspect", "--format", ports, node.name]) == "127.0.0.1\t6443"
    role = '{{ index .Config.Labels "io.x-k8s.kind.role"}}'
    assert main(["inspect", "--format", role, node.name]) == "control-plane"


def test_the_engine_is_supported_by_kind(node: Path) -> None:
    del node
    assert json.loads(main(["info", "--format", "{{json .}}"]))["CgroupVersion"] == "2"
    assert main(["-v"]).startswith("Docker version")
    assert main(["inspect", "--type=image", "kindest/node:v1.34.0"]) == ""
