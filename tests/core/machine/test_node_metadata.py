"""Tests of the labels, annotations and taints that are synchronized from a Machine to its Node."""

from __future__ import annotations

from typing import Any

from kapy.api.machine import Machine
from kapy.core.machine.node_metadata import (
    OUTDATED,
    UNINITIALIZED,
    NodeMetadataInput,
    SyncedMetadata,
    node_patch,
)
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.kube.patch.merge_patch import apply
from kapy.kube.regexp import compile_pattern

USUALLY = NodeMetadataInput()
REFERENCE = {"apiGroup": "x.example.com", "kind": "Thing", "name": "m"}


def machine(taints: list[Document] | None = None, **metadata: Any) -> Machine:
    spec: Document = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE}
    spec["taints"] = taints or []
    owner = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "name": "ms",
        "uid": "u",
        "controller": True,
    }
    identity = {"name": "m", "namespace": "ns", "ownerReferences": [owner]}
    return read({"metadata": {**identity, **metadata}, "spec": spec}, Machine)


def node(taints: list[Document] | None = None, **metadata: Any) -> Document:
    spec = {"taints": taints} if taints else {}
    return {"metadata": {"name": "n", "resourceVersion": "7", **metadata}, "spec": spec}


def synced(document: Document, of: Machine, wanted: NodeMetadataInput = USUALLY) -> Document:
    patch = node_patch(document, of, wanted)
    after: Document = apply(document, patch)
    assert node_patch(after, of, wanted) == {}
    return after


def test_a_new_node_gets_labels_and_annotations_and_loses_its_taint() -> None:
    labels = {"node-role.kubernetes.io/worker": "", "x.node.cluster.x-k8s.io/a": "1", "own": "no"}
    annotations = {"node.cluster.x-k8s.io/note": "yes", "private": "no"}
    other = {"key": "keep", "effect": "NoExecute"}
    after = synced(
        node([UNINITIALIZED, other], labels={"arch": "arm"}),
        machine(labels=labels, annotations=annotations),
    )
    assert after["spec"]["taints"] == [other]
    metadata = after["metadata"]
    assert metadata["labels"] == {
        "arch": "arm",
        "node-role.kubernetes.io/worker": "",
        "x.node.cluster.x-k8s.io/a": "1",
    }
    assert metadata["annotations"] == {
        "cluster.x-k8s.io/cluster-name": "c",
        "cluster.x-k8s.io/cluster-namespace": "ns",
        "cluster.x-k8s.io/machine": "m",
        "cluster.x-k8s.io/owner-kind": "MachineSet",
        "cluster.x-k8s.io/owner-name": "ms",
        "cluster.x-k8s.io/labels-from-machine": (
            "node-role.kubernetes.io/worker,x.node.cluster.x-k8s.io/a"
        ),
        "cluster.x-k8s.io/annotations-from-machine": "node.cluster.x-k8s.io/note",
        "node.cluster.x-k8s.io/note": "yes",
    }


def test_labels_removed_from_the_machine_are_removed_from_the_node() -> None:
    label = {"node.cluster.x-k8s.io/a": "1"}
    before = synced(node(labels={"arch": "arm"}), machine(labels=label, annotations=label))
    after = synced(before, machine())
    assert after["metadata"]["labels"] == {"arch": "arm"}
    assert "node.cluster.x-k8s.io/a" not in after["metadata"]["annotations"]


def test_nodes_of_an_old_revision_are_marked_until_they_are_current_again() -> None:
    before = synced(node(), machine(), NodeMetadataInput(outdated=True))
    assert before["spec"]["taints"] == [OUTDATED]
    assert not synced(before, machine())["spec"].get("taints")


def test_interruptible_machines_have_interruptible_nodes() -> None:
    patch = node_patch(node(), machine(), NodeMetadataInput(interruptible=True))
    assert patch["metadata"]["labels"] == {"cluster.x-k8s.io/interruptible": ""}


def test_a_patch_requires_the_version_that_it_was_computed_from() -> None:
    patch = node_patch(node(), machine(), NodeMetadataInput())
    assert patch["metadata"]["resourceVersion"] == "7"


def test_additional_labels_and_annotations_may_be_synced() -> None:
    metadata_in = {"team.example.com/name": "a", "example.com/other": "b"}
    chosen = compile_pattern(r"^team\.example\.com/")
    wanted = NodeMetadataInput(synced=SyncedMetadata(labels=[chosen], annotations=[chosen]))
    metadata = synced(node(), machine(labels=metadata_in, annotations=metadata_in), wanted)[
        "metadata"
    ]
    assert metadata["labels"] == {"team.example.com/name": "a"}
    assert metadata["annotations"]["team.example.com/name"] == "a"
    assert metadata["annotations"]["cluster.x-k8s.io/labels-from-machine"] == (
        "team.example.com/name"
    )


def taint(key: str, value: str = "", propagation: str = "Always") -> Document:
    entries = {"key": key, "effect": "NoSchedule", "propagation": propagation}
    return entries | ({"value": value} if value else {})


def on_node(*taints: Document) -> list[Document]:
    return [
        {name: document[name] for name in document if name != "propagation"} for document in taints
    ]


def test_taints_of_a_machine_are_on_its_node_for_as_long_as_it_says() -> None:
    always, once = taint("a", "1"), taint("o", propagation="OnInitialization")
    gate = NodeMetadataInput(taints=True)
    first = synced(node([UNINITIALIZED, *on_node(taint("x"))]), machine([always, once]), gate)
    assert first["spec"]["taints"] == on_node(taint("x"), always, once)
    tracked = first["metadata"]["annotations"]["cluster.x-k8s.io/taints-from-machine"]
    assert tracked == "a:NoSchedule"

    changed = synced(first, machine([taint("a", "2"), once]), gate)
    assert changed["spec"]["taints"] == on_node(taint("x"), taint("a", "2"), once)
    removals = synced(changed, machine([]), gate)
    assert removals["spec"]["taints"] == on_node(taint("x"), once)


def test_an_initial_taint_is_not_restored() -> None:
    once = taint("o", propagation="OnInitialization")
    gate = NodeMetadataInput(taints=True)
    begun = synced(node(), machine([]), gate)
    assert "taints" not in synced(begun, machine([once]), gate)["spec"]
    result = synced(synced(node(), machine([taint("o")]), gate), machine([once]), gate)
    assert result["spec"]["taints"] == on_node(once)


def test_without_the_gate_taints_stay_in_the_machine() -> None:
    after = synced(node(), machine([taint("a")]))
    assert "taints" not in after["spec"]
    assert "cluster.x-k8s.io/taints-from-machine" not in after["metadata"]["annotations"]
