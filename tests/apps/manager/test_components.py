"""Tests of the output of `kapy components` against upstream's release (`tests/data/components`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kapy.apps.manager.components import components_of
from kapy.apps.manager.programs import PROGRAMS
from kapy.apps.manager.release import write_release
from kapy.apps.manager_flags import controller_config, flags_of
from kapy.apps.manifests import sample
from kapy.apps.program.options import flags_of as own_flags_of
from kapy.apps.program.options import parse_options
from kapy.cli.components import components
from kapy.clusterctl.variables import replace_variables
from kapy.kube import Document
from kapy.kube.yaml import load_all
from kapy.testing.conformance.check import check_releases
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.reports import text
from tests.oracle.recorded import SAMPLES

NAMES = pytest.mark.parametrize("name", PROGRAMS)
MORE = {"PodDisruptionBudget", "NetworkPolicy"}


def released(name: str) -> list[Document]:
    """Upstream's objects of the provider, but for CRDs and cert-manager's."""
    document: list[Document] = json.loads((SAMPLES / "components" / f"{name}.json").read_text())
    return document


def printed(name: str) -> list[Document]:
    """Ours, but for CRDs."""
    return [
        component
        for component in components_of(name)
        if component["kind"] != "CustomResourceDefinition"
    ]


def named(objects: list[Document]) -> dict[tuple[str, str], Document]:
    return {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}


@NAMES
def test_objects_have_upstreams_names_and_labels(name: str) -> None:
    ours, theirs = named(printed(name)), named(released(name))
    assert theirs.keys() <= ours.keys()
    added = {kind for kind, _ in ours.keys() - theirs.keys()}
    assert added == MORE | {"Service"}  # where metrics are
    for key, their in theirs.items():
        metadata = ours[key]["metadata"]
        assert metadata["labels"] == without_privileges(their["metadata"]["labels"])
        assert metadata.get("namespace") == their["metadata"].get("namespace")
    [binding] = [our for our in ours.values() if our["kind"] == "ClusterRoleBinding"]
    assert binding == named(released(name))["ClusterRoleBinding", binding["metadata"]["name"]]


def without_privileges(labels: dict[str, str]) -> dict[str, str]:
    """Upstream's Docker provider may do everything; ours does not have to."""
    return {key: value for key, value in labels.items() if not key.startswith("pod-security")}


@NAMES
def test_the_webhooks_are_called_for_the_same_requests_as_upstreams(name: str) -> None:
    ours, theirs = webhooks(printed(name)), webhooks(released(name))
    assert ours == theirs


def webhooks(objects: list[Document]) -> dict[str, list[Document]]:
    """By configuration. A match policy that is not said is a server's usual one."""
    return {
        obj["metadata"]["name"]: [
            {"matchPolicy": "Equivalent", **webhook} for webhook in obj["webhooks"]
        ]
        for obj in objects
        if obj["kind"].endswith("WebhookConfiguration")
    }


def manager(objects: list[Document]) -> tuple[Document, Document]:
    """The pod of the Deployment, and its container."""
    [deployment] = [obj for obj in objects if obj["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    return pod, pod["containers"][0]


@NAMES
def test_managers_get_the_arguments_of_upstreams(name: str) -> None:
    _, ours = manager(printed(name))
    _, theirs = manager(released(name))
    assert told(ours["args"]) >= told(theirs["args"])
    assert ours["ports"] == theirs["ports"]
    assert ours["command"] == ["kapy", "manager", name]
    entries = {item["name"]: item for item in ours["env"]}
    assert [entries[item["name"]] for item in theirs["env"] if "valueFrom" in item] == [
        item for item in theirs["env"] if "valueFrom" in item
    ]


def told(arguments: list[str]) -> set[str]:
    """Every flag, and every feature gate."""
    gates = {
        part for argument in arguments if "gates" in argument for part in argument[16:].split(",")
    }
    return gates | {argument for argument in arguments if "gates" not in argument}


@NAMES
def test_managers_understand_their_arguments(name: str) -> None:
    arguments = replace_variables(json.dumps(manager(printed(name))[1]["args"]), {})
    arguments_of: dict[str, list[str]] = {}
    for item in json.loads(arguments):
        flag, _, value = item.removeprefix("--").partition("=")
        arguments_of[flag] = [value or "true"]
    kind = PROGRAMS[name].manager
    flags, own = ({entry.name for entry in result(kind)} for result in (flags_of, own_flags_of))
    assert arguments_of.keys() <= flags | own
    controller_config({flag: value for flag, value in arguments_of.items() if flag in flags})
    options = parse_options(
        kind, {flag: value for flag, value in arguments_of.items() if flag in own}
    )
    assert options.lease_lengths is not None


@NAMES
def test_pods_may_do_nothing_but_their_work(name: str) -> None:
    pod, container = manager(printed(name))
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
    }
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/tmp"}
    assert {"livenessProbe", "readinessProbe", "resources"} <= container.keys()


@NAMES
def test_network_policies_admit_the_ports_of_the_pods(name: str) -> None:
    _, container = manager(printed(name))
    [policy] = [document for document in printed(name) if document["kind"] == "NetworkPolicy"]
    [ingress] = policy["spec"]["ingress"]
    ports = {port["port"] for port in ingress["ports"]}
    in_memory = {20000} if name == "infrastructure-dev" else set[int]()
    assert ports == {port["name"] for port in container["ports"]} | in_memory


@NAMES
def test_a_release_keeps_the_rules_that_files_show(name: str, tmp_path: Path) -> None:
    place = write_release(name, tmp_path)
    reports = check_releases(place)
    assert not any(report.with_state(State.BROKEN) or report.trouble for report in reports), text(
        reports
    )


def test_the_templates_of_the_release_make_the_samples(tmp_path: Path) -> None:
    place = write_release("infrastructure-dev", tmp_path)
    values = {
        "CLUSTER_NAME": "capybara",
        "NAMESPACE": "default",
        "KUBERNETES_VERSION": "v1.34.0",
        "CONTROL_PLANE_MACHINE_COUNT": "1",
        "WORKER_MACHINE_COUNT": "2",
    }
    plain = objects(replace_variables((place / "cluster-template.yaml").read_text(), values))
    assert [without_notes(document) for document in plain] == [
        without_notes(document) for document in sample()
    ]
    [topology] = objects(
        replace_variables((place / "cluster-template-topology.yaml").read_text(), values)
    )
    [cluster_class] = [
        obj
        for obj in objects((place / "clusterclass-meadow.yaml").read_text())
        if obj["kind"] == "ClusterClass"
    ]
    assert topology["spec"]["topology"]["classRef"]["name"] == cluster_class["metadata"]["name"]


def objects(yaml: str) -> list[Document]:
    return [item for item in load_all(yaml, "release") if isinstance(item, dict)]


def without_notes(document: Document) -> Document:
    metadata: dict[str, Any] = {**document["metadata"], "annotations": {}}
    return {**document, "metadata": metadata}


def test_the_pod_of_the_docker_backend_mounts_the_engine_socket_on_request() -> None:
    name, socket = "infrastructure-dev", "/run/podman/podman.sock"
    objects = components_of(name, engine_socket=socket)
    pod, container = manager(objects)
    [mount] = [item for item in container["volumeMounts"] if item["name"] != "tmp"]
    [volume] = [item for item in pod["volumes"] if item["name"] == mount["name"]]
    assert volume["hostPath"] == {"path": socket, "type": "Socket"}
    entries = {item["name"]: item.get("value") for item in container["env"]}
    assert entries["DOCKER_HOST"] == f"unix://{mount['mountPath']}"
    for context in (pod["securityContext"], container["securityContext"]):
        assert context["runAsUser"] == 0  # the socket is root's
        assert context["runAsNonRoot"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    [namespace] = [obj for obj in objects if obj["kind"] == "Namespace"]
    [theirs] = [document for document in released(name) if document["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"] == theirs["metadata"]["labels"]
    usual = named(components_of(name))
    changed = [key for key, document in named(objects).items() if document != usual[key]]
    assert sorted(kind for kind, _ in changed) == ["Deployment", "Namespace"]


@pytest.mark.parametrize(
    ("name", "socket", "said"),
    [
        ("core", "/var/run/docker.sock", "is for infrastructure-dev, not for core"),
        ("infrastructure-dev", "unix:///var/run/docker.sock", "without unix://"),
    ],
)
def test_a_socket_that_cannot_be_mounted_is_refused(name: str, socket: str, said: str) -> None:
    result = CliRunner().invoke(components, [name, "--engine-socket", socket])
    assert result.exit_code == 2
    assert said in result.output


def test_a_release_mounts_the_requested_socket(tmp_path: Path) -> None:
    arguments = ["--release", str(tmp_path), "--engine-socket", "/run/engine.sock"]
    result = CliRunner().invoke(components, ["infrastructure-dev", *arguments])
    assert result.exit_code == 0, result.output
    [file] = tmp_path.rglob("infrastructure-components.yaml")
    [deployment] = [item for item in load_all(file.read_text()) if item["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    mounted = [volume.get("hostPath") for volume in pod["volumes"]]
    assert {"path": "/run/engine.sock", "type": "Socket"} in mounted
