"""Projects that are begun: names, folders, and what is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kapy.apps.extension_server.project import make_extension
from kapy.apps.new_project import CannotMake
from kapy.kube.yaml import load_all


@pytest.mark.parametrize("name", ["", "Gate", "gate_1", "-gate", "gate-", "1gate", 41 * "g", "./g"])
def test_names_that_nothing_can_be_called_by(name: str, tmp_path: Path) -> None:
    with pytest.raises(CannotMake, match="cannot be the name of a project"):
        make_extension(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    for folder in (tmp_path, mine):
        with pytest.raises(CannotMake, match="is there already; name a new folder with --folder"):
            make_extension("gate", folder)
    assert [one.name for one in tmp_path.iterdir()] == ["mine"]


def test_what_an_extension_may_is_little(tmp_path: Path) -> None:
    """What the conformance check does not ask for."""
    make_extension("gate", tmp_path / "gate")
    text = (tmp_path / "gate" / "runtime-extension-components.yaml").read_text()
    objects = {one["kind"]: one for one in load_all(text, "components")}
    assert objects["Role"]["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["gate-tls"],
            "verbs": ["get", "list", "watch", "update"],
        },
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
    ]
    assert not {"ClusterRole", "ClusterRoleBinding"} & set(objects)
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (container["name"], objects["Deployment"]["spec"]["replicas"]) == ("manager", 2)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["securityContext"]["runAsNonRoot"] is True
    annotations = objects["ExtensionConfig"]["metadata"]["annotations"]
    secret = annotations["runtime.cluster.x-k8s.io/inject-ca-from-secret"]
    assert f"--tls-secret={secret}" in container["args"]
