"""Released providers are installed, upgraded and deleted over real sockets, and asked by kubectl.

The management cluster is an API server in which nothing runs, as in upstream's recording.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kapy.kube import yaml
from tests.e2e.shell import Shell
from tests.oracle.commands import LISTED
from tests.oracle.management import copy_newer
from tests.oracle.served import kubeconfig_of, served

pytestmark = [
    pytest.mark.sockets,
    pytest.mark.recorded,
]
NOBODY_RUNS_IT = "--wait-providers=false"


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Shell]:
    """Somebody with an empty management cluster and a folder of releases, newer ones among them."""
    copy_newer(tmp_path / "releases")
    providers = [
        {"name": name, "type": kind, "url": f"{tmp_path}/releases/{place}"}
        for name, kind, place in LISTED
    ]
    config = tmp_path / ".config" / "cluster-api" / "clusterctl.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(yaml.dump({"providers": providers}))
    with served() as (url, ca):
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube" / "config").write_text(json.dumps(kubeconfig_of(url, ca)))
        yield Shell(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / ".config")})


def versions(person: Shell) -> dict[str, str]:
    """Return the version of each installed provider, as kubectl reports it."""
    result = person.json("get providers.clusterctl.cluster.x-k8s.io -A")["items"]
    return {item["metadata"]["name"]: item["version"] for item in result}


def test_providers_are_installed_upgraded_and_deleted(person: Shell) -> None:
    arguments = ("--core", "cluster-api:v1.14.0", "-b", "kubeadm:v1.14.0", "-c", "kubeadm:v1.14.0")
    person.ok("kapy", "init", *arguments, "-i", "docker:v1.14.0")
    of_ours = ["cluster-api", "bootstrap-kubeadm", "control-plane-kubeadm", "infrastructure-docker"]
    assert versions(person) == dict.fromkeys(of_ours, "v1.14.0")
    assert "capi-controller-manager" in person.kubectl("get deployments -n capi-system -o name")
    second = person.run("kapy", "init", "-i", "docker:v1.14.0", "--target-namespace", "other")
    assert second.returncode == 1
    assert 'installed in the "capd-system" namespace (v1.14.0)' in second.stderr

    assert "cluster-api             capi-system" in (plan := person.ok("kapy", "upgrade", "plan"))
    assert "v1.15.0" in plan
    person.ok("kapy", "upgrade", "apply", "--contract", "v1beta2", NOBODY_RUNS_IT)
    assert versions(person) == dict.fromkeys(of_ours, "v1.15.0")
    assert "already up to date" in person.ok("kapy", "upgrade", "plan")

    person.ok("kapy", "delete", "--all", "--include-crd", "--include-namespace")
    assert versions(person) == {}
    crds = person.kubectl("get customresourcedefinitions -o name").splitlines()
    assert [text for text in crds if "cluster.x-k8s.io" in text] == [
        "customresourcedefinition.apiextensions.k8s.io/providers.clusterctl.cluster.x-k8s.io"
    ]
