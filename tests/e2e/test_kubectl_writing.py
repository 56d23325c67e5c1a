"""kubectl's verbs that write: in every way in which people write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.e2e.habits import Habit, follow, no
from tests.e2e.shell import Shell

pytestmark = pytest.mark.sockets

NOTES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {app: notes}}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, labels: {app: notes}}
data: {a: "1"}
"""
ONE, TWO = NOTES.split("---")
CHANGED = ONE.replace('"1"', '"2"')


@pytest.fixture
def space(person: Shell, request: pytest.FixtureRequest) -> Iterator[str]:
    """Options for a namespace of the test's own."""
    name = request.node.name.replace("_", "-")[:63].strip("-")
    person.kubectl(f"create namespace {name}")
    yield f"-n {name}"
    person.kubectl(f"delete namespace {name} --timeout 20s")


def test_kubectl_applies_on_the_client_side(person: Shell, space: str) -> None:
    follow(
        person,
        no("diff -f -", r"^$", text=NOTES),  # it only exits with 1
        Habit("apply -f - --dry-run=server", r"one created \(server dry run\)$", text=NOTES),
        Habit("apply -f -", r"^configmap/two created$", text=NOTES),
        Habit("diff -f -", r"^$", text=NOTES),
        Habit("apply -f -", r"^configmap/two unchanged$", text=NOTES),
        Habit("apply -f -", r"^configmap/one configured$", text=CHANGED),
        Habit("apply view-last-applied cm one", r'^  a: "2"$'),
        Habit("get cm one -o jsonpath='{.data}'", r'^{"a":"2"}$'),
        Habit("apply -f - --prune -l app=notes", r"^configmap/two pruned$", text=ONE),
        Habit("apply -f -", r"two created$", text=NOTES),
        Habit(
            "apply -f - --prune -l app=notes --prune-allowlist core/v1/ConfigMap",
            r"^configmap/one pruned$",
            text=TWO,
        ),
        Habit("get cm -l app=notes -o name", r"^configmap/two$"),
        at=space,
    )


def test_kubectl_prunes_with_an_applyset(person: Shell, space: str) -> None:
    follow(
        replace(person, more={"KUBECTL_APPLYSET": "true"}),
        Habit("apply -f - --prune --applyset=mine", r"two created$", text=NOTES),
        Habit("apply -f - --prune --applyset=mine", r"two pruned$", text=ONE),
        Habit("get secret mine -o yaml", r"applyset.kubernetes.io/contains-group-kinds: ConfigMap"),
        at=space,
    )


def test_kubectl_applies_on_the_server_side(person: Shell, space: str) -> None:
    follow(
        person,
        Habit("apply --server-side -f -", r"one serverside-applied$", text=ONE),
        no(
            "apply --server-side --field-manager other -f -",
            r'conflict with "kubectl": \.data\.a$',
            text=CHANGED,
        ),
        Habit(
            "apply --server-side --field-manager other --force-conflicts -f -",
            r"serverside-applied$",
            text=CHANGED,
        ),
        Habit("diff --server-side --field-manager other -f -", r"^$", text=CHANGED),
        Habit("get cm one -o jsonpath='{.data.a}'", r"^2$"),
        at=space,
    )


def test_kubectl_applies_a_kustomization(person: Shell, space: str) -> None:
    folder = person.home / "kustomized"
    folder.mkdir()
    (folder / "notes.yaml").write_text(NOTES)
    (folder / "kustomization.yaml").write_text("resources: [notes.yaml]\nnamePrefix: my-\n")
    follow(
        person,
        Habit("kustomize kustomized", r"^  name: my-one$"),
        Habit("apply -k kustomized", r"^configmap/my-two created$"),
        Habit("diff -k kustomized", r"^$"),
        Habit("delete -k kustomized", r'^configmap "my-two" deleted'),
        at=space,
    )


def test_kubectl_replaces_patches_and_labels(person: Shell, space: str) -> None:
    follow(
        person,
        Habit("create -f -", r"one created$", text=NOTES),
        no("create -f -", r'configmaps "one" already exists', text=NOTES),
        Habit("replace -f -", r"one replaced$", text=CHANGED),
        Habit("replace --force -f -", r"one replaced$", text=ONE),
        Habit("""patch cm one -p '{"data":{"b":"2"}}'""", r"patched$"),
        Habit("""patch cm one -p '{"data":{"b":"2"}}'""", r"patched \(no change\)$"),
        Habit("""patch cm one --type merge -p '{"data":{"a":null}}'""", r"patched$"),
        Habit(
            """patch cm one --type json -p '[{"op":"test","path":"/data","value":{"b":"2"}}]'""",
            r"no change",
        ),
        Habit("label cm one x=y", r"labeled$"),
        no("label cm one x=z", r"already has a value"),
        Habit("label cm one x=z --overwrite", r"labeled$"),
        Habit("label cm one x-", r"unlabeled$"),
        Habit("annotate cm -l app=notes k=v", r"two annotated$"),
        Habit("delete cm one --cascade=foreground", r"deleted"),
        Habit("delete cm -l app=notes --cascade=orphan", r'"two" deleted'),
        Habit("delete cm nobody --ignore-not-found", r"^$"),
        no("delete cm nobody", r"not found"),
        Habit("create cm one", r"created$"),
        Habit("delete cm --all --wait=false", r'"one" deleted'),
        at=space,
    )


def test_kubectl_creates_objects(person: Shell, space: str) -> None:
    follow(
        person,
        Habit("create secret generic s --from-literal a=b", r"created$"),
        Habit("get secret s -o jsonpath='{.data.a}'", r"^Yg==$"),
        Habit(
            "create secret docker-registry d --docker-server x --docker-username u "
            "--docker-password p",
            r"created$",
        ),
        Habit("create sa robot", r"created$"),
        Habit("create token robot", r"^ey.*\..*\."),
        Habit("create token default --duration 20m", r"^ey.*\..*\."),
        no("create token nobody", r'serviceaccounts "nobody" not found'),
        Habit("create role r --verb get --resource pods", r"created$"),
        Habit("create rolebinding b --role r --serviceaccount x:y", r"created$"),
        Habit("create quota q --hard pods=1", r"created$"),
        Habit("create pdb p --selector a=b --min-available 1", r"created$"),
        Habit("get pdb p", r"^p +1 +N/A +0 "),
        Habit("create deployment web --image nginx --replicas 3", r"created$"),
        Habit("scale deployment web --replicas 2 --current-replicas 3", r"scaled$"),
        Habit("set image deployment/web nginx=nginx:2", r"image updated$"),
        Habit("expose deployment web --port 80", r"exposed$"),
        Habit("create job j --image x", r"created$"),
        Habit("get deploy,svc,jobs", r"^job.batch/j +Running +0/1 "),
        at=space,
    )


def editing(person: Shell, before: str, after: str) -> Shell:
    """Somebody whose editor puts other words in."""
    path = person.home / "editor"
    path.write_text(f'#!/bin/sh\nsed -i "s/{before}/{after}/" "$1"\n')
    path.chmod(0o755)
    return replace(person, more={"KUBE_EDITOR": str(path)})


def test_kubectl_edits_objects(person: Shell, space: str) -> None:
    follow(
        editing(person, "namespace: ", r"labels: {edited: as}\n  namespace: "),
        Habit("create cm one", r"created$"),
        Habit("edit cm one", r"edited$"),
        Habit("get cm -l edited=as -o name", r"^configmap/one$"),
        at=space,
    )


def test_kubectl_uses_subresources_of_a_custom_kind(person: Shell) -> None:
    follow(
        editing(person, "phase: one", "phase: two"),
        Habit("apply -f -", r"created$", text=json.dumps(HERDS)),
        Habit("wait crd herds.kubectl.dev --for=condition=Established", r"met$"),
        Habit("create -f -", r"created$", text=HERD),
        Habit(
            """patch herd h --subresource status --type merge -p '{"status":{"phase":"one"}}'""",
            r"patched$",
        ),
        Habit("edit herd h --subresource status", r"edited$"),
        Habit("get herd h -o jsonpath='{.status.phase} {.metadata.generation}'", r"^two 1$"),
        Habit(
            """patch herd h --subresource scale --type merge -p '{"spec":{"replicas":4}}'""",
            r"patched$",
        ),
        Habit("scale herd h --replicas 5", r"scaled$"),
        Habit("get herds", r"^NAME +SIZE$\n^h +5$"),
        Habit("explain herd.spec", r"^  size\t<integer>$"),
        no("create -f -", r"spec.size: Invalid value", text=HERD.replace("size: 1", "size: big")),
        no("create -f -", r'unknown field "spec.sise"', text=HERD.replace("size: 1", "sise: 1")),
        Habit("delete crd herds.kubectl.dev", r"deleted"),
        no("get herds", r"doesn't have a resource type|could not find the requested resource"),
    )


HERD = """
apiVersion: kubectl.dev/v1
kind: Herd
metadata: {name: h, namespace: default}
spec: {size: 1}
"""
_SIZED = {"type": "object", "properties": {"size": {"type": "integer"}}}
_TOLD = {
    "type": "object",
    "properties": {"phase": {"type": "string"}, "size": {"type": "integer"}},
}
HERDS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "herds.kubectl.dev"},
    "spec": {
        "group": "kubectl.dev",
        "scope": "Namespaced",
        "names": {"plural": "herds", "singular": "herd", "kind": "Herd"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
                ],
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.size",
                        "statusReplicasPath": ".status.size",
                    },
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": _SIZED, "status": _TOLD},
                    }
                },
            }
        ],
    },
}
