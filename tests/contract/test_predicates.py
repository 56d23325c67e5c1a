"""Tests of the changes of an object that unblock other controllers, and of those that do not."""

from __future__ import annotations

import pytest

from kapy.contract.predicates import unblocking_only
from kapy.engine.cache import Change
from kapy.engine.controller import own_key
from kapy.kube import Document, Key

KEY = Key("default", "a")


def thing(**parts: Document) -> Document:
    """An object of some provider."""
    metadata = {"namespace": "default", "name": "a", **parts.pop("metadata", {})}
    return {"apiVersion": "x.dev/v1", "kind": "Thing", "metadata": metadata, **parts}


@pytest.mark.parametrize(
    "after",
    [
        thing(spec={"providerID": "a://b"}),
        thing(spec={}, status={"initialization": {"provisioned": True}}),
        thing(spec={}, status={"ready": True}),
        thing(spec={}, status={"nodeRef": {"name": "n"}}),
        thing(spec={}, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        thing(spec={}, metadata={"ownerReferences": [{"uid": "u"}]}),
        thing(spec={}, metadata={"annotations": {"cluster.x-k8s.io/paused": ""}}),
    ],
)
def test_changes_that_others_wait_for_unblock(after: Document) -> None:
    change = Change(thing(spec={}), after)
    assert list(unblocking_only(own_key)(change)) == [KEY]


@pytest.mark.parametrize(
    "after",
    [
        thing(spec={}, status={"conditions": [{"type": "Ready", "status": "True"}]}),
        thing(spec={}, status={"replicas": 3}),
        thing(spec={}, metadata={"resourceVersion": "2", "managedFields": []}),
    ],
)
def test_status_changes_do_not_unblock(after: Document) -> None:
    assert list(unblocking_only(own_key)(Change(thing(spec={}), after))) == []


@pytest.mark.parametrize("change", [Change(None, thing()), Change(thing(), None)])
def test_creations_and_deletions_unblock(change: Change) -> None:
    assert list(unblocking_only(own_key)(change)) == [KEY]
