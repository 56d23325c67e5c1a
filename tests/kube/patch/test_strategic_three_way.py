"""Strategic merge patches of three documents, as kubectl computes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from kapy.apiserver.resources.structs import facts
from kapy.kube import Document
from kapy.kube.errors import BadRequest
from kapy.kube.patch import strategic
from kapy.kube.patch.strategic_three_way import strategic_three_way

RECORDED: Final = Path(__file__).parents[2] / "data" / "kubectl" / "strategic_three_way.jsonl"
"""Generated documents with the answers of k8s.io/apimachinery/pkg/util/strategicpatch v0.36.3."""
STRUCTS: Final = {
    "ConfigMap": "core.v1.ConfigMap",
    "Deployment": "apps.v1.Deployment",
    "Pod": "core.v1.Pod",
    "Service": "core.v1.Service",
    "ServiceAccount": "core.v1.ServiceAccount",
}


def patch(kind: str, original: Document, modified: Document, current: Document) -> Document:
    return strategic_three_way(original, modified, current, facts()["structs"], STRUCTS[kind])


def test_patches_are_those_of_upstream() -> None:
    cases = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    wrong = [
        case
        for case in cases
        if _text(patch(case["kind"], case["original"], case["modified"], case["current"]))
        != _text(case["patch"])
    ]
    assert len(cases) == 100
    assert not wrong


def pod(*containers: Document) -> Document:
    return {"spec": {"containers": list(containers)}}


def test_containers_of_others_stay_and_own_ones_merge() -> None:
    own = {"name": "own", "image": "a"}
    injected = {"name": "injected", "image": "b"}
    live = pod({**own, "env": [{"name": "OTHER", "value": "1"}]}, injected)
    document = patch("Pod", pod(own), pod({**own, "image": "c"}), live)
    after = strategic.apply(live, document, facts()["structs"], STRUCTS["Pod"])
    assert after == pod({**live["spec"]["containers"][0], "image": "c"}, injected)


def test_formerly_applied_items_are_removed_by_their_key() -> None:
    both = [{"name": "a"}, {"name": "b"}]
    live = pod(*both, {"name": "other"})
    document = patch("Pod", pod(*both), pod(both[1]), live)
    after = strategic.apply(live, document, facts()["structs"], STRUCTS["Pod"])
    assert [container["name"] for container in after["spec"]["containers"]] == ["b", "other"]


def test_an_item_without_its_key_is_refused() -> None:
    with pytest.raises(BadRequest, match="has no name, by which"):
        patch("Pod", {}, pod({"image": "a"}), pod({"name": "a"}))


def _text(value: Document) -> str:
    """The value as text: in Python, true equals 1."""
    return json.dumps(value, sort_keys=True)
