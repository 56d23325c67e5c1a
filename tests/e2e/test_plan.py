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
        for one in parents:
            inner = inner[one]
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
WAYS = {
    "client": "apply -f -",
    "server": "apply -f - --server-side",
    "created": "create -f -",
    "argo": "apply -f - --server-side --field-manager=argo",
}
FOREIGN = '{"metadata":{"annotations":{"foreign":"1"},"labels":{"other":"1"}}}'


@pytest.fixture(scope="module")
def clusters(person: Shell) -> Iterator[dict[str, list[str]]]:
    """A Cluster for every file and way, with fields of somebody else: their names by way."""
    names = {way: [f"{way}-{file}" for file in FILES] for way in WAYS}
    for way, line in WAYS.items():
        person.kubectl(line, text=dump_all([named(FIRST, one) for one in names[way]]))
    every = [one for some in names.values() for one in some]
    person.ok("kubectl", "patch", "cluster", *every, "--type=merge", "-p", FOREIGN)
    yield names
    remove(person, *every)


def remove(person: Shell, *names: str) -> None:
    person.kubectl(f"delete cluster {' '.join(names)} --wait=false")


def named(document: Document, name: str) -> Document:
    return {**document, "metadata": {"name": name, **document["metadata"]}}


@pytest.mark.parametrize("way", WAYS)
def test_a_plan_is_what_kubectl_apply_does(
    person: Shell, clusters: dict[str, list[str]], way: str
) -> None:
    again = {
        "server": "apply -f - --server-side",
        "argo": "apply -f - --server-side --field-manager=argo",
    }.get(way, "apply -f -")
    file = dump_all(
        [named(one, name) for one, name in zip(FILES.values(), clusters[way], strict=True)]
    )
    done = person.run("kapy", "plan", "-o", "json", "-f", "-", text=file)
    assert done.returncode == 2, done.stderr
    plan = json.loads(done.stdout)
    assert plan["problems"] == []
    planned = {
        one["name"]: shown(one["object"]) for stage in plan["stages"] for one in stage["changes"]
    }
    before = {name: shown(one) for name, one in live(person, way).items()}
    person.kubectl(again, text=file)
    after = {name: shown(one) for name, one in live(person, way).items()}
    assert planned == {name: one for name, one in after.items() if one != before[name]}
    assert f"{way}-same" not in planned
    unchanged = person.run("kapy", "plan", "-f", "-", text=file)
    assert (unchanged.returncode, unchanged.stdout) == (
        0,
        "Nothing to do: everything is as it should be.\n",
    )


def live(person: Shell, way: str) -> dict[str, Document]:
    found = person.json("get clusters")["items"]
    return {
        one["metadata"]["name"]: one for one in found if one["metadata"]["name"].startswith(way)
    }


def shown(document: Document) -> Document:
    """What people decide."""
    metadata = document["metadata"]
    notes = {key: one for key, one in metadata["annotations"].items() if key != LAST_APPLIED}
    return {"labels": metadata.get("labels"), "annotations": notes, "spec": document["spec"]}


def test_what_kubectl_apply_would_refuse_is_refused(person: Shell) -> None:
    typo = dump_all([named(changed(spec__pausd=True), "typo")])
    for tool in ("kubectl apply -f -", "kapy plan -f -"):
        done = person.run(*tool.split(), text=typo)
        assert done.returncode == 1, tool
        assert 'unknown field "spec.pausd"' in done.stderr, tool


def test_a_conflict_of_a_server_side_apply_is_told(person: Shell) -> None:
    apply = "apply -f - --server-side"
    person.kubectl(apply, text=dump_all([named(FIRST, "conflict")]))
    host = '{"spec":{"controlPlaneEndpoint":{"host":"10.0.0.9"}}}'
    person.ok("kubectl", "patch", "cluster", "conflict", "--type=merge", "-p", host)
    for tool in (f"kubectl {apply}", "kapy plan -f -"):
        done = person.run(*tool.split(), text=dump_all([named(FIRST, "conflict")]))
        assert done.returncode == 1, tool
        assert "Apply failed with 1 conflict" in done.stderr, tool
    remove(person, "conflict")
