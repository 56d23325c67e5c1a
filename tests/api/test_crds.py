"""The CRDs that come out of the Structs are the released ones, but for the words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kapy.api.crds import crds, for_kubernetes
from kapy.api.kinds import KINDS
from kapy.kube import Document
from tests.oracle.recorded import SAMPLES
from tests.oracle.topic import records


def released() -> dict[str, Document]:
    """The released CRDs by kind, without descriptions."""
    definitions = records(SAMPLES / "crds" / "cluster-api.jsonl.gz")
    return {definition["spec"]["names"]["kind"]: definition for definition in definitions}


RELEASED = released()
OURS = {crd["spec"]["names"]["kind"]: crd for crd in crds()}


def without_words(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: without_words(value)
            for key, value in node.items()
            if not (key == "description" and isinstance(value, str))
        }
    return [without_words(item) for item in node] if isinstance(node, list) else node


MORE: dict[str, list[tuple[str, ...]]] = {
    # The backend for development without containers, which upstream has for single machines only.
    "DevMachinePool": [
        ("spec", "backend", "inMemory"),
        # Mandatory in the contract; upstream's own pools tell it in `status.ready` only.
        ("status", "initialization"),
    ],
    "DevMachinePoolTemplate": [("spec", "template", "spec", "backend", "inMemory")],
}
"""Fields that released CRDs do not have, and why ours do."""


def without_more(crd: Document) -> Document:
    """One of our CRDs but for the words, and for the fields that we have more of."""
    document: Document = without_words(crd)
    for *parents, name in MORE.get(crd["spec"]["names"]["kind"], ()):
        for version in document["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            for parent in parents:
                schema = schema["properties"][parent]
            del schema["properties"][name]
    return document


VERSIONS = {kind.name: set(kind.versions) for kind in KINDS}


def comparable(crd: Document) -> Document:
    """A released CRD but for its words, who converts, and versions that are not there yet."""
    spec = {key: value for key, value in crd["spec"].items() if key != "conversion"}
    served = VERSIONS[spec["names"]["kind"]]
    spec["versions"] = [version for version in spec["versions"] if version["name"] in served]
    metadata = {"name": crd["metadata"]["name"], "labels": crd["metadata"]["labels"]}
    return {
        "apiVersion": crd["apiVersion"],
        "kind": crd["kind"],
        "metadata": metadata,
        "spec": without_words(spec),
    }


@pytest.mark.parametrize("kind", [kind for kind in OURS if kind in RELEASED])
def test_a_crd_is_the_released_one(kind: str) -> None:
    assert without_more(OURS[kind]) == comparable(RELEASED[kind])


@pytest.mark.parametrize("kind", [kind for kind in OURS if kind in RELEASED])
def test_crds_for_any_kubernetes_have_the_released_conversion_webhook(kind: str) -> None:
    assert for_kubernetes(OURS[kind])["spec"]["conversion"] == RELEASED[kind]["spec"]["conversion"]


def test_every_kind_has_its_crd() -> None:
    assert len(OURS) == len(KINDS)


def undescribed(schema: Document, path: str = "") -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        if "description" not in inner and here != ".metadata":
            yield here
        yield from undescribed(inner, here)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from undescribed(schema[key], f"{path}[]")


@pytest.mark.parametrize("kind", OURS)
def test_every_field_has_a_description(kind: str) -> None:
    for version in OURS[kind]["spec"]["versions"]:
        assert list(undescribed(version["schema"]["openAPIV3Schema"])) == []
