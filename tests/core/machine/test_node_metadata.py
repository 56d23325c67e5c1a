"""What a Machine writes onto its Node, and what it leaves alone."""

from __future__ import annotations

from typing import Any

from kapy.api.machine import Machine
from kapy.core.machine.node_metadata import OUTDATED, UNINITIALIZED, node_patch
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.kube.patch.merge_patch import apply

REFERENCE = {"apiGroup": "x.example.com", "kind": "Thing", "name": "m"}


def machine(**metadata: Any) -> Machine:
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE}
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


def synced(given: Document, of: Machine, *, outdated: bool = False) -> Document:
    patch = node_patch(given, of, interruptible=False, outdated=outdated)
    after: Document = apply(given, patch)
    assert node_patch(after, of, interruptible=False, outdated=outdated) == {}
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


def test_what_goes_from_the_machine_goes_from_the_node() -> None:
    label = {"node.cluster.x-k8s.io/a": "1"}
    before = synced(node(labels={"arch": "arm"}), machine(labels=label, annotations=label))
    after = synced(before, machine())
    assert after["metadata"]["labels"] == {"arch": "arm"}
    assert "node.cluster.x-k8s.io/a" not in after["metadata"]["annotations"]


def test_nodes_of_an_old_revision_are_marked_until_they_are_current_again() -> None:
    before = synced(node(), machine(), outdated=True)
    assert before["spec"]["taints"] == [OUTDATED]
    assert not synced(before, machine())["spec"].get("taints")


def test_interruptible_machines_have_interruptible_nodes() -> None:
    patch = node_patch(node(), machine(), interruptible=True, outdated=False)
    assert patch["metadata"]["labels"] == {"cluster.x-k8s.io/interruptible": ""}


def test_a_patch_is_of_the_state_that_it_was_made_from() -> None:
    patch = node_patch(node(), machine(), interruptible=False, outdated=False)
    assert patch["metadata"]["resourceVersion"] == "7"
