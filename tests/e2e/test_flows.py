"""The flows of a cluster's life with the real kubectl, against a plane in a process of its own."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kapy.apps.manifests import sample
from tests.e2e.shell import Shell

WORKERS = "machinedeployment/capybara-md-0"
PLANES = "kubeadmcontrolplane/capybara-control-plane"
NOT_WORKERS = "cluster.x-k8s.io/control-plane"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A plane that `kapy quickstart --detach` left running, and its cluster `capybara`, which no
    topology decides about."""
    shell = Shell(tmp_path_factory.mktemp("home"))
    (shell.home / "mine.yaml").write_text(json.dumps({"kind": "List", "items": sample()}))
    shell.ok("kapy", "quickstart", "--detach", "--port", "0", "--file", "mine.yaml")
    yield shell
    assert "stopped" in shell.ok("kapy", "down")


def settled(shell: Shell, what: str, replicas: int) -> None:
    """Wait until all counters of an object are as many as wanted."""
    counters = ("replicas", "readyReplicas", "availableReplicas", "upToDateReplicas")
    for name in counters:
        shell.kubectl(f"wait {what} --for=jsonpath={{.status.{name}}}={replicas} --timeout=300s")
    shell.kubectl(f"wait {what} --for=condition=Available --timeout=300s")


def machines(shell: Shell, selector: str) -> list[Any]:
    results: list[Any] = shell.json(f"get machines -l {selector}")["items"]
    return results


def workload(shell: Shell) -> str:
    """The path of the workload cluster's kubeconfig."""
    path = shell.home / "capybara.kubeconfig"
    path.write_text(shell.ok("kapy", "get", "kubeconfig", "capybara"))
    return str(path)


def nodes(shell: Shell) -> list[str]:
    listed = shell.json(f"--kubeconfig {workload(shell)} get nodes")["items"]
    return sorted(item["metadata"]["name"] for item in listed)


@pytest.mark.sockets
class TestFlows:
    """One cluster's life, in order."""

    def test_the_sample_cluster_is_available(self, shell: Shell) -> None:
        assert "capybara" in shell.kubectl("get clusters,machines -A")
        assert "Available" in shell.kubectl("describe cluster capybara")
        shell.kubectl("wait --for=condition=Available cluster/capybara --timeout=300s")
        assert "KubeadmControlPlane" in shell.kubectl("api-resources")
        assert "controlPlaneRef" in shell.kubectl("explain cluster.spec")
        tree = shell.ok("kapy", "describe", "cluster", "capybara")
        assert "3/3" in tree
        document = json.loads(shell.ok("kapy", "describe", "cluster", "capybara", "-o", "json"))
        assert [child["kind"] for child in document["children"]][:2] == [
            "DevCluster",
            "KubeadmControlPlane",
        ]

    def test_the_workload_cluster_answers_kubectl(self, shell: Shell) -> None:
        at = f"--kubeconfig {workload(shell)}"
        listed = shell.json("get machines")["items"]
        assert nodes(shell) == sorted(item["status"]["nodeRef"]["name"] for item in listed)
        assert "kube-apiserver" in shell.kubectl(f"{at} get pods -A")
        assert "kubeadm-config" in shell.kubectl(f"{at} get cm -A")
        assert "Ready" in shell.kubectl(f"{at} get nodes")

    def test_events_report_the_life_of_a_cluster(self, shell: Shell) -> None:
        assert "Created Machine" in shell.kubectl("get events")

    def test_a_watch_sees_changes_as_they_come(self, shell: Shell) -> None:
        command = [
            "kubectl",
            "get",
            "cluster",
            "capybara",
            "-w",
            "-o",
            "jsonpath={.metadata.labels.seen}.",
        ]
        with subprocess.Popen(
            command, env=shell.environ, stdout=subprocess.PIPE, text=True
        ) as watching:
            assert watching.stdout is not None
            assert watching.stdout.read(1) == "."
            shell.kubectl("label cluster capybara seen=yes")
            assert watching.stdout.read(4) == "yes."
            watching.terminate()

    def test_kubectl_edit_and_patch_work(self, shell: Shell) -> None:
        editor = shell.home / "editor"
        editor.write_text('#!/bin/sh\nsed -i "s/seen: .*/seen: edited/" "$1"\n')
        editor.chmod(0o755)
        done = subprocess.run(
            ["kubectl", "edit", "cluster", "capybara"],
            env={**shell.environ, "KUBE_EDITOR": str(editor)},
            check=False,
            capture_output=True,
            text=True,
        )
        assert "edited" in done.stdout, done.stderr
        assert shell.json("get cluster capybara")["metadata"]["labels"]["seen"] == "edited"
        shell.kubectl(
            'patch cluster capybara --type json -p [{"op":"remove","path":"/metadata/labels/seen"}]'
        )
        assert "labels" not in shell.json("get cluster capybara")["metadata"]

    def test_kubectl_applies_client_side_and_server_side(self, shell: Shell) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "note"},
            "data": {"a": "1"},
        }
        assert "created" in shell.kubectl("apply -f -", json.dumps(config))
        config["data"] = {"b": "2"}
        assert "configured" in shell.kubectl("apply -f -", json.dumps(config))
        assert shell.json("get cm note")["data"] == {"b": "2"}
        # A manager of its own may not take what another one set, unless forced.
        config["data"] = {"b": "3"}
        refused = shell.run(
            *["kubectl", "apply", "--server-side", "--field-manager", "other", "-f", "-"],
            text=json.dumps(config),
        )
        assert refused.returncode == 1
        assert ".data.b" in refused.stderr
        shell.kubectl("apply --server-side --force-conflicts -f -", json.dumps(config))
        assert shell.json("get cm note")["data"] == {"b": "3"}
        shell.kubectl("delete cm note")

    def test_an_invalid_object_is_refused_with_its_field(self, shell: Shell) -> None:
        (cluster,) = (document for document in sample() if document["kind"] == "Cluster")
        wrong = {**cluster, "metadata": {"name": "wrong"}, "spec": {"paused": "maybe"}}
        refused = shell.run("kubectl", "apply", "-f", "-", text=json.dumps(wrong))
        assert refused.returncode == 1
        assert "spec.paused" in refused.stderr
        process = shell.run("kubectl", "get", "cluster", "wrong")
        assert '"wrong" not found' in process.stderr

    def test_workers_scale_out_and_in(self, shell: Shell) -> None:
        for replicas in (10, 1, 2):
            shell.kubectl(f"scale machinedeployment capybara-md-0 --replicas {replicas}")
            settled(shell, WORKERS, replicas)
            assert len(nodes(shell)) == 1 + replicas

    def test_a_new_template_replaces_the_workers(self, shell: Shell) -> None:
        before = {machine["metadata"]["name"] for machine in machines(shell, f"!{NOT_WORKERS}")}
        (template,) = (
            document
            for document in sample()
            if document["kind"] == "DevMachineTemplate"
            and document["metadata"]["name"] == "capybara-md-0"
        )
        template["metadata"]["name"] = "capybara-md-0-next"
        shell.kubectl("apply -f -", json.dumps(template))
        patch = {
            "spec": {"template": {"spec": {"infrastructureRef": {"name": "capybara-md-0-next"}}}}
        }
        shell.ok(
            *("kubectl", "patch", WORKERS, "--type", "merge", "-p"),
            json.dumps(patch, separators=(",", ":")),
        )
        generation = shell.json(f"get {WORKERS}")["metadata"]["generation"]
        shell.kubectl(f"wait {WORKERS} --for=jsonpath={{.status.observedGeneration}}={generation}")
        settled(shell, WORKERS, 2)
        after = {machine["metadata"]["name"] for machine in machines(shell, f"!{NOT_WORKERS}")}
        assert not before & after

    def test_the_control_plane_scales_out_and_in(self, shell: Shell) -> None:
        for replicas in (3, 1):
            patch = f'{{"spec":{{"replicas":{replicas}}}}}'
            shell.kubectl(f"patch {PLANES} --type merge -p {patch}")
            settled(shell, PLANES, replicas)
            assert len(nodes(shell)) == replicas + 2

    def test_the_control_plane_upgrades(self, shell: Shell) -> None:
        shell.kubectl(f'patch {PLANES} --type merge -p {{"spec":{{"version":"v1.35.0"}}}}')
        shell.kubectl(f"wait {PLANES} --for=jsonpath={{.status.version}}=v1.35.0 --timeout=300s")
        settled(shell, PLANES, 1)
        (machine,) = machines(shell, NOT_WORKERS)
        assert machine["spec"]["version"] == "v1.35.0"

    def test_deletion_leaves_nothing_behind(self, shell: Shell) -> None:
        shell.kubectl("delete cluster capybara --timeout=300s")
        kinds = (
            "clusters,machines,machinesets,machinedeployments,kubeadmcontrolplanes,"
            "kubeadmconfigs,devclusters,devmachines,secrets"
        )
        assert shell.json(f"get {kinds}")["items"] == []

    def test_files_can_be_read_by_their_owner_only(self, shell: Shell) -> None:
        folder, kube = shell.home / "kapy" / "quickstart", shell.home / ".kube"
        ours = [folder, *folder.rglob("*"), kube, kube / "config"]  # not kubectl's own cache
        assert len(ours) > 4
        for path in ours:
            expected = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == expected, path

    def test_status_and_logs_tell_of_the_plane(self, shell: Shell) -> None:
        document = json.loads(shell.ok("kapy", "status", "-o", "json"))
        assert document["running"]
        assert Path(document["kubeconfig"]) == shell.home / ".kube" / "config"
        assert document["server"] in shell.ok("kapy", "status")
        assert document["server"] in shell.ok("kapy", "logs")
        again = shell.run("kapy", "quickstart", "--detach")
        assert again.returncode == 1
        assert "kapy down" in again.stderr
