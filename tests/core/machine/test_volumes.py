"""Tests of the volumes that are still attached to a Node, and of those that are ignored."""

from __future__ import annotations

import pytest

from kapy.core.machine.volumes import (
    Attached,
    NoVolumeName,
    claims_of,
    names_on_node,
    still_attached,
    volumes_attached_to,
)
from kapy.kube import Document


def volume(name: str, claim: str = "", handle: str = "") -> Document:
    spec: Document = {}
    if claim:
        spec["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "namespace": "default",
            "name": claim,
        }
    if handle:
        spec["csi"] = {"driver": "d", "volumeHandle": handle}
    return {"metadata": {"name": name}, "spec": spec}


def attachment(name: str, node: str, *, attached: bool = True) -> Document:
    source = {"persistentVolumeName": name} if name else {}
    return {
        "metadata": {"name": f"a-{name}"},
        "spec": {"nodeName": node, "source": source},
        "status": {"attached": attached},
    }


def test_both_sources_of_attachments_are_read() -> None:
    node = {"status": {"volumesAttached": [{"name": "kubernetes.io/csi/d^h"}]}}
    assert names_on_node(node) == {"kubernetes.io/csi/d^h"}
    attachments = [
        attachment("one", "n"),
        attachment("two", "other"),
        attachment("three", "n", attached=False),
    ]
    assert volumes_attached_to("n", attachments) == {"one"}


def test_an_attachment_without_a_volume_name_is_refused() -> None:
    with pytest.raises(NoVolumeName):
        volumes_attached_to("n", [attachment("", "n")])


def test_attached_volumes_are_named_by_claim_volume_or_handle() -> None:
    attached = still_attached(
        {"kubernetes.io/csi/d^h", "kubernetes.io/csi/d^lost"},
        {"bare", "kept", "gone"},
        [
            volume("claimed", "data", "h"),
            volume("bare"),
            volume("kept", "cache"),
            volume("unrelated", "x", "other"),
        ],
        ignored={"default/cache"},
    )
    assert attached == Attached(["default/data"], ["bare"], ["kubernetes.io/csi/d^lost"], ["gone"])
    assert attached.message("now") == (
        "Waiting for Node volumes to be detached (started at now)\n"
        "* PersistentVolumeClaims: default/data\n"
        "* PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim: bare\n"
        "* Node with .status.volumesAttached entries not matching a PersistentVolume: "
        "kubernetes.io/csi/d^lost\n"
        "* VolumeAttachment with .spec.source.persistentVolumeName not matching a "
        "PersistentVolume: gone"
    )
    assert not still_attached(set(), set(), [volume("claimed", "data", "h")], set())


def test_volume_claims_of_pods_are_found() -> None:
    used = {"persistentVolumeClaim": {"claimName": "data"}}
    entry = {"metadata": {"namespace": "ns"}, "spec": {"volumes": [used, {"emptyDir": {}}]}}
    assert claims_of([entry]) == {"ns/data"}
