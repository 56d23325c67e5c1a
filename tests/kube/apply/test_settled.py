"""Applies that would change nothing, told from the object."""

from __future__ import annotations

import pytest

from kapy.kube import Document
from kapy.kube.apply.no_op import is_no_op

MANAGER = "capi-kubeadmcontrolplane-metadata"
LABELS: Document = {"f:a": {}}


def live(owned: Document, **annotations: str) -> Document:
    entry = {"manager": MANAGER, "operation": "Apply", "fieldsV1": {"f:metadata": owned}}
    metadata: Document = {"name": "one", "labels": {"a": "1"}, "managedFields": [entry]}
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "K", "metadata": metadata}


def intent(**metadata: Document) -> Document:
    return {"apiVersion": "v1", "kind": "K", "metadata": {"name": "one", **metadata}}


@pytest.mark.parametrize("annotations", [{}, {"of": "others"}])
def test_empty_annotations_that_were_applied_need_no_apply(annotations: dict[str, str]) -> None:
    """Upstream applies them so, and owns the empty map where others have annotations."""
    wanted = intent(labels={"a": "1"}, annotations={})
    owned = {"f:labels": LABELS, **({"f:annotations": {}} if annotations else {})}
    assert is_no_op(live(owned, **annotations), wanted, MANAGER)


def test_removing_applied_annotations_needs_an_apply() -> None:
    owned = {"f:labels": LABELS, "f:annotations": {"f:mine": {}}}
    assert not is_no_op(live(owned, mine="1"), intent(labels={"a": "1"}, annotations={}), MANAGER)


def test_an_intent_of_empty_annotations_only_needs_no_apply() -> None:
    assert is_no_op(live({"f:annotations": {}}, of="others"), intent(annotations={}), MANAGER)


def test_another_label_needs_an_apply() -> None:
    owned = {"f:labels": LABELS, "f:annotations": {}}
    wanted = intent(labels={"a": "2"}, annotations={})
    assert not is_no_op(live(owned, of="others"), wanted, MANAGER)
