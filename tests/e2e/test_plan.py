"""`kapy plan` foretells what the real `kubectl apply` does, however an object was applied."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from kapy.kube import Document
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.kube.yaml import dump_all
from tests.e2e.shell import Shell

pytestmark = pytest.mark.sockets

FIRST: Document = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Cluster",
    "metadata": {"labels": {"kept": "1", "dropped": "1"}, "annotations": {"note": "<a> & b"}},
    "spec": {
        "infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "DevCluster",
            "name": "none",
        },
        "controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443},
        "clusterNetwork": {
            "pods": {"cidrBlocks": ["10.0.0.0/16", "10.1.0.0/16"]},
            "serviceDomain": "cluster.local",
        },
        "availabilityGates": [{"conditionType": "A"}, {"conditionType": "B"}],
    },
}


def changed(**paths: Any) -> Document:
    """The first manifest with other values: `spec__pausd=True`; None removes a field."""
    document = deepcopy(FIRST)
    for path, value in paths.items():
        *parents, last = path.split("__")
        inner = document
        for parent in parents:
            inner = inner[parent]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return document


FILES = {
    "same": FIRST,
    "removed": changed(
        metadata__labels=None, metadata__annotations=None, spec__availabilityGates=None
    ),
    "one-label": changed(metadata__labels__dropped=None, metadata__labels__kept="2"),
    "lists": changed(
        spec__clusterNetwork__pods__cidrBlocks=["10.1.0.0/16"],
        spec__availabilityGates=[{"conditionType": "B"}, {"conditionType": "C"}],
    ),
    "nested": changed(
        metadata__annotations={"note": "x"}, spec__clusterNetwork={"serviceDomain": "x.y"}
    ),
}
SERVER = "--server-side"
ARGO = "--server-side --field-manager=argo"
TAKEN = "--server-side --force-conflicts --field-manager=other"
WAYS = {
    "client": ("apply -f -", "", ""),
    "server": (f"apply -f - {SERVER}", SERVER, ""),
    "created": ("create -f -", "", ""),
    "argo": (f"apply -f - {ARGO}", ARGO, ""),
    "migrated": ("apply -f -", SERVER, SERVER),
    "renamed": ("apply -f -", f"{ARGO} --force-conflicts", f"{ARGO} --force-conflicts"),
    "taken": (f"apply -f - {ARGO}", TAKEN, TAKEN),
    "back": (f"apply -f - {SERVER}", "--field-manager=me", "--field-manager=me"),
}
"""The commands that create an object and apply it again, and the options of the plan."""
FOREIGN = '{"metadata":{"annotations":{"foreign":"1"},"labels":{"other":"1"}}}'


@pytest.fixture(scope="module")
def clusters(person: Shell) -> Iterator[dict[str, list[str]]]:
    """A Cluster for every file and way, with fields of somebody else: their names by way."""
    names = {way: [f"{way}-{file}" for file in FILES] for way in WAYS}
    for way, (line, _, _) in WAYS.items():
        person.kubectl(line, text=dump_all([named(FIRST, text) for text in names[way]]))
    entry = [text for some in names.values() for text in some]
    person.ok("kubectl", "patch", "cluster", *entry, "--type=merge", "-p", FOREIGN)
    yield names
    remove(person, *entry)


def remove(person: Shell, *names: str) -> None:
    person.kubectl(f"delete cluster {' '.join(names)} --wait=false")


def named(document: Document, name: str) -> Document:
    return {**document, "metadata": {"name": name, **document["metadata"]}}


@pytest.mark.parametrize("way", WAYS)
def test_a_plan_predicts_kubectl_apply(
    person: Shell, clusters: dict[str, list[str]], way: str
) -> None:
    _, again, message = WAYS[way]
    file = dump_all(
        [
            named(document, name)
            for document, name in zip(FILES.values(), clusters[way], strict=True)
        ]
    )
    done = person.run_here("plan", *message.split(), "-o", "json", "-f", "-", text=file)
    assert done.returncode == 2, done.stderr
    plan = json.loads(done.stdout)
    assert plan["problems"] == []
    planned = {
        change["name"]: shown(change["object"])
        for stage in plan["stages"]
        for change in stage["changes"]
    }
    before = {name: shown(document) for name, document in live(person, way).items()}
    person.kubectl(f"apply -f - {again}", text=file)
    after = {name: shown(document) for name, document in live(person, way).items()}
    assert planned == {
        name: document for name, document in after.items() if document != before[name]
    }
    assert f"{way}-same" not in planned
    unchanged = person.run_here("plan", *message.split(), "-f", "-", text=file)
    assert (unchanged.returncode, unchanged.stdout) == (
        0,
        "Nothing to do: everything is as it should be.\n",
    )


def live(person: Shell, way: str) -> dict[str, Document]:
    result = person.json("get clusters")["items"]
    return {
        item["metadata"]["name"]: item
        for item in result
        if item["metadata"]["name"].startswith(way)
    }


def shown(document: Document) -> Document:
    """Return the parts of an object that users set: labels, annotations and spec."""
    metadata = document["metadata"]
    notes = {
        key: annotation
        for key, annotation in metadata["annotations"].items()
        if key != LAST_APPLIED
    }
    return {"labels": metadata.get("labels"), "annotations": notes, "spec": document["spec"]}


def test_plan_refuses_what_kubectl_apply_refuses(person: Shell) -> None:
    typo = dump_all([named(changed(spec__pausd=True), "typo")])
    for tool in ("kubectl apply -f -", "kapy plan -f -"):
        done = person.run(*tool.split(), text=typo)
        assert done.returncode == 1, tool
        assert 'unknown field "spec.pausd"' in done.stderr, tool


def test_a_conflict_of_a_server_side_apply_is_reported(person: Shell) -> None:
    apply = "apply -f - --server-side"
    person.kubectl(apply, text=dump_all([named(FIRST, "conflict")]))
    host = '{"spec":{"controlPlaneEndpoint":{"host":"10.0.0.9"}}}'
    person.ok("kubectl", "patch", "cluster", "conflict", "--type=merge", "-p", host)
    for tool in (f"kubectl {apply}", "kapy plan -f -", "kapy plan --server-side -f -"):
        done = person.run(*tool.split(), text=dump_all([named(FIRST, "conflict")]))
        assert done.returncode == 1, tool
        assert "Apply failed with 1 conflict" in done.stderr, tool
    forced = "kapy plan --server-side --force-conflicts -f -"
    done = person.run(*forced.split(), text=dump_all([named(FIRST, "conflict")]))
    assert (done.returncode, done.stderr) == (2, "")
    assert "10.0.0.9" in done.stdout
    remove(person, "conflict")


CONTAINER: Document = {"name": "own", "image": "a", "env": [{"name": "A", "value": "1"}]}
DEPLOYMENT: Document = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "built-in", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [CONTAINER, {"name": "goes", "image": "b"}]},
        },
    },
}


def test_lists_of_built_in_kinds_are_merged_by_their_keys(person: Shell) -> None:
    person.kubectl("apply -f -", text=dump_all([DEPLOYMENT]))
    injected = {
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {"name": "injected", "image": "c"},
                        {"name": "own", "env": [{"name": "B", "value": "2"}]},
                    ]
                }
            }
        }
    }
    person.ok("kubectl", "patch", "deployment", "built-in", "-p", json.dumps(injected))
    wanted = deepcopy(DEPLOYMENT)
    wanted["spec"]["template"]["spec"]["containers"] = [{**CONTAINER, "image": "d"}]
    file = dump_all([wanted])
    done = person.run_here("plan", "-o", "json", "-f", "-", text=file)
    assert done.returncode == 2, done.stderr
    (stage,) = json.loads(done.stdout)["stages"]
    (change,) = stage["changes"]
    before = person.json("get deployment built-in")
    person.kubectl("apply -f -", text=file)
    after = person.json("get deployment built-in")
    assert change["object"]["spec"] == after["spec"] != before["spec"]
    names = [container["name"] for container in after["spec"]["template"]["spec"]["containers"]]
    assert sorted(names) == ["injected", "own"]
    unchanged = person.run_here("plan", "-f", "-", text=file)
    assert unchanged.returncode == 0, unchanged.stdout
    person.kubectl("delete deployment built-in --wait=false")


def test_flags_that_do_not_go_together_are_refused(person: Shell) -> None:
    for flags in ("--force-conflicts", "--delete --server-side", "--delete --field-manager=me"):
        done = person.run_here("plan", *flags.split(), "-f", "-", text=dump_all([FIRST]))
        assert done.returncode == 1, flags
        assert "Error: --" in done.stderr, flags
