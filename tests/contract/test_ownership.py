"""Tests of owner references that are added, corrected or refused."""

from __future__ import annotations

import pytest

from kapy.contract.ownership import OwnedByAnother, ensure_owner, ownership_patch
from kapy.kube import Document
from kapy.kube.meta import OwnerReference
from kapy.kube.model import encode

V1: str = "cluster.x-k8s.io/v1beta2"


def owner(name: str = "c", **parts: object) -> OwnerReference:
    fields = {"api_version": V1, "kind": "Cluster", "uid": f"uid-{name}", **parts}
    return OwnerReference(name=name, **fields)  # type: ignore[arg-type]


def thing(*references: OwnerReference) -> Document:
    metadata: Document = {"name": "t", "namespace": "ns", "resourceVersion": "7"}
    if references:
        metadata["ownerReferences"] = list(map(encode, references))
    return {"apiVersion": "x/v1", "kind": "Thing", "metadata": metadata}


@pytest.mark.parametrize(
    ("references", "wanted", "expected"),
    [
        ([], owner(), [owner()]),
        ([owner()], owner(), None),
        ([owner(uid="before")], owner(), [owner()]),
        ([owner(api_version="cluster.x-k8s.io/v1alpha4")], owner(), [owner()]),
        ([owner("other")], owner(), [owner("other"), owner()]),
        # A controller of somebody else's does not keep a mere owner away.
        ([owner("o", controller=True)], owner(), [owner("o", controller=True), owner()]),
        ([owner()], owner(controller=True), [owner(controller=True)]),
        ([owner(controller=True)], owner(controller=True), None),
    ],
)
def test_a_reference_is_added_or_corrected(
    references: list[OwnerReference],
    wanted: OwnerReference,
    expected: list[OwnerReference] | None,
) -> None:
    patch = ownership_patch(thing(*references), wanted)
    if expected is None:
        assert patch == {}
        return
    results = {"ownerReferences": list(map(encode, expected)), "resourceVersion": "7"}
    assert patch == {"metadata": results}


def test_a_foreign_controller_reference_stays() -> None:
    with pytest.raises(OwnedByAnother, match="already owned by another Cluster controller other"):
        ownership_patch(thing(owner("other", controller=True)), owner(controller=True))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [owner()]),
        ([owner("other")], [owner("other"), owner()]),
        ([owner(uid="before")], [owner()]),
        ([owner(api_version="cluster.x-k8s.io/v1alpha4")], [owner()]),
        ([owner(controller=True)], [owner(controller=True)]),
        ([owner(api_version="another.group/v1")], [owner(api_version="another.group/v1"), owner()]),
    ],
)
def test_references_of_built_in_kinds_are_canonical(
    before: list[OwnerReference], after: list[OwnerReference]
) -> None:
    references = list(before)
    ensure_owner(references, owner())
    assert references == after
