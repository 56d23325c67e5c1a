"""Tests of the permissions of a new extension: its release grants only those that it needs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kapy.apps.extension_server.project import make_extension
from kapy.kube import Document


@pytest.fixture
def released(tmp_path: Path) -> dict[str, Document]:
    """The objects of its release, by kind."""
    make_extension("quota", tmp_path / "quota")
    text = (tmp_path / "quota" / "runtime-extension-components.yaml").read_text()
    return {item["kind"]: item for item in yaml.safe_load_all(text)}


def test_pods_of_an_extension_have_no_privileges(released: dict[str, Document]) -> None:
    namespace = released["Namespace"]["metadata"]["labels"]
    assert namespace["pod-security.kubernetes.io/enforce"] == "restricted"
    pod = released["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)


def test_the_account_of_an_extension_reads_and_writes_one_secret(
    released: dict[str, Document],
) -> None:
    pod = released["Deployment"]["spec"]["template"]["spec"]
    account = released["ServiceAccount"]["metadata"]["name"]
    assert pod["serviceAccountName"] == account
    (subject,) = released["RoleBinding"]["subjects"]
    assert (subject["kind"], subject["name"]) == ("ServiceAccount", account)
    assert "ClusterRole" not in released
    rights = [(rule["resources"], rule.get("resourceNames")) for rule in released["Role"]["rules"]]
    assert rights == [(["secrets"], ["quota-tls"]), (["secrets"], None)]
    assert released["Role"]["rules"][1]["verbs"] == ["create"]


def test_only_the_core_manager_may_call_an_extension(released: dict[str, Document]) -> None:
    (rule,) = released["NetworkPolicy"]["spec"]["ingress"]
    (caller,) = rule["from"]
    labels = {"cluster.x-k8s.io/provider": "cluster-api"}
    assert caller == {"namespaceSelector": {"matchLabels": labels}}
