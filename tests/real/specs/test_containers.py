"""Names of node images, as upstream's runtime extension writes them."""

from __future__ import annotations

import json

from tests.real.specs.containers import with_digests

KIND = f"kindest/node:v1.36.1@sha256:{'1' * 64} and kindest/node:v1.35.5@sha256:{'2' * 64}"


def test_an_image_with_a_tag_of_kind_has_its_digest() -> None:
    names = {"kindest/node:v1.36.1": "sha256:a", "kindest/node:v1.36.0": "sha256:b"}
    repositories = {"kindest/node": names, "other": {"other:v1.35.5": "sha256:c"}}
    document = json.loads(with_digests(json.dumps({"Repositories": repositories}), KIND))
    added = {f"kindest/node@sha256:{'1' * 64}": "sha256:a"}
    assert document == {"Repositories": {**repositories, "kindest/node": names | added}}


def test_an_engine_without_images_of_nodes_stays_unchanged() -> None:
    assert json.loads(with_digests('{"Repositories": {}}', KIND)) == {"Repositories": {}}
